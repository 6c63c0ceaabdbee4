/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP connection: it receives requests, one at a time, and sends their answers.
 *
 *     READING --a whole request--> BUSY --connection_answer--> ANSWERING --> READING
 *                                   |                             |
 *                         connection_stream                   (or CLOSING)
 *                                   v
 *                               STREAMING --connection_push--> STREAMING
 *
 *     any of them --the client disconnects, or the server ends--> CLOSING --> freed
 *
 * A connection reads while it is BUSY, because only a read tells that the client has
 * disconnected. What arrives meanwhile is kept, up to UNREAD_MAX bytes; then reading
 * stops until the request is answered. */
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

/* The client has disconnected before the answer was sent, or during a stream. The
 * connection must no longer be used. */
typedef void (*connection_gone_cb)(struct connection *connection);

enum { URL_MAX = 255, UNREAD_MAX = 8192 };

struct connection {
    uv_tcp_t tcp; /* must be first: its memory is the connection's */
    struct http *http;
    struct connection *prev, *next;
    enum connection_state state;
    uint64_t since; /* last change of state, uv_now() */
    void *data;     /* for the one who answers, who also sets gone_cb */
    connection_gone_cb gone_cb;

    http_parser parser;
    char url[URL_MAX + 1]; /* of the current request */
    size_t url_length, body_length;
    bool keep_alive;

    char unread[UNREAD_MAX]; /* received, and not parsed yet */
    size_t unread_length;
    uv_write_t write; /* of the answer */
    struct text answer;
};

struct answer {
    int status;        /* the HTTP status: 200, ... */
    const char *type;  /* of the body; NULL: application/json */
    int retry_after_s; /* the header Retry-After; 0: none */
    const char *allow; /* the header Allow of a 405; NULL: none */
    const char *body;
    size_t length;
};

/* Accepts a pending connection. Returns false if there is no memory; the connection is
 * still pending then. */
bool connection_accept(struct http *http);

/* Sends an answer. It must be called once for each request, unless connection_stream
 * is. */
void connection_answer(struct connection *connection, const struct answer *answer);

/* Begins an event stream instead of an answer. A page of the origin `page_origin`, such
 * as "http://127.0.0.1:9000", may read it too; NULL: only pages of this server. */
void connection_stream(struct connection *connection, const char *page_origin);
/* Sends an event on a stream. Returns false if the event is dropped: the client has not
 * read those before it, or there is no memory. */
bool connection_push(struct connection *connection, const char *bytes, size_t length);

/* Ends the connection if for idle_ms it has waited for a request, or for the client to
 * read an answer. */
void connection_end_if_idle(struct connection *connection, uint64_t idle_ms);
/* Ends the connection if it waits for a request or is a stream. */
void connection_end_unless_busy(struct connection *connection);

#endif
