#include "engine/watch.h"

#include "engine/invariant.h"
#include "engine/watch_renewal.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__WATCHER_, UNWATCHED, ARMING),
    UVZK__STATE(UVZK__WATCHER_, ARMING, ARMED, UNWATCHED),
    UVZK__STATE(UVZK__WATCHER_, ARMED, UNWATCHED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__watcher *watcher = object;

    return (watcher->state == UVZK__WATCHER_UNWATCHED) == (watcher->path == NULL);
}

const struct uvzk__machine uvzk__watcher_machine =
    UVZK__MACHINE("watcher", table, struct uvzk__watcher, state, invariant_holds);

static void move(struct uvzk__watcher *watcher, enum uvzk__watcher_state state)
{
    uvzk__move(watcher->session, &uvzk__watcher_machine, watcher, state);
}

/* The watch has fired or is gone on the server: updates the state and the budget only. */
static void gone(struct uvzk__watcher *watcher)
{
    if (watcher->state != UVZK__WATCHER_UNWATCHED) {
        const char *path = watcher->path;

        uvzk__timer_clear(watcher->session, &watcher->renewal);
        watcher->path = NULL;
        move(watcher, UVZK__WATCHER_UNWATCHED);
        uvzk__watch_budget_give(watcher->session, path);
    }
}

bool uvzk__watcher_is_set(const struct uvzk__watcher *watcher)
{
    return watcher->state != UVZK__WATCHER_UNWATCHED;
}

void uvzk__watch_leave(struct uvzk__watcher *watcher)
{
    if (watcher->state != UVZK__WATCHER_UNWATCHED) {
        uvzk__unwatch(watcher->session, &watcher->watch);
    }
    gone(watcher);
}

bool uvzk__watch_join(struct uvzk__watcher *watcher, struct uvzk__rpc *rpc,
                      const char *path)
{
    /* A mirror on the path gives up its own watch (port.h, 5). */
    uvzk__yield_watch(watcher->session, path);
    if (!uvzk__watch_budget_take(watcher->session, path)) {
        return false;
    }
    watcher->path = path;
    move(watcher, UVZK__WATCHER_ARMING);
    rpc->watch = &watcher->watch;
    return true;
}

void uvzk__watch_answered(struct uvzk__watcher *watcher, bool armed)
{
    if (watcher->state == UVZK__WATCHER_ARMING && armed) {
        move(watcher, UVZK__WATCHER_ARMED);
        uvzk__watch_renewal_schedule(watcher->session, &watcher->renewal);
    } else if (watcher->state == UVZK__WATCHER_ARMING) {
        gone(watcher);
    }
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__watcher *watcher =
        UVZK__CONTAINER_OF(watch, struct uvzk__watcher, watch);

    gone(watcher);
    watcher->told_cb(watcher, (enum uvzk__watch_news)event);
}

static void renewal_due(struct uvzk__timer *timer)
{
    struct uvzk__watcher *watcher =
        UVZK__CONTAINER_OF(timer, struct uvzk__watcher, renewal);

    uvzk__watch_leave(watcher);
    watcher->told_cb(watcher, UVZK__NEWS_RENEWAL);
}

void uvzk__watcher_init(struct uvzk__watcher *watcher, struct uvzk__session *session,
                        void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news))
{
    watcher->session = session;
    watcher->watch.watch_cb = fired;
    watcher->renewal.due = renewal_due;
    watcher->told_cb = told_cb;
}
