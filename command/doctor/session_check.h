/* SPDX-License-Identifier: Apache-2.0 */
/* One session with one server, for uvzk doctor: whether there is one, which session timeout
 * the server grants, and how long it takes to answer. */
#ifndef SESSION_CHECK_H
#define SESSION_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>
#include <uvzk.h>

#include "connection.h"

#define SESSION_CHECK_READS_MOST 20

struct session_check {
    int status;        /* 0, or why there is no session: an error code */
    char reason[512];  /* the same as text */
    double connect_ms; /* from the beginning until there was a session */
    uint32_t given_ms; /* the session timeout that the server grants */
    int root_status;   /* of the first read of "/": UVZK_ENONODE: the chroot is missing */
    size_t reads;      /* how many were answered */
    double read_ms[SESSION_CHECK_READS_MOST]; /* in the order of their size */

    /* Its own. */
    struct connection connection;
    struct connection_options options; /* the user's, with one server */
    char hosts[512];
    size_t reads_wanted;
    uvzk_req_t read;
    uint64_t begun; /* uv_hrtime(), of the session or of a read */
    bool closing;
};

/* What is asked of a server. */
struct session_question {
    const char *address, *chroot;
    const char *name;    /* the host that the address is of */
    uint64_t session_ms; /* the session timeout to ask for */
    size_t reads;        /* at most SESSION_CHECK_READS_MOST */
};

/* Opens the session, reads "/" so often, one read after the other, and closes the session. It
 * is over when the loop has nothing more to do. The struct must be zeroed. */
void session_check_begin(struct session_check *, uv_loop_t *,
                         const struct connection_options *,
                         const struct session_question *);
/* Ends it with UV_ETIMEDOUT, unless it is over. */
void session_check_give_up(struct session_check *);

#endif
