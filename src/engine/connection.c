/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the connection state (connection.h). lifecycle.c passes in the port's events and
 * reports the states that result, in their order. */
#include "engine/connection.h"

#include <string.h>

/* The session is given up after this number of session timeouts without a connection. */
#define ABANDON_AFTER 3U

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK_STATE_, LATENT, CONNECTED, LOST, CLOSED),
    UVZK__STATE(UVZK_STATE_, CONNECTED, SUSPENDED, LOST, CLOSED),
    UVZK__STATE(UVZK_STATE_, SUSPENDED, RECONNECTED, LOST, CLOSED),
    UVZK__STATE(UVZK_STATE_, RECONNECTED, SUSPENDED, LOST, CLOSED),
    UVZK__STATE(UVZK_STATE_, LOST, CONNECTED, RECONNECTED, CLOSED),
    UVZK__FINAL(UVZK_STATE_, CLOSED),
};

void uvzk__connection_init(struct uvzk__connection *connection)
{
    memset(connection, 0, sizeof(*connection));
    connection->state = UVZK_STATE_LATENT;
}

static bool invariant_holds(const void *object)
{
    const struct uvzk__connection *connection = object;

    switch (connection->state) {
    case UVZK_STATE_LATENT:
        return !connection->ever_connected;
    case UVZK_STATE_CONNECTED:
    case UVZK_STATE_RECONNECTED:
        return connection->ever_connected && connection->session_id != 0;
    case UVZK_STATE_SUSPENDED:
        return connection->ever_connected && !connection->connected;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__connection_machine =
    UVZK__MACHINE("connection", table, struct uvzk__connection, state, invariant_holds);

/* A state that does not change is not reported, and nothing is reported after CLOSED. A
 * connection knows no session to which uvzk__move could report. */
static void connection_enter(struct uvzk__connection *connection,
                             uvzk_client_state_t state,
                             struct uvzk__connection_news *news)
{
    uvzk_client_state_t from = uvzk__connection_state(connection);

    if (from == state || from == UVZK_STATE_CLOSED) {
        return;
    }
    if (!uvzk__machine_enter(&uvzk__connection_machine, connection, state, NULL, NULL)) {
        news->illegal = true;
        news->illegal_from = from;
    }
    news->states[news->count++] = state;
}

static void connection_connected(struct uvzk__connection *connection,
                                 const struct uvzk__session_event *event,
                                 struct uvzk__connection_news *news)
{
    news->fresh = connection->session_id != event->session_id;
    news->replaced = connection->session_id != 0 && news->fresh;
    if (news->replaced) {
        /* The old session has ended, so the user must be told of LOST first. */
        connection_enter(connection, UVZK_STATE_LOST, news);
    }
    connection->session_id = event->session_id;
    connection->timeout_ms = event->timeout_ms;
    connection->connected = true;
    if (!connection->ever_connected) {
        connection->ever_connected = true;
        connection_enter(connection, UVZK_STATE_CONNECTED, news);
    } else if (connection->state != UVZK_STATE_CONNECTED) {
        connection_enter(connection, UVZK_STATE_RECONNECTED, news);
    }
}

static void connection_gone(struct uvzk__connection *connection,
                            struct uvzk__connection_news *news)
{
    connection->connected = false;
    connection->session_id = 0;
    connection_enter(connection, UVZK_STATE_LOST, news);
}

struct uvzk__connection_news
uvzk__connection_step(struct uvzk__connection *connection,
                      const struct uvzk__session_event *event, uint64_t now_ms)
{
    struct uvzk__connection_news news = {.count = 0};

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        connection_connected(connection, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        connection->connected = false;
        /* A connection may be lost in state CLOSED, too. */
        if (uvzk__state_is_connected(connection->state)) {
            connection->suspended_ms = now_ms;
            connection_enter(connection, UVZK_STATE_SUSPENDED, &news);
        }
        break;
    case UVZK__SESSION_EXPIRED:
    case UVZK__SESSION_AUTH_FAILED:
        connection_gone(connection, &news);
        break;
    case UVZK__SESSION_OPEN_FAILED:
        /* Not a state change: the client stays LATENT or LOST, and tries again. */
        connection->connected = false;
        break;
    }
    return news;
}

uint64_t uvzk__connection_lost_at(const struct uvzk__connection *connection)
{
    if (connection->state != UVZK_STATE_SUSPENDED) {
        return UINT64_MAX;
    }
    return connection->suspended_ms + connection->timeout_ms;
}

uint64_t uvzk__connection_abandon_at(const struct uvzk__connection *connection)
{
    if (connection->connected || connection->session_id == 0) {
        return UINT64_MAX;
    }
    return connection->suspended_ms + ABANDON_AFTER * (uint64_t)connection->timeout_ms;
}

void uvzk__connection_silent(struct uvzk__connection *connection)
{
    connection->connected = false;
}

struct uvzk__connection_news uvzk__connection_lapse(struct uvzk__connection *connection,
                                                    uint64_t now_ms)
{
    struct uvzk__connection_news news = {.count = 0};

    if (now_ms >= uvzk__connection_lost_at(connection)) {
        connection_enter(connection, UVZK_STATE_LOST, &news);
    }
    return news;
}

struct uvzk__connection_news uvzk__connection_close(struct uvzk__connection *connection)
{
    struct uvzk__connection_news news = {.count = 0};

    connection_enter(connection, UVZK_STATE_CLOSED, &news);
    return news;
}
