#include "client/lifecycle.h"

#include <string.h>

#include "base/retry.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "client/combined_state.h"
#include "client/no_connection.h"
#include "client/round.h"
#include "directory/contender.h"
#include "directory/create_order.h"
#include "directory/directory.h"
#include "directory/own_watch.h"
#include "engine/barrier.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "future/future.h"
#include "proof/prover.h"
#include "value/node_cache.h"
#include "value/shared_value.h"

static struct uvzk__session *session_of(struct uvzk__port_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__lifecycle, user)->session;
}

static void announce(struct uvzk__session *session, struct uvzk__connection_news news)
{
    for (int i = 0; i < news.count; i++) {
        uvzk_client_state_t state;
        if (!uvzk__combined_state_update(session, news.states[i], &state)) {
            continue;
        }
        if (session->observer != NULL) {
            uvzk__observe_state(session, state);
        }
        if (session->lifecycle->state_cb != NULL) {
            session->lifecycle->state_cb(session->shell, state);
        }
    }
}

/* ------------------------------------------------------------ session events */

void uvzk__open(struct uvzk__session *session)
{
    session->lifecycle->opened_ms = uvzk__now(session);
    session->lifecycle->abandoned = false;
    uvzk__no_connection_begin(session);
    session->port->open(session->port);
}

/* A client that has never been connected tells its state again, each time that the log has
 * a line: nothing else would ever be told of it. */
static void no_connection(struct uvzk__session *session,
                          const struct uvzk__connect_error *error)
{
    if (session->closing || uvzk__connection_is_connected(&session->connection) ||
        !uvzk__no_connection_because(session, error)) {
        return;
    }
    uvzk__no_connection_log(session);
    if (uvzk__connection_state(&session->connection) == UVZK_STATE_LATENT) {
        announce(session, (struct uvzk__connection_news){.states = {UVZK_STATE_LATENT},
                                                         .count = 1});
    }
}

/* The reasons that the session's events have. */
static void note_event(struct uvzk__session *session,
                       const struct uvzk__session_event *event)
{
    struct uvzk__connect_error trouble = {.address = ""};

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        uvzk__no_connection_end(session);
        return;
    case UVZK__SESSION_SUSPENDED:
        trouble.code = UVZK_ECONNLOSS;
        trouble.text = "the connection was lost";
        break;
    case UVZK__SESSION_EXPIRED:
        trouble.code = UVZK_EEXPIRED;
        trouble.text = session->lifecycle->abandoned
                           ? "the session was given up, no server was in reach"
                           : uvzk_strerror(UVZK_EEXPIRED);
        break;
    default:
        trouble.code = event->status;
        trouble.text = uvzk_strerror(event->status);
        trouble.address = uvzk__no_connection_address(session, event->status);
        break;
    }
    uvzk__no_connection_begin(session);
    no_connection(session, &trouble);
}

/* The default data of lock nodes is known once the port knows our address. */
static void learn_address(struct uvzk__session *session, const char *address)
{
    if (!session->lifecycle->default_data_is_address || session->default_data != NULL ||
        address == NULL) {
        return;
    }
    session->default_data = uvzk__strdup(address);
    session->default_data_length = session->default_data == NULL ? 0 : strlen(address);
}

/* Whether the node of a release is gone is not known, but the session's end is
 * near. */
static void abandon(struct uvzk__contender *contender, int code)
{
    if (contender->claim != NULL) {
        uvzk__claim_fail_releases(contender->claim, code);
    }
    uvzk__contender_session_ended(contender, code);
}

/* gone: the server says so; else it may live on there. */
static void end_session(struct uvzk__session *session, int code, bool gone)
{
    uvzk__prover_ended(session);
    uvzk__for_each_contender(session, gone ? uvzk__contender_session_ended : abandon,
                             code);
    uvzk__directories_session_ended(session);
    uvzk__node_caches_watches_lost(session);
    uvzk__timer_clear(session, &session->lifecycle->lost_timer);
}

static void guard_lost(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__own_watch_lost(contender);
}

/* The session goes on without its watches. What they would have told is asked for
 * when they are armed again: all that waits is settled when sending may begin. */
static void watches_lost(struct uvzk__session *session)
{
    uvzk__for_each_contender(session, guard_lost, 0);
    uvzk__directories_watches_lost(session);
    uvzk__node_caches_watches_lost(session);
}

static void connected(struct uvzk__session *session,
                      const struct uvzk__session_event *event,
                      const struct uvzk__connection_news *news)
{
    if (news->replaced) {
        end_session(session, UVZK_EEXPIRED, false);
    } else if (event->watches_lost) {
        watches_lost(session);
    }
    session->lifecycle->open_attempts = 0;
    session->connected_stamp = uvzk__stamp(&session->submissions);
    learn_address(session, event->local_address);
    uvzk__prover_connected(session, event->timeout_ms, news->fresh,
                           session->lifecycle->opened_ms);
    uvzk__timer_clear(session, &session->lifecycle->lost_timer);
    uvzk__barrier_close(session);
    uvzk__prover_schedule(session);
}

static void end_tries(struct uvzk__session *session)
{
    struct uvzk__link tries, *link;

    uvzk__list_move(&session->claims->try_once, &tries);
    while (!uvzk__list_empty(&tries)) {
        link = tries.next;
        struct uvzk__acquisition *acquisition = uvzk__acquisition_of_try(link);
        uvzk__acquisition_end_alone(acquisition, UVZK_ECONNLOSS);
    }
}

static void suspended(struct uvzk__session *session)
{
    uint64_t lost_at = uvzk__connection_lost_at(&session->connection);

    uvzk__prover_suspended(session);
    if (lost_at != UINT64_MAX) {
        uvzk__timer_set(session, &session->lifecycle->lost_timer, lost_at);
    }
    end_tries(session);
    uvzk__create_order_skip_session(session);
}

static void lost_due(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, lost_timer)->session;

    uint64_t abandon_at = uvzk__connection_abandon_at(&session->connection);
    uint64_t now = uvzk__now(session);

    if (now >= abandon_at) {
        uvzk__log(session, UVZK_LOG_WARN, "session",
                  "no server in reach: the session is given up");
        session->lifecycle->abandoned = true;
        session->port->abandon(session->port);
        return;
    }
    uvzk__timer_set(session, &session->lifecycle->lost_timer, abandon_at);
    uvzk__prover_check(session);
    announce(session, uvzk__connection_lapse(&session->connection, now));
}

static void reopen_due(struct uvzk__timer *timer)
{
    uvzk__open(UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, reopen_timer)->session);
}

/* Host names that do not resolve are tried again for ever; but when the retry
 * policy is used up, those who wait are told. */
static void open_failed(struct uvzk__session *session, int status)
{
    uint64_t now = uvzk__now(session), random = 0;
    uint64_t sleep_ms = session->retry.base_ms;

    if (session->lifecycle->open_attempts == 0) {
        session->lifecycle->open_since_ms = now;
    }
    (void)session->port->random(session->port, &random, sizeof(random));
    uvzk__log(session, UVZK_LOG_ERROR, "session", "cannot connect: %s",
              uvzk_strerror(status));
    if (!uvzk__retry_allow(&session->retry, session->lifecycle->open_attempts++,
                           now - session->lifecycle->open_since_ms, random, &sleep_ms)) {
        session->lifecycle->open_attempts = 0;
        sleep_ms = session->retry.base_ms;
        uvzk__for_each_contender(session, uvzk__contender_end, UVZK_ECONNLOSS);
        uvzk__node_caches_unreachable(session, UVZK_ENOTSENT);
    }
    uvzk__timer_set(session, &session->lifecycle->reopen_timer,
                    now + (sleep_ms == 0 ? 1 : sleep_ms));
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    struct uvzk__session *session = session_of(user);
    struct uvzk__connection_news news =
        uvzk__connection_step(&session->connection, event, uvzk__now(session));

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        connected(session, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        suspended(session);
        break;
    case UVZK__SESSION_EXPIRED:
        end_session(session, UVZK_EEXPIRED, !session->lifecycle->abandoned);
        if (!session->closing) {
            uvzk__open(session);
        }
        break;
    case UVZK__SESSION_AUTH_FAILED:
        session->auth_failed = true;
        end_session(session, UVZK_EAUTH, false);
        uvzk__for_each_contender(session, uvzk__contender_end, UVZK_EAUTH);
        uvzk__node_caches_unreachable(session, UVZK_EAUTH);
        break;
    case UVZK__SESSION_OPEN_FAILED:
        if (!session->closing) {
            open_failed(session, event->status);
        }
        break;
    }
    note_event(session, event);
    uvzk__wake(session);
    announce(session, news);
}

static void on_no_connection(struct uvzk__port_user *user,
                             const struct uvzk__connect_error *error)
{
    no_connection(session_of(user), error);
}

static void on_turn(struct uvzk__port_user *user)
{
    uvzk__turn(session_of(user));
}

static void on_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    uvzk__log(session_of(user), level, module, "%s", line);
}

/* ------------------------------------------------------------------- closing */

static void close_timeout(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, close_timer)->session;

    session->lifecycle->close_wait_ms = 0;
}

void uvzk__close(struct uvzk__session *session)
{
    session->closing = true;
    session->port->close_soon(session->port);
    (void)uvzk__connection_close(&session->connection);
    uvzk__timer_clear(session, &session->lifecycle->reopen_timer);
    uvzk__for_each_contender(session, uvzk__contender_end, UVZK_ECLOSED);
    uvzk__node_caches_unreachable(session, UVZK_ECLOSED);
    session->lifecycle->close_timer.due = close_timeout;
    uvzk__timer_set(session, &session->lifecycle->close_timer,
                    uvzk__now(session) + session->lifecycle->close_wait_ms);
    uvzk__wake(session);
}

void uvzk__close_when_done(struct uvzk__session *session)
{
    if (!session->closing || session->port_closing ||
        uvzk__session_waits_for_others(session)) {
        return;
    }
    bool asking = uvzk__connection_is_connected(&session->connection) &&
                  !uvzk__barrier_is_open(&session->barrier);
    bool may_wait =
        (asking || uvzk__may_send(session)) && session->lifecycle->close_wait_ms > 0;

    if (!uvzk__list_empty(&session->notifications) ||
        (uvzk__directories_have_pending(session->directories) && may_wait)) {
        return;
    }
    session->port_closing_ms = uvzk__now(session);
    session->port_closing = true;
    session->port->close(session->port);
}

static void free_locks(struct uvzk__session *session)
{
    while (!uvzk__list_empty(&session->claims->locks)) {
        uvzk__lock_free(UVZK__CONTAINER_OF(session->claims->locks.next, struct uvzk__lock,
                                           in_session));
    }
}

/* What a session's callbacks do may have to be told in another one. */
static bool tell_rest(struct uvzk__session *session)
{
    bool any = !uvzk__list_empty(&session->notifications);

    while (!uvzk__list_empty(&session->notifications)) {
        uvzk__notify_all(session);
    }
    return any;
}

/* All ports are closed. A lock may know a value of another session, and goes before it. */
static void end(struct uvzk__client *client)
{
    bool told = true;

    while (told) {
        told = false;
        for (uint32_t i = 0; i < client->count; i++) {
            told |= tell_rest(client->sessions[i]);
        }
    }
    for (uint32_t i = 0; i < client->count; i++) {
        free_locks(client->sessions[i]);
    }
    for (uint32_t i = 0; i < client->count; i++) {
        uvzk__claims_free(client->sessions[i]->claims);
        uvzk__shared_values_free(client->sessions[i]);
        uvzk__futures_session_gone(client->sessions[i]);
    }
    uvzk__client_free(client);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct uvzk__session *session = session_of(user);
    uvzk_client_t *shell = session->shell;

    uvzk__connection_silent(&session->connection);
    uvzk__for_each_contender(session, abandon, UVZK_ECLOSED);
    uvzk__directories_free(session);
    session->port = NULL;
    (void)tell_rest(session);
    if (!uvzk__session_over(session)) {
        uvzk__wake(uvzk__first_session(session));
        return;
    }
    uvzk_client_close_cb close_cb = uvzk__first_session(session)->lifecycle->close_cb;
    end(session->client);
    shell->impl = NULL;
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

void uvzk__lifecycle_init(struct uvzk__session *session)
{
    session->lifecycle->session = session;
    session->lifecycle->user.session = on_session;
    session->lifecycle->user.no_connection = on_no_connection;
    session->lifecycle->user.turn = on_turn;
    session->lifecycle->user.log = on_log;
    session->lifecycle->user.closed = on_closed;
    session->lifecycle->lost_timer.due = lost_due;
    session->lifecycle->reopen_timer.due = reopen_due;
    session->port->user = &session->lifecycle->user;
    session->turn_hooks = &uvzk__round_hooks;
}
