#include "client/lifecycle.h"

#include <string.h>

#include "base/retry.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "client/round.h"
#include "client/states.h"
#include "client/unreached.h"
#include "directory/contender.h"
#include "directory/directory.h"
#include "directory/guard.h"
#include "directory/ranks.h"
#include "engine/barrier.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "future/future.h"
#include "proof/prover.h"
#include "value/replica.h"
#include "value/shared_value.h"

static struct uvzk__client *client_of(struct uvzk__port_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__life, user)->client;
}

static void announce(struct uvzk__client *client, struct uvzk__session_news news)
{
    for (int i = 0; i < news.count; i++) {
        uvzk_client_state_t state;
        if (!uvzk__states_tell(client, news.states[i], &state)) {
            continue;
        }
        if (client->observer != NULL) {
            uvzk__observe_state(client, state);
        }
        if (client->life->state_cb != NULL) {
            client->life->state_cb(client->shell, state);
        }
    }
}

/* ------------------------------------------------------------ session events */

void uvzk__open(struct uvzk__client *client)
{
    client->life->opened_ms = uvzk__now(client);
    client->life->given_up = false;
    uvzk__unreached_begin(client);
    client->port->open(client->port);
}

/* A client that has never been connected tells its state again, each time that the log has
 * a line: nothing else would ever be told of it. */
static void unreached(struct uvzk__client *client, const struct uvzk__trouble *trouble)
{
    if (client->closing || uvzk__session_is_connected(&client->session) ||
        !uvzk__unreached_for(client, trouble)) {
        return;
    }
    uvzk__unreached_say(client);
    if (uvzk__session_state(&client->session) == UVZK_STATE_LATENT) {
        announce(client,
                 (struct uvzk__session_news){.states = {UVZK_STATE_LATENT}, .count = 1});
    }
}

/* The reasons that the session's events have. */
static void note_event(struct uvzk__client *client,
                       const struct uvzk__session_event *event)
{
    struct uvzk__trouble trouble = {.address = ""};

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        uvzk__unreached_end(client);
        return;
    case UVZK__SESSION_SUSPENDED:
        trouble.code = UVZK_ECONNLOSS;
        trouble.text = "the connection was lost";
        break;
    case UVZK__SESSION_EXPIRED:
        trouble.code = UVZK_EEXPIRED;
        trouble.text = client->life->given_up
                           ? "the session was given up, no server was in reach"
                           : uvzk_strerror(UVZK_EEXPIRED);
        break;
    default:
        trouble.code = event->status;
        trouble.text = uvzk_strerror(event->status);
        trouble.address = uvzk__unreached_at(client, event->status);
        break;
    }
    uvzk__unreached_begin(client);
    unreached(client, &trouble);
}

/* The default data of lock nodes is known once the port knows our address. */
static void learn_address(struct uvzk__client *client, const char *address)
{
    if (!client->life->default_data_is_address || client->default_data != NULL ||
        address == NULL) {
        return;
    }
    client->default_data = uvzk__strdup(address);
    client->default_data_length = client->default_data == NULL ? 0 : strlen(address);
}

/* Whether the node of a release is gone is not known, but the session's end is
 * near. */
static void abandon(struct uvzk__contender *contender, int code)
{
    if (contender->claim != NULL) {
        uvzk__claim_abandon(contender->claim, code);
    }
    uvzk__contender_session_ended(contender, code);
}

/* gone: the server says so; else it may live on there. */
static void end_session(struct uvzk__client *client, int code, bool gone)
{
    uvzk__prover_ended(client);
    uvzk__for_each_contender(client, gone ? uvzk__contender_session_ended : abandon,
                             code);
    uvzk__directories_session_ended(client);
    uvzk__replicas_watches_lost(client);
    uvzk__timed_clear(client, &client->life->lapse);
}

static void guard_lost(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__guard_lost(contender);
}

/* The session goes on without its watches. What they would have told is asked for
 * when they are armed again: all that waits is settled when sending may begin. */
static void watches_lost(struct uvzk__client *client)
{
    uvzk__for_each_contender(client, guard_lost, 0);
    uvzk__directories_watches_lost(client);
    uvzk__replicas_watches_lost(client);
}

static void connected(struct uvzk__client *client,
                      const struct uvzk__session_event *event,
                      const struct uvzk__session_news *news)
{
    if (news->replaced) {
        end_session(client, UVZK_EEXPIRED, false);
    } else if (event->watches_lost) {
        watches_lost(client);
    }
    client->life->open_attempts = 0;
    client->connected_stamp = uvzk__stamp(&client->submissions);
    learn_address(client, event->local_address);
    uvzk__prover_connected(client, event->timeout_ms, news->fresh,
                           client->life->opened_ms);
    uvzk__timed_clear(client, &client->life->lapse);
    uvzk__barrier_close(client);
    uvzk__prover_schedule(client);
}

static void end_tries(struct uvzk__client *client)
{
    struct uvzk__link tries, *link;

    uvzk__list_move(&client->claims->tries, &tries);
    while (!uvzk__list_empty(&tries)) {
        link = tries.next;
        struct uvzk__acquisition *acquisition = uvzk__acquisition_at_try(link);
        uvzk__acquisition_end_alone(acquisition, UVZK_ECONNLOSS);
    }
}

static void suspended(struct uvzk__client *client)
{
    uint64_t lost_at = uvzk__session_lost_at(&client->session);

    uvzk__prover_suspended(client);
    if (lost_at != UINT64_MAX) {
        uvzk__timed_set(client, &client->life->lapse, lost_at);
    }
    end_tries(client);
    uvzk__ranks_go_on(client);
}

static void lapse_due(struct uvzk__timed *timed)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(timed, struct uvzk__life, lapse)->client;

    uint64_t abandon_at = uvzk__session_abandon_at(&client->session);
    uint64_t now = uvzk__now(client);

    if (now >= abandon_at) {
        uvzk__log(client, UVZK_LOG_WARN, "session",
                  "no server in reach: the session is given up");
        client->life->given_up = true;
        client->port->abandon(client->port);
        return;
    }
    uvzk__timed_set(client, &client->life->lapse, abandon_at);
    uvzk__prover_check(client);
    announce(client, uvzk__session_lapse(&client->session, now));
}

static void reopen_due(struct uvzk__timed *timed)
{
    uvzk__open(UVZK__CONTAINER_OF(timed, struct uvzk__life, reopen)->client);
}

/* Host names that do not resolve are tried again for ever; but when the retry
 * policy is used up, those who wait are told. */
static void open_failed(struct uvzk__client *client, int status)
{
    uint64_t now = uvzk__now(client), random = 0;
    uint64_t sleep_ms = client->retry.base_ms;

    if (client->life->open_attempts == 0) {
        client->life->open_since_ms = now;
    }
    (void)client->port->random(client->port, &random, sizeof(random));
    uvzk__log(client, UVZK_LOG_ERROR, "session", "cannot connect: %s",
              uvzk_strerror(status));
    if (!uvzk__retry_allow(&client->retry, client->life->open_attempts++,
                           now - client->life->open_since_ms, random, &sleep_ms)) {
        client->life->open_attempts = 0;
        sleep_ms = client->retry.base_ms;
        uvzk__for_each_contender(client, uvzk__contender_end, UVZK_ECONNLOSS);
        uvzk__replicas_out_of_reach(client, UVZK_ENOTSENT);
    }
    uvzk__timed_set(client, &client->life->reopen, now + (sleep_ms == 0 ? 1 : sleep_ms));
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    struct uvzk__client *client = client_of(user);
    struct uvzk__session_news news =
        uvzk__session_step(&client->session, event, uvzk__now(client));

    switch (event->kind) {
    case UVZK__SESSION_CONNECTED:
        connected(client, event, &news);
        break;
    case UVZK__SESSION_SUSPENDED:
        suspended(client);
        break;
    case UVZK__SESSION_EXPIRED:
        end_session(client, UVZK_EEXPIRED, !client->life->given_up);
        if (!client->closing) {
            uvzk__open(client);
        }
        break;
    case UVZK__SESSION_AUTH_FAILED:
        client->auth_failed = true;
        end_session(client, UVZK_EAUTH, false);
        uvzk__for_each_contender(client, uvzk__contender_end, UVZK_EAUTH);
        uvzk__replicas_out_of_reach(client, UVZK_EAUTH);
        break;
    case UVZK__SESSION_OPEN_FAILED:
        if (!client->closing) {
            open_failed(client, event->status);
        }
        break;
    }
    note_event(client, event);
    uvzk__wake(client);
    announce(client, news);
}

static void on_unreached(struct uvzk__port_user *user,
                         const struct uvzk__trouble *trouble)
{
    unreached(client_of(user), trouble);
}

static void on_turn(struct uvzk__port_user *user)
{
    uvzk__turn(client_of(user));
}

static void on_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    uvzk__log(client_of(user), level, module, "%s", line);
}

/* ------------------------------------------------------------------- closing */

static void patience_over(struct uvzk__timed *timed)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(timed, struct uvzk__life, patience)->client;

    client->life->close_wait_ms = 0;
}

void uvzk__close(struct uvzk__client *client)
{
    client->closing = true;
    client->port->ending(client->port);
    (void)uvzk__session_close(&client->session);
    uvzk__timed_clear(client, &client->life->reopen);
    uvzk__for_each_contender(client, uvzk__contender_end, UVZK_ECLOSED);
    uvzk__replicas_out_of_reach(client, UVZK_ECLOSED);
    client->life->patience.due = patience_over;
    uvzk__timed_set(client, &client->life->patience,
                    uvzk__now(client) + client->life->close_wait_ms);
    uvzk__wake(client);
}

void uvzk__close_when_done(struct uvzk__client *client)
{
    if (!client->closing || client->port_closing ||
        uvzk__session_waits_for_others(client)) {
        return;
    }
    bool asking = uvzk__session_is_connected(&client->session) &&
                  !uvzk__barrier_is_open(&client->barrier);
    bool may_wait = (asking || uvzk__may_send(client)) && client->life->close_wait_ms > 0;

    if (!uvzk__list_empty(&client->tellings) ||
        (uvzk__directories_await(client->directories) && may_wait)) {
        return;
    }
    client->port_closing_ms = uvzk__now(client);
    client->port_closing = true;
    client->port->close(client->port);
}

static void free_locks(struct uvzk__client *client)
{
    while (!uvzk__list_empty(&client->claims->locks)) {
        uvzk__lock_free(
            UVZK__CONTAINER_OF(client->claims->locks.next, struct uvzk__lock, everyone));
    }
}

/* What a session's callbacks do may have to be told in another one. */
static bool tell_rest(struct uvzk__client *client)
{
    bool any = !uvzk__list_empty(&client->tellings);

    while (!uvzk__list_empty(&client->tellings)) {
        uvzk__tell_all(client);
    }
    return any;
}

/* All ports are closed. A lock may know a value of another session, and goes before it. */
static void end(struct uvzk__sessions *sessions)
{
    bool told = true;

    while (told) {
        told = false;
        for (uint32_t i = 0; i < sessions->count; i++) {
            told |= tell_rest(sessions->each[i]);
        }
    }
    for (uint32_t i = 0; i < sessions->count; i++) {
        free_locks(sessions->each[i]);
    }
    for (uint32_t i = 0; i < sessions->count; i++) {
        uvzk__claims_free(sessions->each[i]->claims);
        uvzk__shared_values_free(sessions->each[i]);
        uvzk__futures_client_gone(sessions->each[i]);
    }
    uvzk__sessions_free(sessions);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct uvzk__client *client = client_of(user);
    uvzk_client_t *shell = client->shell;

    uvzk__session_silent(&client->session);
    uvzk__for_each_contender(client, abandon, UVZK_ECLOSED);
    uvzk__directories_free(client);
    client->port = NULL;
    (void)tell_rest(client);
    if (!uvzk__session_over(client)) {
        uvzk__wake(uvzk__first_session(client));
        return;
    }
    uvzk_client_close_cb close_cb = uvzk__first_session(client)->life->close_cb;
    end(client->sessions);
    shell->impl = NULL;
    if (close_cb != NULL) {
        close_cb(shell);
    }
}

void uvzk__lifecycle_init(struct uvzk__client *client)
{
    client->life->client = client;
    client->life->user.session = on_session;
    client->life->user.unreached = on_unreached;
    client->life->user.turn = on_turn;
    client->life->user.log = on_log;
    client->life->user.closed = on_closed;
    client->life->lapse.due = lapse_due;
    client->life->reopen.due = reopen_due;
    client->port->user = &client->life->user;
    client->above = &uvzk__round;
}
