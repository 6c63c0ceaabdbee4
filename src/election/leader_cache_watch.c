#include "election/leader_cache_watch.h"

#include "election/leader_cache.h"
#include "engine/invariant.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "engine/watch_renewal.h"

#define UNWATCHED UVZK__LEADER_CACHE_UNWATCHED
#define ARMING UVZK__LEADER_CACHE_ARMING
#define ARMED UVZK__LEADER_CACHE_ARMED

static const struct uvzk__state table[] = {
    [UNWATCHED] = {"UNWATCHED", UVZK__BIT(ARMING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED) | UVZK__BIT(UNWATCHED)},
    [ARMED] = {"ARMED", UVZK__BIT(UNWATCHED)},
};

const struct uvzk__machine uvzk__leader_cache_watch_machine =
    UVZK__MACHINE("leader cache's watch", table);

static bool invariant_holds(const struct uvzk__leader_cache *leader_cache)
{
    return (leader_cache->watch.state == UNWATCHED) == (leader_cache->watch.path == NULL);
}

/* The only writer of `state`. */
static void move(struct uvzk__leader_cache *leader_cache,
                 enum uvzk__leader_cache_watch_state state)
{
    leader_cache->watch.state =
        (uint8_t)uvzk__move(leader_cache->session, &uvzk__leader_cache_watch_machine,
                            leader_cache->watch.state, state);
    uvzk__invariant(leader_cache->session, &uvzk__leader_cache_watch_machine,
                    leader_cache->watch.state, invariant_holds(leader_cache));
}

/* The watch has fired or is gone on the server: updates the state and the budget only. */
static void gone(struct uvzk__leader_cache *leader_cache)
{
    if (leader_cache->watch.state != UNWATCHED) {
        const char *path = leader_cache->watch.path;

        uvzk__timer_clear(leader_cache->session, &leader_cache->watch.renewal);
        leader_cache->watch.path = NULL;
        move(leader_cache, UNWATCHED);
        uvzk__watch_budget_give(leader_cache->session, path);
    }
}

void uvzk__leader_cache_watch_end(struct uvzk__leader_cache *leader_cache)
{
    if (leader_cache->watch.state != UNWATCHED) {
        uvzk__unwatch(leader_cache->session, &leader_cache->watch.watch);
    }
    gone(leader_cache);
}

bool uvzk__leader_cache_watch_arm(struct uvzk__leader_cache *leader_cache,
                                  const char *path)
{
    /* One path has at most one watch in the port: a watermark gives up its own. */
    uvzk__yield_watch(leader_cache->session, path);
    if (!uvzk__watch_budget_take(leader_cache->session, path)) {
        return false;
    }
    leader_cache->watch.path = path;
    move(leader_cache, ARMING);
    leader_cache->rpc.watch = &leader_cache->watch.watch;
    return true;
}

void uvzk__leader_cache_watch_answered(struct uvzk__leader_cache *leader_cache,
                                       bool armed)
{
    if (leader_cache->watch.state == ARMING && armed) {
        move(leader_cache, ARMED);
        uvzk__watch_renewal_schedule(leader_cache->session, &leader_cache->watch.renewal);
    } else if (leader_cache->watch.state == ARMING) {
        gone(leader_cache);
    }
}

/* Any event makes a read due, so its kind does not matter. */
static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__leader_cache *leader_cache =
        UVZK__CONTAINER_OF(watch, struct uvzk__leader_cache, watch.watch);

    (void)event;
    gone(leader_cache);
    leader_cache->watch.unwatched_cb(leader_cache);
}

static void renew(struct uvzk__timer *timer)
{
    struct uvzk__leader_cache *leader_cache =
        UVZK__CONTAINER_OF(timer, struct uvzk__leader_cache, watch.renewal);

    uvzk__leader_cache_watch_end(leader_cache);
    leader_cache->watch.unwatched_cb(leader_cache);
}

void uvzk__leader_cache_watch_init(struct uvzk__leader_cache *leader_cache,
                                   void (*unwatched_cb)(struct uvzk__leader_cache *))
{
    leader_cache->watch.watch.watch_cb = fired;
    leader_cache->watch.renewal.due = renew;
    leader_cache->watch.unwatched_cb = unwatched_cb;
}
