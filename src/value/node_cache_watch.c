#include "value/node_cache_watch.h"

#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "engine/watch_renewal.h"
#include "value/node_cache.h"

#define UNWATCHED UVZK__NODE_CACHE_UNWATCHED
#define ARMING UVZK__NODE_CACHE_ARMING
#define ARMED UVZK__NODE_CACHE_ARMED

static const struct uvzk__state table[] = {
    [UNWATCHED] = {"UNWATCHED", UVZK__BIT(ARMING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED) | UVZK__BIT(UNWATCHED)},
    [ARMED] = {"ARMED", UVZK__BIT(UNWATCHED)},
};

const struct uvzk__machine uvzk__node_cache_watch_machine =
    UVZK__MACHINE("node cache's watch", table);

static bool invariant_holds(const struct uvzk__node_cache *node_cache)
{
    return node_cache->watch.state == UNWATCHED || !node_cache->ended;
}

/* The only writer of `state`. */
static void move(struct uvzk__node_cache *node_cache,
                 enum uvzk__node_cache_watch_state state)
{
    node_cache->watch.state =
        (uint8_t)uvzk__move(node_cache->session, &uvzk__node_cache_watch_machine,
                            node_cache->watch.state, state);
    uvzk__invariant(node_cache->session, &uvzk__node_cache_watch_machine,
                    node_cache->watch.state, invariant_holds(node_cache));
}

/* The watch has fired or is gone on the server: updates the state and the budget only. */
static void gone(struct uvzk__node_cache *node_cache)
{
    if (node_cache->watch.state != UNWATCHED) {
        uvzk__timer_clear(node_cache->session, &node_cache->watch.renewal);
        move(node_cache, UNWATCHED);
        uvzk__watch_budget_give(node_cache->session, node_cache->path);
    }
}

void uvzk__node_cache_watch_end(struct uvzk__node_cache *node_cache)
{
    if (node_cache->watch.state != UNWATCHED) {
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
    move(node_cache, ARMING);
    node_cache->rpc.watch = &node_cache->watch.watch;
    return true;
}

void uvzk__node_cache_watch_answered(struct uvzk__node_cache *node_cache, bool armed)
{
    if (node_cache->watch.state == ARMING && armed) {
        move(node_cache, ARMED);
        uvzk__watch_renewal_schedule(node_cache->session, &node_cache->watch.renewal);
    } else if (node_cache->watch.state == ARMING) {
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
