/* SPDX-License-Identifier: Apache-2.0 */
/* A listening port on the test's own loop that is not a ZooKeeper server. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <stdint.h>
#include <uv.h>

enum fake_server_kind {
    FAKE_SERVER_SILENT,         /* accepts, and sends nothing */
    FAKE_SERVER_HANGS_UP,       /* accepts, and closes the connection */
    FAKE_SERVER_SSH,            /* sends an SSH banner */
    FAKE_SERVER_HTTP,           /* answers every request with 400 */
    FAKE_SERVER_GARBAGE,        /* sends 1024 random bytes */
    FAKE_SERVER_ECHO,           /* sends back what it receives */
    FAKE_SERVER_SESSION,        /* grants 400 ms to everyone, then sends nothing */
    FAKE_SERVER_GRANTS_NOTHING, /* the same with 0 ms */
    /* Refuses every session, as a server refuses an unknown one. */
    FAKE_SERVER_REFUSES_SESSIONS,
    /* Refuses old sessions. Grants new ones: 400 ms, session id 0. */
    FAKE_SERVER_NO_ID,
    /* Refuses old sessions. Grants new ones: 0 ms, with a session id. */
    FAKE_SERVER_NO_TIMEOUT,
};

struct fake_server {
    enum fake_server_kind kind;
    uv_tcp_t listener;
    char hosts[32];                       /* "127.0.0.1:port" */
    unsigned questions;                   /* requests behind the answer to a connect */
    struct fake_server_connection *links; /* the open connections */
};

/* Listens on a free port. Returns 0 or libuv's code. */
int fake_server_open(uv_loop_t *loop, struct fake_server *fake_server,
                     enum fake_server_kind kind);
/* Closes the port and all connections. The memory must stay valid until the loop has run
 * down. */
void fake_server_close(struct fake_server *fake_server);

#endif
