/* InterProcessMutex: what its acquisitions and contenders need of it. */
#ifndef UVZK_LOCK_H
#define UVZK_LOCK_H

#include "state.h"

/* One of its acquisitions has had its FINAL callback, or is about to. */
void uvzk__lock_acquisition_over(struct uvzk__lock *);

/* Makes the contender the one that its owner re-enters. UV_ENOMEM. */
int uvzk__lock_own(struct uvzk__lock *, struct uvzk__contender *);
/* Nobody re-enters it any more. Harmless if nobody did. */
void uvzk__lock_disown(struct uvzk__contender *);

/* Frees it with its client; its shell is the caller's again. */
void uvzk__lock_free(struct uvzk__lock *);

#endif
