/* A watcher: a watch that is kept for as long as its owner waits. It is renewed about once a
 * session timeout, because its event may be lost (watch_renewal.h). It is on one path at a
 * time.
 *
 *   UNWATCHED --> ARMING --> ARMED --> UNWATCHED   it fired, was lost or removed, or is
 *       ^           |                              due for renewal
 *       `-----------' the request has not set it, or it was removed
 *
 * A request of the owner carries the watch. */
#ifndef UVZK_WATCH_H
#define UVZK_WATCH_H

#include "base/machine.h"
#include "engine/session.h"

enum uvzk__watcher_state {
    UVZK__WATCHER_UNWATCHED, /* next: ARMING */
    UVZK__WATCHER_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__WATCHER_ARMED      /* next: UNWATCHED */
};

extern const struct uvzk__machine uvzk__watcher_machine;

/* What a watcher is told. The watch is gone by then. */
enum uvzk__watch_news {
    UVZK__NEWS_CREATED = UVZK__WATCH_CREATED, /* the events of the port */
    UVZK__NEWS_DELETED = UVZK__WATCH_DELETED,
    UVZK__NEWS_CHANGED = UVZK__WATCH_CHANGED,
    UVZK__NEWS_CHILDREN = UVZK__WATCH_CHILDREN,
    UVZK__NEWS_RENEWAL /* it has been removed to be set again */
};

/* Part of its owner. */
struct uvzk__watcher {
    struct uvzk__session *session;
    struct uvzk__watch watch;
    struct uvzk__timer renewal; /* runs in ARMED */
    void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news);
    const char *path; /* that is watched, owned by the owner; NULL: UNWATCHED */
    uint8_t state;    /* enum uvzk__watcher_state */
};

void uvzk__watcher_init(struct uvzk__watcher *, struct uvzk__session *,
                        void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news));

/* Returns true if the watch is set, or is being set. */
bool uvzk__watcher_is_set(const struct uvzk__watcher *);

/* In UNWATCHED: adds the watch to the request that is being prepared. The path must stay
 * valid until the watcher is UNWATCHED. Returns false if there is no room for another
 * watch. */
bool uvzk__watch_join(struct uvzk__watcher *, struct uvzk__rpc *, const char *path);

/* The request under way has been answered. armed: it has set the watch, if it carried
 * one. */
void uvzk__watch_answered(struct uvzk__watcher *, bool armed);

/* Removes the watch, if there is one, from the port too. */
void uvzk__watch_leave(struct uvzk__watcher *);

#endif
