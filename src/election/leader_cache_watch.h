/* A leader cache's watch: on the leader's znode, on the children of the path, or on the
 * path itself if it does not exist.
 *
 *   UNWATCHED --> ARMING --> ARMED --> UNWATCHED   it fired, was lost or removed, or is
 *       ^           |                              due for renewal
 *       `-----------' the request has not set it, or it was removed
 *
 * A request of the leader cache carries the watch. While it is ARMED, it is renewed about
 * once a session timeout (watch_renewal.h). */
#ifndef UVZK_LEADER_CACHE_WATCH_H
#define UVZK_LEADER_CACHE_WATCH_H

#include "base/machine.h"
#include "engine/session.h"

struct uvzk__leader_cache;

enum uvzk__leader_cache_watch_state {
    UVZK__LEADER_CACHE_UNWATCHED, /* next: ARMING */
    UVZK__LEADER_CACHE_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__LEADER_CACHE_ARMED      /* next: UNWATCHED */
};

extern const struct uvzk__machine uvzk__leader_cache_watch_machine;

/* Part of a leader cache. */
struct uvzk__leader_cache_watch {
    struct uvzk__watch watch;
    struct uvzk__timer renewal; /* runs in ARMED */
    void (*unwatched_cb)(struct uvzk__leader_cache *);
    const char *path; /* that is watched, owned by the leader cache; NULL: UNWATCHED */
    uint8_t state;    /* enum uvzk__leader_cache_watch_state */
};

/* ------------------------------------------------------------ for this room alone */

/* unwatched_cb: the watch has fired, or has been removed to be renewed. */
void uvzk__leader_cache_watch_init(struct uvzk__leader_cache *,
                                   void (*unwatched_cb)(struct uvzk__leader_cache *));

/* In UNWATCHED: adds the watch to the request that is being prepared. The path must stay
 * valid until the watch is UNWATCHED. Returns false if there is no room for another
 * watch. */
bool uvzk__leader_cache_watch_arm(struct uvzk__leader_cache *, const char *path);

/* The request under way has been answered. armed: it has set the watch, if it carried
 * one. */
void uvzk__leader_cache_watch_answered(struct uvzk__leader_cache *, bool armed);

/* Removes the watch, if there is one, from the port too. */
void uvzk__leader_cache_watch_end(struct uvzk__leader_cache *);

#endif
