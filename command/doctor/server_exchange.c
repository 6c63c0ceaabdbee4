/* SPDX-License-Identifier: Apache-2.0 */
/* Connect, write, read, close (server_exchange.h). */
#include "doctor/server_exchange.h"

#include <stdlib.h>
#include <string.h>

/* A write, with its bytes behind it. */
struct sending {
    uv_write_t request;
    char bytes[];
};

bool server_exchange_has_ended(const struct server_exchange *exchange)
{
    return uv_is_closing((const uv_handle_t *)&exchange->socket);
}

bool server_exchange_end(struct server_exchange *exchange)
{
    if (server_exchange_has_ended(exchange)) {
        return false;
    }
    uv_close((uv_handle_t *)&exchange->socket, NULL);
    return true;
}

static void fail(struct server_exchange *exchange, int status)
{
    if (!server_exchange_has_ended(exchange)) {
        exchange->calls->failed(exchange->asker, status);
    }
}

static void on_written(uv_write_t *request, int status)
{
    struct server_exchange *exchange = request->data;

    free(request); /* the first member of struct sending */
    if (status < 0) {
        fail(exchange, status);
    }
}

void server_exchange_send(struct server_exchange *exchange, const void *bytes,
                          size_t length)
{
    struct sending *sending = malloc(sizeof(*sending) + length);
    int status = UV_ENOMEM;

    if (sending != NULL) {
        memcpy(sending->bytes, bytes, length);
        sending->request.data = exchange;
        uv_buf_t buffer = uv_buf_init(sending->bytes, (unsigned)length);
        status = uv_write(&sending->request, (uv_stream_t *)&exchange->socket, &buffer, 1,
                          on_written);
    }
    if (status < 0) {
        free(sending);
        fail(exchange, status);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct server_exchange *exchange = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(exchange->bytes, SERVER_EXCHANGE_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct server_exchange *exchange = stream->data;

    if (length < 0) {
        fail(exchange, (int)length);
    } else if (length > 0) {
        exchange->calls->received(exchange->asker, buffer->base, (size_t)length);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct server_exchange *exchange = connect->data;

    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&exchange->socket, on_room, on_read);
    }
    if (status < 0) {
        fail(exchange, status);
    } else {
        exchange->calls->connected(exchange->asker);
    }
}

void server_exchange_begin(struct server_exchange *exchange, uv_loop_t *loop,
                           const struct sockaddr *address,
                           const struct server_exchange_calls *calls, void *asker)
{
    exchange->calls = calls;
    exchange->asker = asker;
    exchange->socket.data = exchange;
    exchange->connect.data = exchange;
    uv_tcp_init(loop, &exchange->socket);
    int status =
        uv_tcp_connect(&exchange->connect, &exchange->socket, address, on_connected);
    if (status < 0) {
        fail(exchange, status);
    }
}

const char *server_exchange_reason(int status)
{
    return status == UV_EOF ? "the server closes the connection" : uv_strerror(status);
}
