/* A read lock that is taken under the owner's write lock. Its znode has the writer's
 * number, so that no writer comes in between when the write lock is released
 * (Curator since 5.5, CURATOR-621), and its token is the writer's.
 *
 *   asked under a valid write hold --> multi: check the writer's znode,
 *                                             create the reader's, not sequential
 *        done    --> it stands, and waits for nobody
 *        refused --> the writer's znode is gone: an ordinary read lock
 *        unknown --> searched for like any other */
#ifndef UVZK_DOWNGRADE_H
#define UVZK_DOWNGRADE_H

#include "claim/lock.h"

/* A reader's claim: plain, but for the create of a downgraded one. */
extern const struct uvzk__claim_kind uvzk__claim_reading;

/* The claim, still without contenders, is made under this hold. UV_ENOMEM. */
int uvzk__downgrade_prepare(struct uvzk__claim *reading, struct uvzk__claim *writing);

#endif
