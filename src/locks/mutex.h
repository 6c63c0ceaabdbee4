/* The lock kinds of InterProcessMutex and of a mutex with a cohort (cohort.h). The multi
 * lock treats mutexes specially and recognizes them by these. */
#ifndef UVZK_MUTEX_H
#define UVZK_MUTEX_H

#include "claim/lock.h"

/* The directory of its contenders, and the prefix of their names. */
extern const struct uvzk__directory_kind uvzk__exclusive;
#define UVZK__MUTEX_PREFIX "lock-"

extern const struct uvzk__lock_kind uvzk__mutex;
extern const struct uvzk__lock_kind uvzk__mutex_in_cohort;

#endif
