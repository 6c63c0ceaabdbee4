/* A node cache's watch on its znode.
 *
 *   UNWATCHED --> ARMING --> ARMED --> UNWATCHED   it fired, was lost or removed, or is
 *       ^           |                              due for renewal
 *       `-----------' the request has not set it
 *
 * A request of the node cache carries the watch: a get sets it on a znode that exists, an
 * exists on a missing one too. While it is ARMED, it is renewed about once a session
 * timeout (watch_renewal.h). */
#ifndef UVZK_NODE_CACHE_WATCH_H
#define UVZK_NODE_CACHE_WATCH_H

#include "base/machine.h"
#include "engine/session.h"

struct uvzk__node_cache;

enum uvzk__node_cache_watch_state {
    UVZK__NODE_CACHE_UNWATCHED, /* next: ARMING */
    UVZK__NODE_CACHE_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__NODE_CACHE_ARMED      /* next: UNWATCHED */
};

extern const struct uvzk__machine uvzk__node_cache_watch_machine;

/* Part of a node cache. */
struct uvzk__node_cache_watch {
    struct uvzk__watch watch;
    struct uvzk__timer renewal; /* runs in ARMED */
    void (*unwatched_cb)(struct uvzk__node_cache *);
    uint8_t state; /* enum uvzk__node_cache_watch_state */
};

/* unwatched_cb: the watch has fired, or has been removed to be renewed. The znode has to be
 * read again with a new watch. */
void uvzk__node_cache_watch_init(struct uvzk__node_cache *,
                                 void (*unwatched_cb)(struct uvzk__node_cache *));

/* Adds the watch to the request that is being prepared. Returns false if there is no room
 * for another watch. */
bool uvzk__node_cache_watch_arm(struct uvzk__node_cache *);

/* The request under way has been answered. armed: it has set the watch, if it carried
 * one. */
void uvzk__node_cache_watch_answered(struct uvzk__node_cache *, bool armed);

/* Removes the watch, if there is one, from the port too. */
void uvzk__node_cache_watch_end(struct uvzk__node_cache *);

#endif
