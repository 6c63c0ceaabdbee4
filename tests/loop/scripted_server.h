/* SPDX-License-Identifier: Apache-2.0 */
/* A ZooKeeper server on the test's own loop that does what the test says. It reads and
 * writes with the codec of loop/native. It answers the probes of the discovery and the
 * questions of the dialect by itself, and records everything else that its clients say:
 *
 *   "connect 0 zxid 0; auth digest; create /a; get /a watched; remove /a 2; close"
 *
 * Pings are counted and answered. */
#ifndef SCRIPTED_SERVER_H
#define SCRIPTED_SERVER_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "native/wire_reply.h"
#include "native/wire_request.h"
#include "port/dialect.h"

struct scripted_connection;

/* A server to whom the user "bob" has the password "secret". */
enum scripted_sasl {
    SASL_RIGHT,    /* it speaks DIGEST-MD5 */
    SASL_ABSENT,   /* it answers no token */
    SASL_LAX,      /* it lets in whom it has refused, without a proof */
    SASL_IMPOSTOR, /* it does not know the password */
    SASL_REFUSES,  /* it refuses the response, and closes the connection */
    SASL_DEMANDS,  /* it refuses it as one that serves only clients that authenticate */
    SASL_BABBLES,  /* its challenge is none */
    SASL_SILENT,   /* it answers nothing */
    SASL_STRANGE   /* it is right, but its answers have another xid */
};

struct scripted_server {
    uv_loop_t *loop;
    uv_tcp_t listener;
    char hosts[32]; /* "127.0.0.1:port" */
    uint16_t port;

    /* The script. May be changed at any time. */
    int64_t session_id;      /* that it grants */
    int32_t timeout_ms;      /* that it grants; 0: refuses */
    bool read_only;          /* it has no quorum */
    bool silent;             /* says nothing, not even to a ping */
    bool deaf;               /* reads nothing; set it by scripted_server_listen */
    bool answers;            /* answers requests as if they had succeeded */
    bool drops_rearms;       /* closes the connection at a request that re-arms watches */
    int32_t refuses_rearms;  /* their err */
    unsigned answers_rearms; /* how many of them; 0: all */
    int64_t event_zxid;      /* of events; -1: as before ZooKeeper 3.9 */
    int32_t auth_err;        /* the answer to credentials */
    uint32_t unknown;        /* it closes the connection at these questions: bits of enum
                               uvzk__feature */
    bool unimplemented;      /* it says so before it closes the connection */
    bool ignores_questions;  /* it does not answer them */
    bool in_pieces;          /* sends byte by byte */
    bool ignores_rearms;     /* it does not answer them */
    bool ignores_pings;      /* it counts pings, and does not answer them */
    bool breaks;             /* sends a wrong frame when it has granted a session */
    bool drops_granted;      /* closes the connection then */
    bool demands;            /* it serves only clients that authenticate */
    enum scripted_sasl sasl; /* what it says to a client that authenticates */
    bool fills;              /* its queue of connections is full after a probe */

    /* What has happened. */
    struct scripted_connection *connections; /* the last one first */
    char heard[16384];
    unsigned connects, rearms, pings, closes, requests;
    unsigned questions;
    bool question_sets_watch; /* and no question has removed it */
    size_t longest_rearm;     /* in bytes */
    int64_t zxid;             /* of the next reply; counted up by it */
    int32_t last_xid;         /* of the last request */
    unsigned char password[16];
    bool full;    /* it accepts nobody, and its queue has no room */
    int crowd[2]; /* who fills the queue */
};

/* Listens on a free port, grants the session 0x101 with 4 s, and answers. */
void scripted_server_open(uv_loop_t *loop, struct scripted_server *server);
/* Closes the port and all connections. The memory must stay valid until the loop has run
 * down. */
void scripted_server_close(struct scripted_server *server);
/* Its queue has room again: it accepts who waits there. */
void scripted_server_drain(struct scripted_server *server);
/* What was recorded since the last call. */
const char *scripted_server_heard(struct scripted_server *server);
/* Sets whether it reads. */
void scripted_server_listen(struct scripted_server *server, bool listens);

/* These are about the newest connection that is not a probe's. It must exist. */
void scripted_server_drop(struct scripted_server *server);
/* Answers the request with this xid. */
void scripted_server_reply(struct scripted_server *server, int32_t xid, int32_t opcode,
                           int32_t err);
/* event: 1 created, 2 deleted, 3 data changed, 4 children changed. */
void scripted_server_event(struct scripted_server *server, int32_t event,
                           const char *path);
void scripted_server_send(struct scripted_server *server, const void *bytes,
                          size_t length);

#endif
