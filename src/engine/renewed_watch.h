/* A watch that is kept for as long as its owner waits: it is renewed about once a session
 * timeout, because its event may be lost (watch_renewal.h). It is on one path at a time.
 *
 *   UNWATCHED --> ARMING --> ARMED --> UNWATCHED   it fired, was lost or removed, or is
 *       ^           |                              due for renewal
 *       `-----------' the request has not set it, or it was removed
 *
 * A request of the owner carries the watch. */
#ifndef UVZK_RENEWED_WATCH_H
#define UVZK_RENEWED_WATCH_H

#include "base/machine.h"
#include "engine/session.h"

enum uvzk__renewed_watch_state {
    UVZK__RENEWED_WATCH_UNWATCHED, /* next: ARMING */
    UVZK__RENEWED_WATCH_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__RENEWED_WATCH_ARMED      /* next: UNWATCHED */
};

extern const struct uvzk__machine uvzk__renewed_watch_machine;

/* Part of its owner. */
struct uvzk__renewed_watch {
    struct uvzk__session *session;
    struct uvzk__watch watch;
    struct uvzk__timer renewal; /* runs in ARMED */
    void (*unwatched_cb)(struct uvzk__renewed_watch *);
    const char *path; /* that is watched, owned by the owner; NULL: UNWATCHED */
    uint8_t state;    /* enum uvzk__renewed_watch_state */
};

/* unwatched_cb: the watch has fired, or has been removed to be renewed. */
void uvzk__renewed_watch_init(struct uvzk__renewed_watch *, struct uvzk__session *,
                              void (*unwatched_cb)(struct uvzk__renewed_watch *));

/* Whether it is set, or is being set. */
bool uvzk__renewed_watch_is_set(const struct uvzk__renewed_watch *);

/* In UNWATCHED: adds the watch to the request that is being prepared. The path must stay
 * valid until the watch is UNWATCHED. Returns false if there is no room for another
 * watch. */
bool uvzk__renewed_watch_arm(struct uvzk__renewed_watch *, struct uvzk__rpc *,
                             const char *path);

/* The request under way has been answered. armed: it has set the watch, if it carried
 * one. */
void uvzk__renewed_watch_answered(struct uvzk__renewed_watch *, bool armed);

/* Removes the watch, if there is one, from the port too. */
void uvzk__renewed_watch_end(struct uvzk__renewed_watch *);

#endif
