/* A downgrade: a read lock that an owner acquires while it holds the write lock. The
 * reader's znode has the writer's sequence number, so that no other writer is granted in
 * between when the write lock is released (Curator since 5.5, CURATOR-621). The fencing
 * token is the writer's.
 *
 *   acquire under a valid write hold --> a multi: check the writer's znode, create the
 *                                        reader's znode, which is not sequential
 *        succeeds        --> the reader waits for no other contender
 *        UVZK_ENONODE    --> the writer's znode is gone: an ordinary read lock
 *        outcome unknown --> the znode is searched for like any other */
#ifndef UVZK_DOWNGRADE_H
#define UVZK_DOWNGRADE_H

#include "claim/lock.h"

/* The kind of all readers' claims. It is the plain kind, except that it frees what the
 * downgrade keeps. */
extern const struct uvzk__claim_kind uvzk__claim_reading;

/* The kinds of readers: an ordinary one, and one that is created by the multi and has its
 * writer's place. The second becomes the first if the writer's znode is gone. */
extern const struct uvzk__contender_kind uvzk__reader;
extern const struct uvzk__contender_kind uvzk__downgraded_reader;

/* Makes `reading`, which has no contender yet, a downgrade of the hold `writing`. Keeps a
 * reference to the writer's contender. Returns 0 or UV_ENOMEM. */
int uvzk__downgrade_prepare(struct uvzk__claim *reading, struct uvzk__claim *writing);

#endif
