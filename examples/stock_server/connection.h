/* One HTTP connection: requests in, one at a time, and their answers out.
 *
 *     READING --a whole request--> BUSY --connection_answer--> ANSWERING --> READING
 *                                   |                             |
 *                         connection_stream                   (or CLOSING)
 *                                   v
 *                               STREAMING --connection_push--> STREAMING
 *
 *     any of them --the client goes away, or the server ends--> CLOSING --> freed
 *
 * It goes on reading while it is BUSY, for that is how a client is heard to go away; what
 * comes meanwhile is kept for later, as much of it as fits. */
#ifndef STOCK_CONNECTION_H
#define STOCK_CONNECTION_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "http.h"
#include "text.h"

enum connection_state { READING, BUSY, ANSWERING, STREAMING, CLOSING };

/* The client went away before it was answered, or while it was sent a stream; the
 * connection must not be used any more. */
typedef void (*connection_gone_cb)(struct connection *connection);

enum { URL_MAX = 255, UNREAD_MAX = 8192 };

struct connection {
    uv_tcp_t tcp; /* first: its memory is the connection's */
    struct http *http;
    struct connection *prev, *next;
    enum connection_state state;
    uint64_t since; /* the last change of state, uv_now() */
    void *data;     /* of whoever answers, as gone_cb is; both are taken back then */
    connection_gone_cb gone_cb;

    http_parser parser;
    char url[URL_MAX + 1]; /* of the request that is to be answered */
    size_t url_length, body_length;
    bool keep_alive;

    char unread[UNREAD_MAX]; /* come, and not parsed yet */
    size_t unread_length;
    uv_write_t write; /* of an answer */
    struct text answer;
};

struct answer {
    int status;        /* 200, ... */
    const char *type;  /* of the body; NULL: JSON */
    int retry_after_s; /* 0: none */
    const char *allow; /* of a 405; NULL: none */
    const char *body;
    size_t length;
};

/* Takes in who stands at the socket. false: no memory, he stands there still. */
bool connection_accept(struct http *http);

/* Once for each request. */
void connection_answer(struct connection *connection, const struct answer *answer);

/* In the place of an answer: a stream of events, to be pushed. */
void connection_stream(struct connection *connection);
/* An event goes out to a stream, unless the client has not taken those before it. */
void connection_push(struct connection *connection, const char *bytes, size_t length);

/* If it has waited so long for a request, or for the client to take an answer. */
void connection_end_if_idle(struct connection *connection, uint64_t idle_ms);
/* If nothing is to be answered, or is being answered. */
void connection_end_unless_busy(struct connection *connection);

#endif
