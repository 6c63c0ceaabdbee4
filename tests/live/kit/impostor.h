/* A port that is no ZooKeeper server, on the test's own loop. */
#ifndef IMPOSTOR_H
#define IMPOSTOR_H

#include <stdint.h>
#include <uv.h>

enum impostor_kind {
    IMPOSTOR_SILENT,     /* accepts and says nothing */
    IMPOSTOR_HANGS_UP,   /* accepts and closes */
    IMPOSTOR_SSH,        /* a banner */
    IMPOSTOR_HTTP,       /* 400 to whatever is asked */
    IMPOSTOR_GARBAGE,    /* bytes without end */
    IMPOSTOR_ECHO,       /* what it was sent */
    IMPOSTOR_SESSION,    /* grants a session of 400 ms to everybody, and then silence */
    IMPOSTOR_TWO_FACED,  /* refuses every session as a server refuses an unknown one */
    IMPOSTOR_NO_ID,      /* likewise, but grants new ones: of 400 ms, without an id */
    IMPOSTOR_NO_TIMEOUT, /* likewise: with an id, of 0 ms */
};

struct impostor {
    enum impostor_kind kind;
    uv_tcp_t listener;
    char hosts[32]; /* "127.0.0.1:port" */
    struct impostor_link *links;
};

/* On a free port. 0 or libuv's code. */
int impostor_open(uv_loop_t *loop, struct impostor *impostor, enum impostor_kind kind);
/* The memory is the caller's once the loop is run down. */
void impostor_close(struct impostor *impostor);

#endif
