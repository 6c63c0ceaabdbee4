#include "engine/session.h"

#include <assert.h>
#include <string.h>

/* Session timeouts without a connection. */
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

const struct uvzk__machine uvzk__session_machine = UVZK__MACHINE("session", table);

void uvzk__session_init(struct uvzk__session *session)
{
    memset(session, 0, sizeof(*session));
    session->state = UVZK_STATE_LATENT;
}

static bool sound(const struct uvzk__session *session)
{
    switch (session->state) {
    case LATENT:
        return !session->ever_connected;
    case CONNECTED:
    case RECONNECTED:
        return session->ever_connected && session->session_id != 0;
    case SUSPENDED:
        return session->ever_connected && !session->connected;
    default:
        return true;
    }
}

/* The only writer of state. */
static void move(struct uvzk__session *session, uvzk_client_state_t state,
                 struct uvzk__session_news *news)
{
    if (session->state == state || session->state == UVZK_STATE_CLOSED) {
        return;
    }
    session->state = (uvzk_client_state_t)uvzk__machine_move(&uvzk__session_machine,
                                                             session->state, state);
    assert(sound(session));
    news->states[news->count++] = state;
}

static void connected(struct uvzk__session *session,
                      const struct uvzk__session_event *event,
                      struct uvzk__session_news *news)
{
    news->fresh = session->session_id != event->session_id;
    news->replaced = session->session_id != 0 && news->fresh;
    if (news->replaced) {
        move(session, UVZK_STATE_LOST, news);
    }
    session->session_id = event->session_id;
    session->timeout_ms = event->timeout_ms;
    session->connected = true;
    if (!session->ever_connected) {
        session->ever_connected = true;
        move(session, UVZK_STATE_CONNECTED, news);
    } else if (session->state != UVZK_STATE_CONNECTED) {
        move(session, UVZK_STATE_RECONNECTED, news);
    }
}

static void gone(struct uvzk__session *session, struct uvzk__session_news *news)
{
    session->connected = false;
    session->session_id = 0;
    move(session, UVZK_STATE_LOST, news);
}

struct uvzk__session_news uvzk__session_step(struct uvzk__session *session,
                                             const struct uvzk__session_event *event,
                                             uint64_t now_ms)
{
    struct uvzk__session_news news = {.count = 0};

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        connected(session, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        session->connected = false;
        if (uvzk__state_is_connected(session->state)) {
            session->suspended_ms = now_ms;
            move(session, UVZK_STATE_SUSPENDED, &news);
        }
        break;
    case UVZK__SESSION_EXPIRED:
    case UVZK__SESSION_AUTH_FAILED:
        gone(session, &news);
        break;
    case UVZK__SESSION_OPEN_FAILED:
        session->connected = false;
        break;
    }
    return news;
}

uint64_t uvzk__session_lost_at(const struct uvzk__session *session)
{
    if (session->state != UVZK_STATE_SUSPENDED) {
        return UINT64_MAX;
    }
    return session->suspended_ms + session->timeout_ms;
}

uint64_t uvzk__session_abandon_at(const struct uvzk__session *session)
{
    if (session->connected || session->session_id == 0) {
        return UINT64_MAX;
    }
    return session->suspended_ms + ABANDON_AFTER * (uint64_t)session->timeout_ms;
}

void uvzk__session_silent(struct uvzk__session *session)
{
    session->connected = false;
}

struct uvzk__session_news uvzk__session_lapse(struct uvzk__session *session,
                                              uint64_t now_ms)
{
    struct uvzk__session_news news = {.count = 0};

    if (now_ms >= uvzk__session_lost_at(session)) {
        move(session, UVZK_STATE_LOST, &news);
    }
    return news;
}

struct uvzk__session_news uvzk__session_close(struct uvzk__session *session)
{
    struct uvzk__session_news news = {.count = 0};

    move(session, UVZK_STATE_CLOSED, &news);
    return news;
}
