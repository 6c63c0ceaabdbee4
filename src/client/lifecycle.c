/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: opens its port, receives the port's events, passes them to the
 * other rooms, and closes the session (lifecycle.h). create.c calls it for the user's
 * calls, the port through uvzk__port_user.
 *
 * The rooms learn of an event before the user's state callback runs. A client has ended
 * when the ports of all its sessions are closed; the first session's port is closed
 * last. */
#include "client/lifecycle.h"

#include <stdio.h>
#include <string.h>

#include "barrier/barriers.h"
#include "base/retry.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "client/combined_state.h"
#include "client/no_connection.h"
#include "client/round.h"
#include "directory/contender.h"
#include "directory/own_watch.h"
#include "directory/settle/creates.h"
#include "directory/settle/settle.h"
#include "election/election.h"
#include "engine/barrier.h"
#include "engine/handle_end.h"
#include "engine/log.h"
#include "engine/session_object.h"
#include "engine/size_limit.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watched_children.h"
#include "future/future.h"
#include "proof/prover.h"
#include "value/shared_value.h"

static struct uvzk__session *session_of(struct uvzk__port_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__lifecycle, user)->session;
}

/* ------------------------------------------------------------ session events */

void uvzk__open(struct uvzk__session *session)
{
    session->lifecycle->opened_ms = uvzk__now(session);
    session->lifecycle->abandoned = false;
    uvzk__no_connection_begin(session);
    session->port->open(session->port);
}

/* Records why there is no connection, and logs it from time to time. A client that has
 * never been connected also reports LATENT again with each log line, because no other
 * callback would tell its user that something is wrong. */
static void no_connection(struct uvzk__session *session,
                          const struct uvzk__connect_error *error)
{
    if (uvzk__session_is_closing(session) || uvzk__is_connected(session) ||
        !uvzk__no_connection_because(session, error)) {
        return;
    }
    uvzk__no_connection_log(session);
    if (uvzk__connection_state(&session->connection) == UVZK_STATE_LATENT) {
        uvzk__combined_state_announce(
            session,
            (struct uvzk__connection_news){.states = {UVZK_STATE_LATENT}, .count = 1});
    }
}

/* Records the reason for no connection that a session event implies. */
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
        trouble.text = uvzk__no_connection_text(session, event->status);
        trouble.address = uvzk__no_connection_address(session, event->status);
        break;
    }
    uvzk__no_connection_begin(session);
    no_connection(session, &trouble);
}

/* The default data of znodes are set when the port knows the local address. If the
 * allocation fails, the next connection sets the data. */
static void learn_address(struct uvzk__session *session, const char *address)
{
    if (!session->lifecycle->default_data_is_address || session->default_data != NULL ||
        address == NULL) {
        return;
    }
    session->default_data = uvzk__strdup(address);
    session->default_data_length = session->default_data == NULL ? 0 : strlen(address);
}

/* The session ends without a server having confirmed it, so its znodes may exist for a
 * while. Releases that are under way end with this code, because nothing more will be
 * known of their znodes. */
static void lifecycle_abandon(struct uvzk__contender *contender, int code)
{
    if (contender->claim != NULL) {
        uvzk__claim_fail_releases(contender->claim, code);
    }
    uvzk__contender_session_ended(contender, code);
}

/* The session has ended for this client. gone: a server said so. Otherwise the session
 * may still live on the servers. */
static void end_session(struct uvzk__session *session, int code, bool gone)
{
    uvzk__prover_ended(session);
    uvzk__for_each_contender(
        session, gone ? uvzk__contender_session_ended : lifecycle_abandon, code);
    uvzk__directories_session_ended(session);
    uvzk__watches_lost(session);
    uvzk__session_objects_session_ended(session, code);
    uvzk__timer_clear(session, &session->lifecycle->lost_timer);
}

static void guard_lost(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__own_watch_lost(contender);
}

/* The session continues, but its watches are lost. What they would have reported is read
 * again when they are set again: waiting contenders are settled when requests may be
 * sent. */
static void watches_lost(struct uvzk__session *session)
{
    uvzk__for_each_contender(session, guard_lost, 0);
    uvzk__directories_watches_lost(session);
    uvzk__watches_lost(session);
}

static void lifecycle_connected(struct uvzk__session *session,
                                const struct uvzk__session_event *event,
                                const struct uvzk__connection_news *news)
{
    /* The port has another session, and the end of the old one was never reported. */
    if (news->replaced) {
        end_session(session, UVZK_EEXPIRED, false);
    } else if (event->watches_lost) {
        watches_lost(session);
    }
    session->lifecycle->open_attempts = 0;
    /* Requests with a stamp above this one are sent on the new connection. */
    session->connected_stamp = session->submissions.stamp;
    uvzk__size_limit_connected(session, news->fresh);
    learn_address(session, event->local_address);
    (void)snprintf(session->lifecycle->server, sizeof(session->lifecycle->server), "%s",
                   event->server);
    uvzk__prover_connected(session, event->timeout_ms, news->fresh,
                           session->lifecycle->opened_ms);
    uvzk__timer_clear(session, &session->lifecycle->lost_timer);
    /* Sends the barrier, the first request on each connection. Nothing else is sent
     * before its reply. */
    uvzk__barrier_close(session);
    uvzk__prover_schedule(session);
}

/* Acquires with UVZK_TRY_ONCE do not wait for a new connection. Ending one may remove
 * others from the list, so the loop always takes the first one. */
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

static void lifecycle_suspended(struct uvzk__session *session)
{
    uint64_t lost_at = uvzk__connection_lost_at(&session->connection);

    uvzk__prover_suspended(session);
    if (lost_at != UINT64_MAX) {
        uvzk__timer_set(session, &session->lifecycle->lost_timer, lost_at);
    }
    end_tries(session);
    uvzk__barriers_suspended(session);
    /* Other sessions of the client no longer wait for this one. */
    uvzk__create_order_skip_session(session);
}

/* A connection does not know its client, so an illegal move of it is reported here. */
static struct uvzk__connection_news lifecycle_check(struct uvzk__session *session,
                                                    struct uvzk__connection_news news)
{
    if (news.illegal) {
        uvzk__illegal_move(session, &uvzk__connection_machine, news.illegal_from,
                           uvzk__connection_state(&session->connection));
    }
    return news;
}

static void lost_due(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, lost_timer)->session;

    /* The timer runs twice: at the moment of LOST, and when the session is given up. */
    uint64_t abandon_at = uvzk__connection_abandon_at(&session->connection);
    uint64_t now = uvzk__now(session);

    if (now >= abandon_at) {
        uvzk__log(session, UVZK_LOG_WARN, "session",
                  "no server can be reached: the client gives up the session");
        session->lifecycle->abandoned = true;
        session->port->abandon(session->port);
        return;
    }
    uvzk__timer_set(session, &session->lifecycle->lost_timer, abandon_at);
    /* [P2] Holds whose proof has expired end before LOST is reported. */
    uvzk__prover_check(session);
    uvzk__session_objects_lapsed(session);
    uvzk__combined_state_announce(
        session,
        lifecycle_check(session, uvzk__connection_lapse(&session->connection, now)));
}

static void reopen_due(struct uvzk__timer *timer)
{
    uvzk__open(UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, reopen_timer)->session);
}

/* A hold by a persistent znode does not depend on the session. */
static void end_pending(struct uvzk__contender *contender, int code)
{
    if (!uvzk__contender_holds(contender)) {
        uvzk__contender_end(contender, code);
    }
}

/* The port could not be opened, for example because no host name resolves. Attempts go on
 * forever. But when the retry policy is used up, pending acquires and sets end, and the
 * count starts again. */
static void open_failed(struct uvzk__session *session, int status)
{
    uint64_t now = uvzk__now(session), random = 0;
    uint64_t sleep_ms = session->retry.base_ms;

    if (session->lifecycle->open_attempts == 0) {
        session->lifecycle->open_since_ms = now;
    }
    (void)uvzk__random(session, &random, sizeof(random));
    uvzk__log(session, UVZK_LOG_ERROR, "session", "cannot connect: %s",
              uvzk_strerror(status));
    if (!uvzk__retry_allow(&session->retry, session->lifecycle->open_attempts++,
                           now - session->lifecycle->open_since_ms, random, &sleep_ms)) {
        session->lifecycle->open_attempts = 0;
        sleep_ms = session->retry.base_ms;
        uvzk__for_each_contender(session, end_pending, UVZK_ECONNLOSS);
        uvzk__session_objects_unreachable(session, UVZK_ENOTSENT);
    }
    /* At least 1 ms, so that the loop is not kept busy by attempts. */
    uvzk__timer_set(session, &session->lifecycle->reopen_timer,
                    now + (sleep_ms == 0 ? 1 : sleep_ms));
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    struct uvzk__session *session = session_of(user);
    struct uvzk__connection_news news = lifecycle_check(
        session, uvzk__connection_step(&session->connection, event, uvzk__now(session)));

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        lifecycle_connected(session, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        lifecycle_suspended(session);
        break;
    case UVZK__SESSION_EXPIRED:
        end_session(session, UVZK_EEXPIRED, !session->lifecycle->abandoned);
        /* A closing session that expires is not opened again. */
        if (!uvzk__session_is_closing(session) && !uvzk__is_broken(session)) {
            uvzk__open(session);
        }
        break;
    case UVZK__SESSION_AUTH_FAILED:
        session->auth_failed = true;
        end_session(session, UVZK_EAUTH, false);
        uvzk__for_each_contender(session, uvzk__contender_end, UVZK_EAUTH);
        uvzk__session_objects_unreachable(session, UVZK_EAUTH);
        break;
    case UVZK__SESSION_OPEN_FAILED:
        if (!uvzk__session_is_closing(session)) {
            open_failed(session, event->status);
        }
        break;
    }
    note_event(session, event);
    uvzk__wake(session);
    uvzk__combined_state_announce(session, news);
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

static void on_broken(struct uvzk__port_user *user, const char *what)
{
    uvzk__broken(session_of(user), "%s", what);
}

/* ------------------------------------------------------------------ a broken client */

/* Of which an invariant is broken (engine/invariant.h).
 *
 * The promise (P2) requires the order: no session is ended at the servers before the user
 * has been told of every hold that depended on it. The claims are found through the
 * locks, which no state machine moves, not through the contenders. The contenders end
 * last. No znode is deleted: the servers delete the ephemeral ones with the session. */

static void for_each_session(struct uvzk__session *session,
                             void (*act)(struct uvzk__session *))
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        act(session->client->sessions[i]);
    }
}

static void for_each_claim(struct uvzk__session *session,
                           void (*act)(struct uvzk__claim *, int))
{
    struct uvzk__link *locks = &session->claims->locks;

    for (struct uvzk__link *link = locks->next; link != locks; link = link->next) {
        uvzk__lock_each_claim(UVZK__CONTAINER_OF(link, struct uvzk__lock, in_session),
                              act, UVZK_EINTERNAL);
    }
}

static void end_holds(struct uvzk__session *session)
{
    for_each_claim(session, uvzk__claim_end_holds);
}

static void end_releases(struct uvzk__contender *contender, int code)
{
    if (contender->claim != NULL) {
        uvzk__claim_fail_releases(contender->claim, code);
    }
}

static void end_rest(struct uvzk__session *session)
{
    for_each_claim(session, uvzk__claim_end_broken);
    uvzk__for_each_contender(session, end_releases, UVZK_EINTERNAL);
    uvzk__session_objects_unreachable(session, UVZK_EINTERNAL);
    uvzk__elections_closing(session, UVZK_EINTERNAL);
    uvzk__for_each_contender(session, uvzk__contender_end, UVZK_EINTERNAL);
}

static void end_at_servers(struct uvzk__session *session)
{
    if (!uvzk__session_port_is_closing(session)) {
        session->port->end_session(session->port);
    }
}

/* All other notifications, such as log lines and refusals, come after the losses. */
static void tell_of_losses(struct uvzk__session *session)
{
    uvzk__notify_those(session, uvzk__acquisition_is_loss);
}

/* Ends everything in all sessions of the client, with UVZK_EINTERNAL: first every hold is
 * lost and reported, then everything else that is pending ends. Ends the sessions. The
 * client's memory and its ports remain until uvzk_client_close. */
static void end_broken(struct uvzk__session *session)
{
    uvzk__set_broken_told(session);
    for_each_session(session, end_holds);
    for_each_session(session, tell_of_losses);
    for_each_session(session, end_rest);
    for_each_session(session, end_at_servers);
}

/* ------------------------------------------------------------------- closing */

/* The turn that runs this timer calls uvzk__close_when_done at its end. */
static void close_timeout(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__lifecycle, close_timer)->session;

    session->lifecycle->close_wait_ms = 0;
}

static void refuse_calls(struct uvzk__session *session)
{
    if (!uvzk__session_is_closing(session)) {
        uvzk__move(session, &uvzk__session_machine, session, UVZK__SESSION_CLOSING);
    }
    (void)lifecycle_check(session, uvzk__connection_close(&session->connection));
}

void uvzk__close_broken(struct uvzk__session *session)
{
    struct uvzk__session *first = uvzk__first_session(session);

    for (uint32_t i = 0; i < session->client->count; i++) {
        refuse_calls(session->client->sessions[i]);
    }
    end_broken(session);
    uvzk__no_connection_broken(first);
    uvzk__combined_state_report(first, UVZK_STATE_CLOSED);
}

void uvzk__close(struct uvzk__session *session)
{
    session->lifecycle->close_called = true;
    refuse_calls(session);
    session->port->close_soon(session->port);
    uvzk__timer_clear(session, &session->lifecycle->reopen_timer);
    /* A broken client ends everything in its own order (end_broken). */
    if (!uvzk__is_broken(session)) {
        uvzk__for_each_contender(session, uvzk__contender_end, UVZK_ECLOSED);
        uvzk__session_objects_unreachable(session, UVZK_ECLOSED);
        uvzk__elections_closing(session, UVZK_ECLOSED);
    }
    session->lifecycle->close_timer.due = close_timeout;
    uvzk__timer_set(session, &session->lifecycle->close_timer,
                    uvzk__now(session) + session->lifecycle->close_wait_ms);
    uvzk__wake(session);
}

void uvzk__close_when_done(struct uvzk__session *session)
{
    if (!session->lifecycle->close_called || uvzk__session_port_is_closing(session) ||
        uvzk__session_waits_for_others(session)) {
        return;
    }
    /* The barrier has no reply yet, so requests may be sent soon. */
    bool asking = uvzk__is_connected(session) &&
                  session->barrier.state != UVZK__BARRIER_OPEN &&
                  !uvzk__is_broken(session);
    bool may_wait =
        (asking || uvzk__may_send(session)) && session->lifecycle->close_wait_ms > 0;

    /* Waits for callbacks in any case, and for deletes as long as they can be sent and
     * close_wait_ms has not passed. */
    if (!uvzk__list_empty(&session->notifications) || uvzk__is_broken_untold(session) ||
        (uvzk__directories_have_pending(session->directories) && may_wait)) {
        return;
    }
    /* uvzk__now() returns this moment from now on, because a closed port must not be
     * called. */
    session->port_closing_ms = uvzk__now(session);
    uvzk__size_limit_release(session);
    uvzk__move(session, &uvzk__session_machine, session, UVZK__SESSION_PORT_CLOSING);
    session->port->close(session->port);
}

/* Runs the callbacks that are due in this session, until none is left. They may queue
 * callbacks in another session, so the caller repeats this for all sessions. Returns
 * whether there were any. */
static bool tell_rest(struct uvzk__session *session)
{
    bool any = !uvzk__list_empty(&session->notifications);

    while (!uvzk__list_empty(&session->notifications)) {
        uvzk__notify_all(session);
    }
    return any;
}

/* All ports are closed: runs the last callbacks and frees everything. All locks are freed
 * before all values, because a lock may listen to a value of another session (a semaphore
 * with a shared count), and before the elections, which they belong to. */
static void lifecycle_end(struct uvzk__client *client)
{
    bool told = true;

    while (told) {
        told = false;
        for (uint32_t i = 0; i < client->count; i++) {
            told |= tell_rest(client->sessions[i]);
        }
    }
    for (uint32_t i = 0; i < client->count; i++) {
        uvzk__locks_free(client->sessions[i]);
    }
    for (uint32_t i = 0; i < client->count; i++) {
        uvzk__elections_free(client->sessions[i]);
        uvzk__claims_free(client->sessions[i]->claims);
        uvzk__objects_free(client->sessions[i]); /* some of them listen to children */
        uvzk__watched_children_free(client->sessions[i]);
        uvzk__shared_values_free(client->sessions[i]);
        uvzk__barriers_free(client->sessions[i]);
        uvzk__futures_session_gone(client->sessions[i]);
    }
    uvzk__client_free(client);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct uvzk__session *session = session_of(user);
    uvzk_client_t *handle = session->handle;

    /* No later turn could do it. */
    if (uvzk__is_broken_untold(session)) {
        session->turn_hooks->broken(session);
    }
    /* From now on nothing may be sent. */
    uvzk__connection_silent(&session->connection);
    uvzk__for_each_contender(session, lifecycle_abandon, UVZK_ECLOSED);
    uvzk__directories_free(session);
    session->port = NULL;
    uvzk__move(session, &uvzk__session_machine, session, UVZK__SESSION_CLOSED);
    (void)tell_rest(session);
    /* Other ports are not closed yet. The first session may have waited for this one. */
    if (!uvzk__session_count_closed(session)) {
        uvzk__wake(uvzk__first_session(session));
        return;
    }
    /* Read before lifecycle_end() frees all sessions: if nobody listens, handle->end is a
     * part of one. */
    uvzk_client_close_cb close_cb = uvzk__first_session(session)->lifecycle->close_cb;
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);
    lifecycle_end(session->client);
    handle->impl = NULL;

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

void uvzk__lifecycle_init(struct uvzk__session *session)
{
    session->lifecycle->session = session;
    session->lifecycle->user.session = on_session;
    session->lifecycle->user.no_connection = on_no_connection;
    session->lifecycle->user.turn = on_turn;
    session->lifecycle->user.log = on_log;
    session->lifecycle->user.closed = on_closed;
    session->lifecycle->user.broken = on_broken;
    session->lifecycle->lost_timer.due = lost_due;
    session->lifecycle->reopen_timer.due = reopen_due;
    session->port->user = &session->lifecycle->user;
    session->turn_hooks = &uvzk__round_hooks;
}
