/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server: a listening socket and its connections. */
#ifndef STOCK_HTTP_H
#define STOCK_HTTP_H

#include <stdbool.h>
#include <uv.h>

struct connection;
struct http;

/* A request has arrived. The callee must answer it, now or later (connection.h). */
typedef void (*http_request_cb)(struct connection *connection, void *context);
typedef void (*http_closed_cb)(void *context);

struct http {
    uv_tcp_t socket;
    uv_timer_t sweep; /* ends idle connections */
    struct connection *connections;
    http_request_cb request_cb;
    http_closed_cb closed_cb;
    void *context;
    int handles;               /* how many of these two are open */
    bool closing, owes_accept; /* no memory to accept a pending connection */
};

/* Begins to listen; with port 0 on any free port. The struct must be all zeros before. If
 * it returns a negative code, the struct's handles are closed. */
int http_listen(struct http *http, uv_loop_t *loop, const char *address, int port,
                http_request_cb request_cb, void *context);
int http_port(const struct http *http);

/* Stops listening. It ends connections that wait for a request, and streams; the others
 * end after their answers. cb is called when all are closed. Call it only if http_listen
 * has returned 0. */
void http_close(struct http *http, http_closed_cb cb);

/* A connection calls this when it is closed. */
void http_left(struct http *http);

#endif
