/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the connection to the servers (served_wait.h). served_operations.c calls it with
 * requests, daemon.c when there is a connection and when the daemon ends, and
 * served_connection.c when a program's connection ends. */
#include "serve/served_wait.h"

#include <stdlib.h>

#include <utlist.h>
#include <uvzk.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"

static bool is_connected(const struct daemon *daemon)
{
    uvzk_client_state_t state = uvzk_client_state(&daemon->zookeeper.client);

    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

static void on_closed(uv_handle_t *timer)
{
    struct served_wait *wait = timer->data;
    struct served_connection *connection = wait->connection;

    free(wait);
    served_connection_done(connection);
}

/* The answer is dropped if the connection has ended. */
static void wait_end(struct served_wait *wait, json_t *answer)
{
    DL_DELETE(wait->connection->waits, wait);
    uv_close((uv_handle_t *)&wait->timer, on_closed);
    served_connection_send(wait->connection, answer);
}

static void on_timeout(uv_timer_t *timer)
{
    struct served_wait *wait = timer->data;

    wait_end(wait, served_answer_error(wait->id, uvzk_err_name(UV_ETIMEDOUT),
                                       "no connection to the servers yet",
                                       uvzk_err_is_retriable(UV_ETIMEDOUT)));
}

/* A connection that does not read its answers is cut off, and then has no waits. */
void served_waits_end(struct daemon *daemon)
{
    struct served_connection *connection, *next;

    DL_FOREACH_SAFE(daemon->connections, connection, next)
    {
        while (connection->waits != NULL) {
            wait_end(connection->waits, served_answer_ok(connection->waits->id));
        }
    }
}

void served_waits_expire(struct served_connection *connection)
{
    while (connection->waits != NULL) {
        wait_end(connection->waits, served_answer_ending(connection->waits->id));
    }
}

void served_wait_begin(struct served_connection *connection,
                       const struct served_request *request)
{
    struct daemon *daemon = connection->daemon;

    if (is_connected(daemon)) {
        served_connection_send(connection, served_answer_ok(request->id));
        return;
    }
    if (!served_connection_begin(connection, request->id)) {
        return;
    }
    struct served_wait *wait = calloc(1, sizeof(*wait));
    if (wait == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UV_ENOMEM, 0));
        served_connection_done(connection);
        return;
    }
    wait->connection = connection;
    wait->id = request->id;
    wait->timer.data = wait;
    uv_timer_init(&daemon->loop, &wait->timer);
    uv_timer_start(&wait->timer, on_timeout, (uint64_t)request->timeout_ms, 0);
    DL_APPEND(connection->waits, wait);
}
