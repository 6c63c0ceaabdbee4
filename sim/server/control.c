/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the control channel (control.h). Reads lines, and writes what the
 * commands answer. */
#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control_commands.h"
#include "tcp_server.h"

#define LINE_MAX_BYTES 4096

struct control_connection {
    uv_tcp_t socket;
    struct control *control;
    struct uvzk__link link; /* in control->connections */
    size_t length;
    char line[LINE_MAX_BYTES];
};

struct outgoing {
    uv_write_t write;
    char *bytes; /* owned */
};

static void freed(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_connection(struct control_connection *connection)
{
    if (!uv_is_closing((uv_handle_t *)&connection->socket)) {
        uvzk__list_remove(&connection->link);
        uv_close((uv_handle_t *)&connection->socket, freed);
    }
}

static void written(uv_write_t *write, int status)
{
    struct outgoing *outgoing = (struct outgoing *)(void *)write;

    (void)status;
    free(outgoing->bytes);
    free(outgoing);
}

/* Takes the bytes over. */
static void send_answer(struct control_connection *connection, char *bytes, size_t length)
{
    struct outgoing *outgoing = calloc(1, sizeof(*outgoing));
    uv_buf_t buffer = uv_buf_init(bytes, (unsigned)length);

    if (outgoing == NULL) {
        free(bytes);
        close_connection(connection);
        return;
    }
    outgoing->bytes = bytes;
    if (uv_write(&outgoing->write, (uv_stream_t *)&connection->socket, &buffer, 1,
                 written) != 0) {
        written(&outgoing->write, 0);
        close_connection(connection);
    }
}

static void carry_out(struct control_connection *connection, char *line)
{
    struct control *control = connection->control;
    char *bytes = NULL;
    size_t length = 0;
    FILE *answer = open_memstream(&bytes, &length);
    bool quits = false;

    if (answer == NULL) {
        close_connection(connection);
        return;
    }
    control_command(control->server, line, answer, &quits);
    (void)fclose(answer);
    send_answer(connection, bytes, length);
    if (quits) {
        control->quit(control);
    }
}

static void carry_out_lines(struct control_connection *connection)
{
    char *end, *at = connection->line;

    connection->line[connection->length] = '\0';
    while ((end = memchr(at, '\n',
                         connection->length - (size_t)(at - connection->line))) != NULL) {
        *end = '\0';
        carry_out(connection, at);
        at = end + 1;
        if (uv_is_closing((uv_handle_t *)&connection->socket)) {
            return;
        }
    }
    connection->length -= (size_t)(at - connection->line);
    memmove(connection->line, at, connection->length);
    if (connection->length == sizeof(connection->line) - 1) {
        close_connection(connection); /* the line is too long */
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct control_connection *connection = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(connection->line + connection->length,
                          (unsigned)(sizeof(connection->line) - 1 - connection->length));
}

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct control_connection *connection = stream->data;

    (void)buffer;
    if (count < 0) {
        close_connection(connection);
        return;
    }
    connection->length += (size_t)count;
    carry_out_lines(connection);
}

static void accepted(uv_stream_t *listener, int status)
{
    struct control *control = listener->data;
    struct control_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        return;
    }
    connection->control = control;
    uvzk__list_prepend(&control->connections, &connection->link);
    uv_tcp_init(listener->loop, &connection->socket);
    connection->socket.data = connection;
    if (status != 0 || uv_accept(listener, (uv_stream_t *)&connection->socket) != 0) {
        close_connection(connection);
        return;
    }
    uv_read_start((uv_stream_t *)&connection->socket, allocate, received);
}

int control_open(uv_loop_t *loop, struct control *control, struct tcp_server *server,
                 uint16_t port, void (*quit)(struct control *))
{
    struct sockaddr_in address;
    int length = sizeof(address);

    memset(control, 0, sizeof(*control));
    control->server = server;
    control->quit = quit;
    uvzk__list_init(&control->connections);
    uv_tcp_init(loop, &control->listener);
    control->listener.data = control;
    uv_ip4_addr("127.0.0.1", port, &address);
    int status = uv_tcp_bind(&control->listener, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)&control->listener, 16, accepted);
    }
    if (status == 0) {
        uv_tcp_getsockname(&control->listener, (struct sockaddr *)&address, &length);
        control->port = ntohs(address.sin_port);
    }
    return status;
}

void control_close(struct control *control)
{
    while (!uvzk__list_empty(&control->connections)) {
        close_connection(UVZK__CONTAINER_OF(control->connections.next,
                                            struct control_connection, link));
    }
    uv_close((uv_handle_t *)&control->listener, NULL);
}
