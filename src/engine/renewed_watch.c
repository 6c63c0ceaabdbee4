#include "engine/renewed_watch.h"

#include "engine/invariant.h"
#include "engine/watch_renewal.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__RENEWED_WATCH_, UNWATCHED, ARMING),
    UVZK__STATE(UVZK__RENEWED_WATCH_, ARMING, ARMED, UNWATCHED),
    UVZK__STATE(UVZK__RENEWED_WATCH_, ARMED, UNWATCHED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__renewed_watch *watch = object;

    return (watch->state == UVZK__RENEWED_WATCH_UNWATCHED) == (watch->path == NULL);
}

const struct uvzk__machine uvzk__renewed_watch_machine = UVZK__MACHINE(
    "renewed watch", table, struct uvzk__renewed_watch, state, invariant_holds);

/* The watch has fired or is gone on the server: updates the state and the budget only. */
static void gone(struct uvzk__renewed_watch *watch)
{
    if (watch->state != UVZK__RENEWED_WATCH_UNWATCHED) {
        const char *path = watch->path;

        uvzk__timer_clear(watch->session, &watch->renewal);
        watch->path = NULL;
        uvzk__move(watch->session, &uvzk__renewed_watch_machine, watch,
                   UVZK__RENEWED_WATCH_UNWATCHED);
        uvzk__watch_budget_give(watch->session, path);
    }
}

bool uvzk__renewed_watch_is_set(const struct uvzk__renewed_watch *watch)
{
    return watch->state != UVZK__RENEWED_WATCH_UNWATCHED;
}

void uvzk__renewed_watch_end(struct uvzk__renewed_watch *watch)
{
    if (watch->state != UVZK__RENEWED_WATCH_UNWATCHED) {
        uvzk__unwatch(watch->session, &watch->watch);
    }
    gone(watch);
}

bool uvzk__renewed_watch_arm(struct uvzk__renewed_watch *watch, struct uvzk__rpc *rpc,
                             const char *path)
{
    /* A mirror on the path gives up its own watch (port.h, 5). */
    uvzk__yield_watch(watch->session, path);
    if (!uvzk__watch_budget_take(watch->session, path)) {
        return false;
    }
    watch->path = path;
    uvzk__move(watch->session, &uvzk__renewed_watch_machine, watch,
               UVZK__RENEWED_WATCH_ARMING);
    rpc->watch = &watch->watch;
    return true;
}

void uvzk__renewed_watch_answered(struct uvzk__renewed_watch *watch, bool armed)
{
    if (watch->state == UVZK__RENEWED_WATCH_ARMING && armed) {
        uvzk__move(watch->session, &uvzk__renewed_watch_machine, watch,
                   UVZK__RENEWED_WATCH_ARMED);
        uvzk__watch_renewal_schedule(watch->session, &watch->renewal);
    } else if (watch->state == UVZK__RENEWED_WATCH_ARMING) {
        gone(watch);
    }
}

/* Any event makes a read due, so its kind does not matter. */
static void fired(struct uvzk__watch *port_watch, enum uvzk__watch_event event)
{
    struct uvzk__renewed_watch *watch =
        UVZK__CONTAINER_OF(port_watch, struct uvzk__renewed_watch, watch);

    (void)event;
    gone(watch);
    watch->unwatched_cb(watch);
}

static void renew(struct uvzk__timer *timer)
{
    struct uvzk__renewed_watch *watch =
        UVZK__CONTAINER_OF(timer, struct uvzk__renewed_watch, renewal);

    uvzk__renewed_watch_end(watch);
    watch->unwatched_cb(watch);
}

void uvzk__renewed_watch_init(struct uvzk__renewed_watch *watch,
                              struct uvzk__session *session,
                              void (*unwatched_cb)(struct uvzk__renewed_watch *))
{
    watch->session = session;
    watch->watch.watch_cb = fired;
    watch->renewal.due = renew;
    watch->unwatched_cb = unwatched_cb;
}
