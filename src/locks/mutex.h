/* SPDX-License-Identifier: Apache-2.0 */
/* The lock kinds of InterProcessMutex and of a mutex with a cohort. The multi
 * lock treats mutexes specially and recognizes them by these. */
#ifndef UVZK_MUTEX_H
#define UVZK_MUTEX_H

#include "claim/lock.h"

/* The directory of its contenders. */
extern const struct uvzk__directory_kind uvzk__exclusive;

extern const struct uvzk__lock_kind uvzk__mutex;
extern const struct uvzk__lock_kind uvzk__mutex_in_cohort;

/* ------------------------------------------------------------ for this room alone */

/* The functions of a lock kind whose claims have one contender each, of its contender_kind
 * in its directory_kind: a mutex, a leader latch, a half of a read-write lock. check: no
 * leases. occupied: by any contender. classify: the first one holds. */
int uvzk__one_contender_check(struct uvzk__lock *, const uvzk_acquire_options_t *);
bool uvzk__one_contender_occupied(struct uvzk__lock *, const uvzk_acquire_options_t *);
int uvzk__one_contender_prepare(struct uvzk__lock *, struct uvzk__claim *,
                                const uvzk_acquire_options_t *);
size_t uvzk__one_contender_directories(const struct uvzk__lock *,
                                       struct uvzk__participant_directory *);
int uvzk__one_contender_classify(const struct uvzk__lock *, struct uvzk__participant *,
                                 size_t count);

#endif
