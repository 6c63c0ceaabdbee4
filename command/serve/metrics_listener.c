/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the page of metrics (metrics_listener.h). daemon.c opens and closes it,
 * http_request.c reads requests, and served_metrics.c writes the page. */
#include "serve/metrics_listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "output.h"
#include "serve/daemon.h"
#include "serve/http_request.h"
#include "serve/served_metrics.h"

#define PAGE "/metrics"
#define PAGE_TYPE "text/plain; version=0.0.4; charset=utf-8"
/* How many bytes may arrive behind a request before the connection is closed. They are
 * read so that the kernel does not drop the answer when it closes the connection. */
#define LEFT_OUT_MAX 65536U
#define PORT_MAX 65535U

/* ------------------------------------------------------------------------- the options */

static bool read_port(const char *text, int *port)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    *port = (int)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= PORT_MAX;
}

static bool is_path(const char *text)
{
    return strchr(text, '/') != NULL;
}

bool metrics_options_read(struct metrics_options *options, const char *text)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    int port;

    options->text = text;
    if (is_path(text)) {
        return true;
    }
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host) ||
        !read_port(colon + 1, &port)) {
        return false;
    }
    size_t length = (size_t)(colon - text);
    memcpy(host, text, length);
    host[length] = '\0';
    if (host[0] == '[' && length > 2 && host[length - 1] == ']') {
        host[length - 1] = '\0';
        return uv_ip6_addr(host + 1, port, (struct sockaddr_in6 *)&options->address) == 0;
    }
    return uv_ip4_addr(host, port, (struct sockaddr_in *)&options->address) == 0;
}

/* --------------------------------------------------------------------------- the end */

static void accept_next(struct metrics_listener *listener);

static void on_closed(uv_handle_t *handle)
{
    struct metrics_connection *connection = handle->data;
    struct metrics_listener *listener = connection->listener;

    if (--connection->open_handles > 0) {
        return;
    }
    free(connection->body);
    connection->body = NULL;
    if (listener->waiting && listener->open) {
        listener->waiting = false;
        accept_next(listener);
    }
}

static void close_connection(struct metrics_connection *connection)
{
    if (!connection->closing) {
        connection->closing = true;
        uv_close((uv_handle_t *)&connection->socket.stream, on_closed);
        uv_close((uv_handle_t *)&connection->timer, on_closed);
    }
}

/* -------------------------------------------------------------------------- answering */

/* Now the other side is to close the connection. */
static void on_shut_down(uv_shutdown_t *shutting, int status)
{
    (void)shutting;
    (void)status;
}

/* The other side may have closed only its own direction. */
static void on_written(uv_write_t *writing, int status)
{
    struct metrics_connection *connection = writing->data;

    if (status < 0 || connection->ended ||
        uv_shutdown(&connection->shutting, &connection->socket.stream, on_shut_down) <
            0) {
        close_connection(connection);
    }
}

/* Writes the head, and the body of an answer that has no page. Returns its length. */
static unsigned write_head(struct metrics_connection *connection, enum http_status status,
                           size_t page_length)
{
    const char *text = http_status_text(status);
    bool has_page = status == HTTP_OK;
    char length[32], body[64];

    snprintf(body, sizeof(body), "%d %s\n", (int)status, text);
    snprintf(length, sizeof(length), "%zu", has_page ? page_length : strlen(body));
    snprintf(connection->head, sizeof(connection->head),
             "HTTP/1.1 %d %s\r\n"
             "Content-Type: %s\r\n"
             "Content-Length: %s\r\n"
             "%sConnection: close\r\n"
             "\r\n%s",
             (int)status, text, has_page ? PAGE_TYPE : "text/plain; charset=utf-8",
             length, status == HTTP_NOT_ALLOWED ? "Allow: GET\r\n" : "",
             has_page ? "" : body);
    return (unsigned)strlen(connection->head);
}

static void answer(struct metrics_connection *connection, enum http_status status)
{
    size_t length = 0;

    connection->answered = true;
    if (status == HTTP_OK) {
        connection->body = served_metrics_text(connection->listener->daemon, &length);
        status = connection->body == NULL ? HTTP_NO_MEMORY : HTTP_OK;
    }
    uv_buf_t parts[] = {
        uv_buf_init(connection->head, write_head(connection, status, length)),
        uv_buf_init(connection->body, (unsigned)length)};
    connection->writing.data = connection;
    if (uv_write(&connection->writing, &connection->socket.stream, parts,
                 connection->body == NULL ? 1 : 2, on_written) < 0) {
        close_connection(connection);
    }
}

/* Nothing waits for the other side any more. */
static void on_timer(uv_timer_t *timer)
{
    struct metrics_connection *connection = timer->data;

    if (!connection->answered) {
        uv_buf_t head =
            uv_buf_init(connection->head, write_head(connection, HTTP_TIMEOUT, 0));
        uv_try_write(&connection->socket.stream, &head, 1);
    }
    close_connection(connection);
}

/* --------------------------------------------------------------------------- reading */

/* What arrives behind a request that is answered overwrites it. */
static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct metrics_connection *connection = handle->data;
    size_t used = connection->answered ? 0 : connection->length;

    (void)suggested;
    *buffer = uv_buf_init(connection->request + used,
                          (unsigned)(sizeof(connection->request) - used));
}

static void read_request(struct metrics_connection *connection)
{
    enum http_status status =
        http_request_read(connection->request, connection->length, PAGE);

    if (status == HTTP_UNFINISHED && connection->length == sizeof(connection->request)) {
        status = HTTP_TOO_LARGE;
    }
    if (status != HTTP_UNFINISHED) {
        answer(connection, status);
    }
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct metrics_connection *connection = stream->data;

    (void)buffer;
    if (connection->closing || length == 0) {
        return;
    }
    if (length < 0) {
        connection->ended = true;
        /* While the answer is being written, on_written closes the connection. */
        if (!connection->answered || uv_stream_get_write_queue_size(stream) == 0) {
            close_connection(connection);
        }
    } else if (!connection->answered) {
        connection->length += (size_t)length;
        read_request(connection);
    } else {
        connection->left_out += (size_t)length;
        if (connection->left_out > LEFT_OUT_MAX) {
            close_connection(connection);
        }
    }
}

/* -------------------------------------------------------------------------- accepting */

static int init_socket(const struct metrics_listener *listener,
                       union metrics_socket *socket)
{
    uv_loop_t *loop = &listener->daemon->loop;

    return is_path(listener->options->text) ? uv_pipe_init(loop, &socket->pipe, 0)
                                            : uv_tcp_init(loop, &socket->tcp);
}

static struct metrics_connection *unused_connection(struct metrics_listener *listener)
{
    for (size_t i = 0; i < METRICS_CONNECTIONS_MAX; i++) {
        if (listener->connections[i].open_handles == 0) {
            return &listener->connections[i];
        }
    }
    return NULL;
}

static void accept_next(struct metrics_listener *listener)
{
    struct metrics_connection *connection = unused_connection(listener);

    /* libuv accepts no other connection until this one is taken. */
    if (connection == NULL) {
        listener->waiting = true;
        return;
    }
    memset(connection, 0, sizeof(*connection));
    connection->listener = listener;
    connection->open_handles = 2;
    uv_timer_init(&listener->daemon->loop, &connection->timer);
    connection->timer.data = connection;
    init_socket(listener, &connection->socket);
    connection->socket.stream.data = connection;
    if (uv_accept(&listener->socket.stream, &connection->socket.stream) < 0 ||
        uv_read_start(&connection->socket.stream, on_room, on_read) < 0) {
        close_connection(connection);
        return;
    }
    uv_timer_start(&connection->timer, on_timer, METRICS_TIMEOUT_MS, 0);
}

static void on_connection(uv_stream_t *socket, int status)
{
    if (status == 0) {
        accept_next(socket->data);
    }
}

/* -------------------------------------------------------------------------- the begin */

/* The access to a Unix socket is that of the daemon's socket. */
static int open_file(struct metrics_listener *listener)
{
    listener->file_options = listener->daemon->options->listener;
    listener->file_options.path = listener->options->text;
    listener_init(&listener->file, &listener->file_options);
    return listener_open(&listener->file);
}

static int begin_listening(struct metrics_listener *listener)
{
    bool has_path = is_path(listener->options->text);
    int status =
        has_path ? uv_pipe_open(&listener->socket.pipe, listener->file.fd)
                 : uv_tcp_bind(&listener->socket.tcp,
                               (const struct sockaddr *)&listener->options->address, 0);

    return status < 0 ? status
                      : uv_listen(&listener->socket.stream, (int)METRICS_CONNECTIONS_MAX,
                                  on_connection);
}

/* Reports which port the kernel has chosen if the option says 0. */
static void report(const struct metrics_listener *listener)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    int length = sizeof(name);
    char host[INET6_ADDRSTRLEN] = "?";

    if (is_path(listener->options->text)) {
        output_report("metrics at %s", listener->options->text);
        return;
    }
    uv_tcp_getsockname(&listener->socket.tcp, (struct sockaddr *)&name, &length);
    if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)&name;
        uv_ip6_name(address, host, sizeof(host));
        output_report("metrics at [%s]:%u", host, ntohs(address->sin6_port));
    } else {
        const struct sockaddr_in *address = (const struct sockaddr_in *)&name;
        uv_ip4_name(address, host, sizeof(host));
        output_report("metrics at %s:%u", host, ntohs(address->sin_port));
    }
}

int metrics_listener_open(struct metrics_listener *listener, struct daemon *daemon)
{
    listener->daemon = daemon;
    listener->options = &daemon->options->metrics;
    if (listener->options->text == NULL) {
        return EX_OK;
    }
    if (is_path(listener->options->text)) {
        int failed = open_file(listener);
        if (failed != EX_OK) {
            listener_close(&listener->file);
            return failed;
        }
    }
    int status = init_socket(listener, &listener->socket);
    listener->open = status == 0;
    listener->socket.stream.data = listener;
    if (status == 0) {
        status = begin_listening(listener);
    }
    if (status < 0) {
        output_report("--metrics %s: %s", listener->options->text, uv_strerror(status));
        metrics_listener_close(listener);
        return exit_code_is_shortage(status) ? EX_OSERR : EX_CANTCREAT;
    }
    report(listener);
    return EX_OK;
}

void metrics_listener_close(struct metrics_listener *listener)
{
    if (!listener->open) {
        return;
    }
    listener->open = false;
    uv_close((uv_handle_t *)&listener->socket.stream, NULL);
    if (is_path(listener->options->text)) {
        listener_close(&listener->file);
    }
    for (size_t i = 0; i < METRICS_CONNECTIONS_MAX; i++) {
        if (listener->connections[i].open_handles > 0) {
            close_connection(&listener->connections[i]);
        }
    }
}
