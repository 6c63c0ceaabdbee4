/* A watch on a contender's own znode, while it is the first in line and waits; for as
 * long as it stands if it is revocable.
 *
 *   NONE --> ARMING --> ARMED --> NONE   deleted, or changed, or the session ended
 *    ^         |
 *    `-------- REFUSED   a holder may not read it
 *
 * Somebody may delete a waiter's node by hand, and others are granted past it.
 * Curator's waiter finds that out because it lists all children at each wake. Ours
 * does not, so before a grant the node must be known to exist (next_holder.c, check_grant):
 * by a listing or a proof that has just shown it, by a predecessor of our own whose
 * delete will go only together with a check of it (delete_batch.h), or by this watch:
 * events arrive in the order in which things happened, so while it is silent, the
 * node stood when the predecessor went. But a server does not tell who may not read the
 * node, so silence is believed for one session timeout only, and a plea is looked for
 * once in a session timeout. Where room for watches gets scarce, waiters do without it,
 * unless they are revocable: a proof vouches for them. It stays armed while the lock is held and
 * tells of a deletion at once; our own delete consumes it. What it reads is
 * revocation.h's business. */
#ifndef UVZK_OWN_WATCH_H
#define UVZK_OWN_WATCH_H

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__contender;

enum uvzk__own_watch_state {
    UVZK__OWN_WATCH_NONE,
    UVZK__OWN_WATCH_ARMING,
    UVZK__OWN_WATCH_ARMED,
    UVZK__OWN_WATCH_REFUSED
};

extern const struct uvzk__machine uvzk__own_watch_machine;

/* Of a contender. Most have none: the memory is there with it, own_watch.c. */
struct uvzk__own_watch {
    struct uvzk__own_watch_data *data; /* NULL: there is none */
};

enum uvzk__own_watch_state uvzk__own_watch_state(const struct uvzk__contender *);

/* The contender is freed: nothing is under way any more. */
void uvzk__own_watch_free(struct uvzk__contender *);

/* Whether there is room for it, or must be. */
bool uvzk__own_watch_is_allowed(const struct uvzk__contender *);

/* Its request is under way: nothing else is asked of the node. */
bool uvzk__own_watch_is_arming(const struct uvzk__contender *);
bool uvzk__own_watch_is_armed(const struct uvzk__contender *);

/* ARMED: whether its silence says that the node stands. */
bool uvzk__own_watch_shows_node(const struct uvzk__contender *);

/* Arms it if it is not armed and may be. */
void uvzk__own_watch_arm(struct uvzk__contender *);

/* The contender is over: no watch is left behind. */
void uvzk__own_watch_end(struct uvzk__contender *);

/* The node is gone, which the watch may never tell: the next node is not its. */
void uvzk__own_watch_node_gone(struct uvzk__contender *);

/* The session is over, and its watches with it. */
void uvzk__own_watch_lost(struct uvzk__contender *);

#endif
