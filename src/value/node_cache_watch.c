#include "value/node_cache_watch.h"

#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "engine/watch_renewal.h"
#include "value/node_cache.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__NODE_CACHE_, UNWATCHED, ARMING),
    UVZK__STATE(UVZK__NODE_CACHE_, ARMING, ARMED, UNWATCHED),
    UVZK__STATE(UVZK__NODE_CACHE_, ARMED, UNWATCHED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__node_cache *node_cache = object;

    return node_cache->watch.state == UVZK__NODE_CACHE_UNWATCHED || !node_cache->ended;
}

const struct uvzk__machine uvzk__node_cache_watch_machine = UVZK__MACHINE(
    "node cache's watch", table, struct uvzk__node_cache, watch.state, invariant_holds);

/* The watch has fired or is gone on the server: updates the state and the budget only. */
static void gone(struct uvzk__node_cache *node_cache)
{
    if (node_cache->watch.state != UVZK__NODE_CACHE_UNWATCHED) {
        uvzk__timer_clear(node_cache->session, &node_cache->watch.renewal);
        uvzk__move(node_cache->session, &uvzk__node_cache_watch_machine, node_cache,
                   UVZK__NODE_CACHE_UNWATCHED);
        uvzk__watch_budget_give(node_cache->session, node_cache->path);
    }
}

void uvzk__node_cache_watch_end(struct uvzk__node_cache *node_cache)
{
    if (node_cache->watch.state != UVZK__NODE_CACHE_UNWATCHED) {
        uvzk__unwatch(node_cache->session, &node_cache->watch.watch);
    }
    gone(node_cache);
}

bool uvzk__node_cache_watch_arm(struct uvzk__node_cache *node_cache)
{
    /* A mirror on the path gives up its own watch (port.h, 5). */
    uvzk__yield_watch(node_cache->session, node_cache->path);
    if (!uvzk__watch_budget_take(node_cache->session, node_cache->path)) {
        return false;
    }
    uvzk__move(node_cache->session, &uvzk__node_cache_watch_machine, node_cache,
               UVZK__NODE_CACHE_ARMING);
    node_cache->rpc.watch = &node_cache->watch.watch;
    return true;
}

void uvzk__node_cache_watch_answered(struct uvzk__node_cache *node_cache, bool armed)
{
    if (node_cache->watch.state == UVZK__NODE_CACHE_ARMING && armed) {
        uvzk__move(node_cache->session, &uvzk__node_cache_watch_machine, node_cache,
                   UVZK__NODE_CACHE_ARMED);
        uvzk__watch_renewal_schedule(node_cache->session, &node_cache->watch.renewal);
    } else if (node_cache->watch.state == UVZK__NODE_CACHE_ARMING) {
        gone(node_cache);
    }
}

/* Any event makes a read due, so its kind does not matter. */
static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__node_cache *node_cache =
        UVZK__CONTAINER_OF(watch, struct uvzk__node_cache, watch.watch);

    (void)event;
    gone(node_cache);
    node_cache->watch.unwatched_cb(node_cache);
}

/* A server does not send an event to a client that may not read the znode at that moment.
 * So the watch is set again once in a while (watch_renewal.h). */
static void look_again(struct uvzk__timer *timer)
{
    struct uvzk__node_cache *node_cache =
        UVZK__CONTAINER_OF(timer, struct uvzk__node_cache, watch.renewal);

    uvzk__node_cache_watch_end(node_cache);
    node_cache->watch.unwatched_cb(node_cache);
}

void uvzk__node_cache_watch_init(struct uvzk__node_cache *node_cache,
                                 void (*unwatched_cb)(struct uvzk__node_cache *))
{
    node_cache->watch.watch.watch_cb = fired;
    node_cache->watch.renewal.due = look_again;
    node_cache->watch.unwatched_cb = unwatched_cb;
}
