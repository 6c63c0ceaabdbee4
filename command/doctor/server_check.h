/* SPDX-License-Identifier: Apache-2.0 */
/* All checks of the servers of a list, for uvzk doctor: each server by itself, and the servers
 * beside one another. */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "connection.h"
#include "doctor/certificate.h"
#include "doctor/findings.h"
#include "doctor/server_words.h"
#include "doctor/session_check.h"
#include "server_list.h"

/* One server, and what was learned of it. */
struct server_check {
    const char *address;
    const char *name; /* the host that this address is of */
    struct server_words srvr, conf;
    struct certificate certificate;         /* with TLS */
    char tls_name[256];                     /* that it must have */
    struct server_words srvr_again;         /* later, if the servers' zxids differ */
    struct session_check session;           /* with the session timeout of the options */
    struct session_check shortest, longest; /* to learn the server's limits */
};

struct server_checks {
    const struct connection_options *options;
    uv_loop_t *loop;
    struct findings *findings;
    uint64_t patience_ms; /* for the answers to each kind of question */
    const char *chroot;
    size_t count;
    struct server_check servers[SERVER_LIST_MAX];
};

/* Asks all servers at the same time, and adds the findings. Runs the loop. Returns the
 * address of one with which there was a session; NULL: there was none, or the chroot does not
 * exist. Set the first members; the others must be zeroed. */
const char *server_checks_run(struct server_checks *, const struct server_list *);

#endif
