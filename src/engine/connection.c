#include "engine/connection.h"

#include <string.h>

/* The session is given up after this number of session timeouts without a connection. */
#define ABANDON_AFTER 3U

#define LATENT UVZK_STATE_LATENT
#define CONNECTED UVZK_STATE_CONNECTED
#define SUSPENDED UVZK_STATE_SUSPENDED
#define RECONNECTED UVZK_STATE_RECONNECTED
#define LOST UVZK_STATE_LOST
#define CLOSED UVZK_STATE_CLOSED

static const struct uvzk__state table[] = {
    [LATENT] = {"LATENT", UVZK__BIT(CONNECTED) | UVZK__BIT(LOST) | UVZK__BIT(CLOSED)},
    [CONNECTED] = {"CONNECTED",
                   UVZK__BIT(SUSPENDED) | UVZK__BIT(LOST) | UVZK__BIT(CLOSED)},
    [SUSPENDED] = {"SUSPENDED",
                   UVZK__BIT(RECONNECTED) | UVZK__BIT(LOST) | UVZK__BIT(CLOSED)},
    [RECONNECTED] = {"RECONNECTED",
                     UVZK__BIT(SUSPENDED) | UVZK__BIT(LOST) | UVZK__BIT(CLOSED)},
    [LOST] = {"LOST", UVZK__BIT(CONNECTED) | UVZK__BIT(RECONNECTED) | UVZK__BIT(CLOSED)},
    [CLOSED] = {"CLOSED", 0},
};

const struct uvzk__machine uvzk__connection_machine =
    UVZK__OLD_MACHINE("connection", table);

void uvzk__connection_init(struct uvzk__connection *connection)
{
    memset(connection, 0, sizeof(*connection));
    connection->state = UVZK_STATE_LATENT;
}

static bool invariant_holds(const struct uvzk__connection *connection)
{
    switch (connection->state) {
    case LATENT:
        return !connection->ever_connected;
    case CONNECTED:
    case RECONNECTED:
        return connection->ever_connected && connection->session_id != 0;
    case SUSPENDED:
        return connection->ever_connected && !connection->connected;
    default:
        return true;
    }
}

/* The only function that writes the state. A state that does not change is not reported,
 * and nothing is reported after CLOSED. */
static void move(struct uvzk__connection *connection, uvzk_client_state_t state,
                 struct uvzk__connection_news *news)
{
    if (connection->state == state || connection->state == UVZK_STATE_CLOSED) {
        return;
    }
    uvzk_client_state_t from = connection->state;
    bool allowed = uvzk__machine_allows(&uvzk__connection_machine, from, state);

    connection->state =
        (uvzk_client_state_t)uvzk__machine_after(&uvzk__connection_machine, from, state);
    if (!allowed || !invariant_holds(connection)) {
        news->illegal = true;
        news->illegal_from = from;
    }
    news->states[news->count++] = state;
}

static void connected(struct uvzk__connection *connection,
                      const struct uvzk__session_event *event,
                      struct uvzk__connection_news *news)
{
    news->fresh = connection->session_id != event->session_id;
    news->replaced = connection->session_id != 0 && news->fresh;
    if (news->replaced) {
        /* The old session has ended, so the user must hear of LOST first. */
        move(connection, UVZK_STATE_LOST, news);
    }
    connection->session_id = event->session_id;
    connection->timeout_ms = event->timeout_ms;
    connection->connected = true;
    if (!connection->ever_connected) {
        connection->ever_connected = true;
        move(connection, UVZK_STATE_CONNECTED, news);
    } else if (connection->state != UVZK_STATE_CONNECTED) {
        move(connection, UVZK_STATE_RECONNECTED, news);
    }
}

static void gone(struct uvzk__connection *connection, struct uvzk__connection_news *news)
{
    connection->connected = false;
    connection->session_id = 0;
    move(connection, UVZK_STATE_LOST, news);
}

struct uvzk__connection_news
uvzk__connection_step(struct uvzk__connection *connection,
                      const struct uvzk__session_event *event, uint64_t now_ms)
{
    struct uvzk__connection_news news = {.count = 0};

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        connected(connection, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        connection->connected = false;
        /* A connection may be lost in state CLOSED, too. */
        if (uvzk__state_is_connected(connection->state)) {
            connection->suspended_ms = now_ms;
            move(connection, UVZK_STATE_SUSPENDED, &news);
        }
        break;
    case UVZK__SESSION_EXPIRED:
    case UVZK__SESSION_AUTH_FAILED:
        gone(connection, &news);
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
        move(connection, UVZK_STATE_LOST, &news);
    }
    return news;
}

struct uvzk__connection_news uvzk__connection_close(struct uvzk__connection *connection)
{
    struct uvzk__connection_news news = {.count = 0};

    move(connection, UVZK_STATE_CLOSED, &news);
    return news;
}
