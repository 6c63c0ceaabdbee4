/* A mutex whose holder's znode serves several local claims, one after the other, past
 * others' contenders that stand between: the next one of this client gets the znode as it
 * stands, and leaves its own, which had its place in the queue, for the delete.
 *
 *   standing before a release   N (held)   foreign node   M (next of ours)   O
 *                      after    N (M's claim holds)   foreign node   M (deleted)   O
 *
 * The first in line of this client is the one that gets it: local claims never pass one
 * another. Only where a foreign node stands between, though: where nobody does, the next one is
 * granted its own znode as ever, with a token of its own. Bounded: a znode is handed on so
 * many times at most, and not so long after it was granted first; then whoever is behind it
 * in the directory has it. Who holds by a znode that was held before has its token, and is
 * told so (uvzk_hold_cohort). */
#ifndef UVZK_COHORT_H
#define UVZK_COHORT_H

#include "claim/lock.h"

/* Of a lock: how often a znode is handed on, and until when. */
struct uvzk__cohort_limit {
    uint32_t handovers;
    uint32_t ms;
};

/* UV_EINVAL: there is no such bound; 0. */
int uvzk__cohort_check(const struct uvzk__cohort_limit *);

/* The lock is bounded so: lock->extra. UV_ENOMEM. */
int uvzk__cohort_set_limit(struct uvzk__lock *, const struct uvzk__cohort_limit *);
void uvzk__cohort_freed(struct uvzk__lock *);

/* What a claim on it needs: claim->extra. UV_ENOMEM. */
int uvzk__cohort_add_claim(struct uvzk__lock *, struct uvzk__claim *);

extern const struct uvzk__claim_kind uvzk__claim_in_cohort;

#endif
