/* A port that is no ZooKeeper server, on the test's own loop. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <stdint.h>
#include <uv.h>

enum fake_server_kind {
    FAKE_SERVER_SILENT,   /* accepts and says nothing */
    FAKE_SERVER_HANGS_UP, /* accepts and closes */
    FAKE_SERVER_SSH,      /* a banner */
    FAKE_SERVER_HTTP,     /* 400 to whatever is asked */
    FAKE_SERVER_GARBAGE,  /* bytes without end */
    FAKE_SERVER_ECHO,     /* what it was sent */
    FAKE_SERVER_SESSION,  /* grants a session of 400 ms to everybody, and then silence */
    FAKE_SERVER_REFUSES_SESSIONS, /* refuses every session as a server refuses an unknown one */
    FAKE_SERVER_NO_ID,      /* likewise, but grants new ones: of 400 ms, without an id */
    FAKE_SERVER_NO_TIMEOUT, /* likewise: with an id, of 0 ms */
};

struct fake_server {
    enum fake_server_kind kind;
    uv_tcp_t listener;
    char hosts[32]; /* "127.0.0.1:port" */
    struct fake_server_connection *links;
};

/* On a free port. 0 or libuv's code. */
int fake_server_open(uv_loop_t *loop, struct fake_server *fake_server,
                     enum fake_server_kind kind);
/* The memory is the caller's once the loop is run down. */
void fake_server_close(struct fake_server *fake_server);

#endif
