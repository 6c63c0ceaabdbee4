/* An HTTP server: a socket, and the connections that have come in by it. */
#ifndef STOCK_HTTP_H
#define STOCK_HTTP_H

#include <stdbool.h>
#include <uv.h>

struct connection;
struct http;

/* A request has come: it is to be answered, now or later (connection.h). */
typedef void (*http_request_cb)(struct connection *connection, void *context);
typedef void (*http_closed_cb)(void *context);

struct http {
    uv_tcp_t socket;
    uv_timer_t sweep; /* of connections on which nothing comes */
    struct connection *connections;
    http_request_cb request_cb;
    http_closed_cb closed_cb;
    void *context;
    int handles;               /* of the two above, open */
    bool closing, owes_accept; /* there was no memory for who has come */
};

/* Listens; port 0: any that is free. Filled with zeros before. < 0: nothing is open. */
int http_listen(struct http *http, uv_loop_t *loop, const char *address, int port,
                http_request_cb request_cb, void *context);
int http_port(const struct http *http);

/* Takes nobody in any more, ends who waits for nothing, and those who watch; each of the
 * others is ended behind its answer. cb: all are gone. Once http_listen has returned 0. */
void http_close(struct http *http, http_closed_cb cb);

/* A connection of it has gone. */
void http_left(struct http *http);

#endif
