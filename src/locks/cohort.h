/* A mutex with a cohort. When a hold is released, its znode is handed over to the next
 * local claim, ahead of the foreign nodes between them. The two claims exchange their
 * znodes: the waiting claim then holds by the znode N, and the claim that has ended
 * deletes the znode M, with which the other claim waited.
 *
 *   before the release   N (held)              foreign node   M (waits)     O
 *   after the release    N (M's claim holds)   foreign node   M (deleted)   O
 *
 * Only the first local waiter of the directory may receive the znode, so local claims do
 * not overtake one another. A foreign node must be before that waiter; if there is none,
 * the waiter is granted by its own znode, with a token of its own. Two limits apply: a
 * znode is handed over at most `handovers` times, and not later than `ms` after it was
 * first granted. When a limit is reached, the next contender in the directory is granted,
 * whichever client it belongs to. All holds by one znode have the same fencing token;
 * uvzk_hold_cohort tells them apart. */
#ifndef UVZK_COHORT_H
#define UVZK_COHORT_H

#include "claim/lock.h"

/* The limits of a lock with a cohort. */
struct uvzk__cohort_limit {
    uint32_t handovers; /* how often a znode may be handed over, 1 to 1000 */
    uint32_t ms;        /* for how long after its first grant, 1 to 60000 */
};

/* Checks the limits: 0, or UV_EINVAL if one of them is out of range. */
int uvzk__cohort_check(const struct uvzk__cohort_limit *);

/* Copies the limits into lock->extra. Returns 0 or UV_ENOMEM. uvzk__cohort_freed frees
 * the copy; it is the lock_kind's `freed`. */
int uvzk__cohort_set_limit(struct uvzk__lock *, const struct uvzk__cohort_limit *);
void uvzk__cohort_freed(struct uvzk__lock *);

/* Allocates what a claim on the lock needs, as claim->extra. The claim's kind must be
 * uvzk__claim_in_cohort, which frees it. Returns 0 or UV_ENOMEM. */
int uvzk__cohort_add_claim(struct uvzk__lock *, struct uvzk__claim *);

/* The kind of a claim with a cohort: the plain kind, and the handover when a claim
 * ends. */
extern const struct uvzk__claim_kind uvzk__claim_in_cohort;

#endif
