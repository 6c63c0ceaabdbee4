#include "directory/guard.h"

#include <assert.h>

#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/flight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"

#define NONE UVZK__GUARD_NONE
#define ARMING UVZK__GUARD_ARMING
#define ARMED UVZK__GUARD_ARMED
#define RESTING UVZK__GUARD_RESTING

static const struct uvzk__state table[] = {
    [NONE] = {"NONE", UVZK__BIT(ARMING) | UVZK__BIT(RESTING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED) | UVZK__BIT(NONE)},
    [ARMED] = {"ARMED", UVZK__BIT(NONE)},
    [RESTING] = {"RESTING", UVZK__BIT(NONE)},
};

const struct uvzk__machine uvzk__guard_machine = UVZK__MACHINE("guard", table);

struct uvzk__sentry {
    struct uvzk__watch watch;
    struct uvzk__contender *contender;
    uint64_t asked_ms; /* when it was last armed */
    uint32_t requests; /* under way, which are to arm the watch */
    uint8_t state;     /* enum uvzk__guarding */
};

enum uvzk__guarding uvzk__guarding(const struct uvzk__contender *contender)
{
    return contender->guard.sentry == NULL
               ? NONE
               : (enum uvzk__guarding)contender->guard.sentry->state;
}

static bool sound(const struct uvzk__contender *contender)
{
    switch (uvzk__guarding(contender)) {
    case ARMING:
        return contender->pins > 0;
    case ARMED:
        return !contender->ended;
    case RESTING:
        return contender->held;
    default:
        return true;
    }
}

/* The only writer of its state. */
static void move(struct uvzk__contender *contender, enum uvzk__guarding guarding)
{
    contender->guard.sentry->state = (uint8_t)uvzk__machine_move(
        &uvzk__guard_machine, contender->guard.sentry->state, guarding);
    assert(sound(contender));
}

void uvzk__guard_free(struct uvzk__contender *contender)
{
    uvzk__free(contender->guard.sentry);
    contender->guard.sentry = NULL;
}

static void free_if_over(struct uvzk__contender *contender)
{
    if (contender->guard.sentry != NULL && contender->guard.sentry->state == NONE &&
        contender->guard.sentry->requests == 0) {
        uvzk__guard_free(contender);
    }
}

static void lay_down(struct uvzk__contender *contender)
{
    enum uvzk__guarding guarding = uvzk__guarding(contender);

    uvzk__contender_look_no_more(contender);
    if (guarding == ARMING || guarding == ARMED) {
        uvzk__watch_budget_give(uvzk__client_of(contender), contender->path);
    }
    if (guarding != NONE) {
        move(contender, NONE);
    }
}

static void disarm(struct uvzk__contender *contender)
{
    lay_down(contender);
    free_if_over(contender);
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(watch, struct uvzk__sentry, watch)->contender;

    disarm(contender);
    if (event == UVZK__WATCH_DELETED) {
        uvzk__contender_not_shown(contender); /* nothing if the delete is ours */
    } else {
        uvzk__queue_touch(contender->queue);
        uvzk__contender_pump(contender); /* what is revocable is read again */
    }
}

/* A plea may be lost. Nobody's turn is: who has waited for long is proved. */
static void stands(struct uvzk__contender *contender, const struct uvzk__reply *reply)
{
    move(contender, ARMED);
    if (uvzk__node_state(&contender->node) == UVZK__NODE_RESTING) {
        uvzk__guard_missed(contender);
        return;
    }
    if (contender->revocable) {
        (void)uvzk__contender_look_later(contender);
    }
    uvzk__client_of(contender)->directories->contender_user->read(contender, reply);
}

/* Who holds does not lose that by being deaf to pleas. */
static void may_not_be_read(struct uvzk__contender *contender)
{
    if (contender->held) {
        if (uvzk__contender_look_later(contender)) {
            move(contender, RESTING);
        }
    } else {
        uvzk__contender_end(contender, UVZK_ENOAUTH);
    }
}

static void armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__flight_asker(rpc);
    struct uvzk__client *client = uvzk__client_of(contender);
    int status = reply->status;

    uvzk__flight_landed(client, rpc, status, false);
    contender->guard.sentry->requests--;
    if (status == 0 && contender->ended) {
        uvzk__unwatch(client, &contender->guard.sentry->watch);
    }
    if (!contender->ended) {
        if (status == 0) {
            stands(contender, reply);
        } else {
            lay_down(contender); /* its memory may be wanted for a rest */
        }
        if (status == UVZK_ENONODE) {
            uvzk__contender_not_shown(contender);
        } else if (status == UVZK_ENOAUTH) {
            may_not_be_read(contender);
        }
        free_if_over(contender);
    }
    if (!contender->ended) {
        uvzk__queue_touch(contender->queue);
        uvzk__contender_pump(contender);
    }
    uvzk__contender_unpin(contender);
}

bool uvzk__guard_is_arming(const struct uvzk__contender *contender)
{
    return uvzk__guarding(contender) == ARMING;
}

bool uvzk__guard_is_armed(const struct uvzk__contender *contender)
{
    return uvzk__guarding(contender) == ARMED;
}

bool uvzk__may_guard(const struct uvzk__contender *contender)
{
    return contender->revocable ||
           uvzk__watch_budget_is_ample(uvzk__client_of(contender));
}

bool uvzk__guard_vouches(const struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);

    /* What happened during a disconnection is told only by and by. */
    return contender->look_stamp > client->connected_stamp &&
           uvzk__now(client) - contender->guard.sentry->asked_ms <
               uvzk__session_timeout(&client->session);
}

/* Out of memory all rest, and ask anew. */
static bool have_memory(struct uvzk__contender *contender)
{
    if (contender->guard.sentry == NULL) {
        contender->guard.sentry = uvzk__calloc(1, sizeof(*contender->guard.sentry));
    }
    if (contender->guard.sentry == NULL) {
        uvzk__hold_back(uvzk__client_of(contender));
        return false;
    }
    contender->guard.sentry->contender = contender;
    contender->guard.sentry->watch.watch_cb = fired;
    return true;
}

void uvzk__guard(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    struct uvzk__rpc *rpc;

    if (uvzk__guarding(contender) != NONE || !uvzk__may_send(client) ||
        uvzk__node_state(&contender->node) != UVZK__NODE_STANDING ||
        !uvzk__may_guard(contender)) {
        return;
    }
    if (!uvzk__watch_budget_take(client, contender->path)) {
        uvzk__contender_end(contender, UVZK_ELIMIT);
        return;
    }
    rpc = have_memory(contender)
              ? uvzk__flight_new(client, contender, UVZK__RPC_GET, contender->path, armed)
              : NULL;
    if (rpc == NULL) {
        uvzk__watch_budget_give(client, contender->path);
        free_if_over(contender);
        return;
    }
    uvzk__contender_pin(contender);
    move(contender, ARMING);
    contender->guard.sentry->requests++;
    rpc->watch = &contender->guard.sentry->watch;
    uvzk__submit(client, rpc);
    contender->guard.sentry->asked_ms = rpc->sent_ms;
    uvzk__contender_looked_at(contender, uvzk__stamp(&client->submissions));
}

void uvzk__guard_end(struct uvzk__contender *contender)
{
    if (uvzk__guarding(contender) == ARMED) {
        uvzk__unwatch(uvzk__client_of(contender), &contender->guard.sentry->watch);
    }
    disarm(contender);
}

void uvzk__guard_missed(struct uvzk__contender *contender)
{
    if (uvzk__guarding(contender) != ARMING) {
        uvzk__guard_end(contender);
    }
}

void uvzk__guard_lost(struct uvzk__contender *contender)
{
    disarm(contender);
}
