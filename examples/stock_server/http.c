/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <utlist.h>

#include "connection.h"

enum { BACKLOG = 511, SWEEP_MS = 5000, IDLE_MS = 60000 };

static void on_connection(uv_stream_t *socket, int status)
{
    struct http *http = socket->data;

    if (status == 0) {
        http->owes_accept = !connection_accept(http);
    }
}

static void on_sweep(uv_timer_t *sweep)
{
    struct http *http = sweep->data;
    struct connection *connection, *next;

    /* libuv reports no further connection until this one is accepted. */
    if (http->owes_accept && !http->closing) {
        http->owes_accept = !connection_accept(http);
    }
    DL_FOREACH_SAFE(http->connections, connection, next)
    {
        connection_end_if_idle(connection, http->closing ? 0 : IDLE_MS);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;

    if (--http->handles == 0 && http->closed_cb != NULL) {
        http->closed_cb(http->context);
    }
}

/* The sweep timer is closed with the last connection. Until then it ends connections
 * whose clients do not read their answers, so such a client delays the end only for a few
 * seconds. */
static void end_sweep_if_empty(struct http *http)
{
    uv_handle_t *sweep = (uv_handle_t *)&http->sweep;

    if (http->closing && http->connections == NULL && !uv_is_closing(sweep)) {
        uv_close(sweep, on_handle_closed);
    }
}

int http_listen(struct http *http, uv_loop_t *loop, const char *address, int port,
                http_request_cb request_cb, void *context)
{
    struct sockaddr_in where;
    int status = uv_ip4_addr(address, port, &where);

    if (status < 0) {
        return status;
    }
    http->request_cb = request_cb;
    http->context = context;
    http->handles = 2;
    uv_tcp_init(loop, &http->socket);
    uv_timer_init(loop, &http->sweep);
    http->socket.data = http->sweep.data = http;
    if ((status = uv_tcp_bind(&http->socket, (const struct sockaddr *)&where, 0)) < 0 ||
        (status = uv_listen((uv_stream_t *)&http->socket, BACKLOG, on_connection)) < 0) {
        http_close(http, NULL);
        return status;
    }
    uv_timer_start(&http->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    return 0;
}

int http_port(const struct http *http)
{
    struct sockaddr_in where;
    int length = sizeof(where);

    return uv_tcp_getsockname(&http->socket, (struct sockaddr *)&where, &length) < 0
               ? -1
               : ntohs(where.sin_port);
}

void http_close(struct http *http, http_closed_cb cb)
{
    struct connection *connection, *next;

    http->closing = true;
    http->closed_cb = cb;
    uv_close((uv_handle_t *)&http->socket, on_handle_closed);
    DL_FOREACH_SAFE(http->connections, connection, next)
    {
        connection_end_unless_busy(connection);
    }
    end_sweep_if_empty(http);
}

void http_left(struct http *http)
{
    end_sweep_if_empty(http);
}
