/* Whether a contender's node is known to have stood when the last node went that it had to
 * wait for: somebody may delete a waiter's node by hand, and others are then granted past it.
 * Requests are executed in the order in which they were submitted, so stamps compare what
 * has been seen with what we have done; and what we are told comes in the order in which
 * it happened, so what others have done is compared by when we heard of it. */
#ifndef UVZK_VOUCHING_H
#define UVZK_VOUCHING_H

#include "directory/queue.h"

/* The request with this stamp has just shown that its node stands; good for the
 * next settle(), unless we hear before it that somebody else's node has gone. */
void uvzk__vouch(struct uvzk__contender *, uint64_t stamp);

/* The last request that deletes a node of ours before it; and the last one that deletes one
 * of those that readers wait for, too. */
void uvzk__deletes_matter(struct uvzk__contender *, uint64_t last,
                          uint64_t last_exclusive);

/* Whether its node has been seen since the last node went that it had to wait for. */
bool uvzk__is_vouched_for(const struct uvzk__contender *);

#endif
