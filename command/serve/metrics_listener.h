/* SPDX-License-Identifier: Apache-2.0 */
/* The page of metrics of `uvzk serve --metrics`: GET /metrics over HTTP/1.x, at an
 * address with a port or at a Unix socket. Everything else is refused.
 *
 *     accepted --> reads the request --> answers --> reads the end --> closed
 *                        `---- METRICS_TIMEOUT_MS, a failure ----------^
 *
 * All memory but that of the page exists from the beginning, so a connection costs none.
 * While all connections are in use, others wait in the kernel to be accepted. */
#ifndef METRICS_LISTENER_H
#define METRICS_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include <uv.h>

#include "serve/listener.h"

#define METRICS_CONNECTIONS_MAX 16U
#define METRICS_REQUEST_MAX 8192U
/* From the accept to the end of the connection. */
#define METRICS_TIMEOUT_MS 10000U

struct daemon;
struct metrics_listener;

struct metrics_options {
    const char *text;                /* as on the command line; NULL: there is no page */
    struct sockaddr_storage address; /* if `text` is not the path of a socket */
};

union metrics_socket {
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct metrics_connection {
    struct metrics_listener *listener;
    union metrics_socket socket;
    uv_timer_t timer;
    uv_write_t writing;
    uv_shutdown_t shutting;
    size_t open_handles; /* 0: not in use */
    bool answered, ended, closing;
    size_t length;   /* of what has arrived of the request */
    size_t left_out; /* bytes that arrived behind the request */
    char request[METRICS_REQUEST_MAX];
    char head[256]; /* of the answer */
    char *body;     /* owned; NULL: there is none, or it is in `head` */
};

struct metrics_listener {
    struct daemon *daemon;
    const struct metrics_options *options;
    struct listener_options file_options;
    struct listener file; /* of a Unix socket */
    union metrics_socket socket;
    bool open;    /* the socket is */
    bool waiting; /* a connection waits to be accepted */
    struct metrics_connection connections[METRICS_CONNECTIONS_MAX];
};

/* Reads ADDRESS:PORT, [ADDRESS]:PORT with a numeric address, or a path, which has a '/'.
 * Returns false if the text is none of them. */
bool metrics_options_read(struct metrics_options *, const char *text);

/* Listens, if the daemon's options say where. Returns EX_OK, or an exit code after it has
 * printed what is wrong. */
int metrics_listener_open(struct metrics_listener *, struct daemon *);
/* Closes all connections, too. */
void metrics_listener_close(struct metrics_listener *);

#endif
