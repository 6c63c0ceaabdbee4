/* InterProcessMutex: what its acquisitions and contenders need of it. */
#ifndef UVZK_MUTEX_H
#define UVZK_MUTEX_H

#include "state.h"

/* One of its acquisitions has had its FINAL callback, or is about to. */
void uvzk__mutex_acquisition_over(struct uvzk__mutex *);

/* Makes the contender the one that its owner re-enters. UV_ENOMEM. */
int uvzk__mutex_own(struct uvzk__mutex *, struct uvzk__contender *);
/* Nobody re-enters it any more. Harmless if nobody did. */
void uvzk__mutex_disown(struct uvzk__contender *);

/* Frees it with its client; its shell is the caller's again. */
void uvzk__mutex_free(struct uvzk__mutex *);

#endif
