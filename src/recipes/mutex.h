/* InterProcessMutex, as a multi lock knows it; and one with a cohort (cohort.h). */
#ifndef UVZK_MUTEX_H
#define UVZK_MUTEX_H

#include "claim/lock.h"

extern const struct uvzk__lock_kind uvzk__mutex;
extern const struct uvzk__lock_kind uvzk__mutex_in_cohort;

#endif
