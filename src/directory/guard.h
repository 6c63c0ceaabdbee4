/* A watch on a contender's own znode, while it is the first in line and waits; for as
 * long as it stands if it is revocable.
 *
 *   NONE --> ARMING --> ARMED --> NONE   deleted, or changed, or the session ended
 *    ^         |
 *    `-------- RESTING   a holder may not read it
 *
 * Somebody may delete a waiter's node by hand, and others are granted past it.
 * Curator's waiter finds that out because it lists all children at each wake. Ours
 * does not, so before a grant the node must be vouched for (succession.c, voucher_of):
 * by a listing or a proof that has just shown it, by a predecessor of our own whose
 * delete will go only together with a check of it (sweep.h), or by this watch:
 * events arrive in the order in which things happened, so while it is silent, the
 * node stood when the predecessor went. But a server does not tell who may not read the
 * node, so silence is believed for one session timeout only, and a plea is looked for
 * once in a session timeout. Where room for watches gets scarce, waiters do without it,
 * unless they are revocable: a proof vouches for them. It stays armed while the lock is held and
 * tells of a deletion at once; our own delete consumes it. What it reads is
 * revocation.h's business. */
#ifndef UVZK_GUARD_H
#define UVZK_GUARD_H

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__contender;

enum uvzk__guarding {
    UVZK__GUARD_NONE,
    UVZK__GUARD_ARMING,
    UVZK__GUARD_ARMED,
    UVZK__GUARD_RESTING
};

extern const struct uvzk__machine uvzk__guard_machine;

/* Of a contender. Most have none: the memory is there with it, guard.c. */
struct uvzk__guard {
    struct uvzk__sentry *sentry; /* NULL: there is none */
};

enum uvzk__guarding uvzk__guarding(const struct uvzk__contender *);

/* The contender is freed: nothing is under way any more. */
void uvzk__guard_free(struct uvzk__contender *);

/* Whether there is room for it, or must be. */
bool uvzk__may_guard(const struct uvzk__contender *);

/* Its request is under way: nothing else is asked of the node. */
bool uvzk__guard_is_arming(const struct uvzk__contender *);
bool uvzk__guard_is_armed(const struct uvzk__contender *);

/* ARMED: whether its silence says that the node stands. */
bool uvzk__guard_vouches(const struct uvzk__contender *);

/* Arms it if it is not armed and may be. */
void uvzk__guard(struct uvzk__contender *);

/* The contender is over: no watch is left behind. */
void uvzk__guard_end(struct uvzk__contender *);

/* The node is gone, which the watch may never tell: the next node is not its. */
void uvzk__guard_missed(struct uvzk__contender *);

/* The session is over, and its watches with it. */
void uvzk__guard_lost(struct uvzk__contender *);

#endif
