/* The promoted phase of an atomic long (Curator's PromotedToLock): the mutex that a call
 * acquires after all its optimistic tries have failed, as any user of the library would,
 * and releases after its end. The writes of the call do not depend on the hold, because
 * each write compares the version. */
#ifndef UVZK_ATOMIC_PROMOTION_H
#define UVZK_ATOMIC_PROMOTION_H

#include "atomic/atomic_long.h"

/* Returns true if the options name a mutex. */
bool uvzk__atomic_promotion_is_possible(const struct uvzk__atomic_long *);

/* The current call enters the promoted phase: acquires the mutex. */
void uvzk__atomic_promotion_acquire(struct uvzk__atomic_long *);
/* No call waits for the mutex from now on. */
void uvzk__atomic_promotion_cancel(struct uvzk__atomic_long *);

/* Returns true if the mutex is held for a call that has ended; releases it. */
bool uvzk__atomic_promotion_is_over(const struct uvzk__atomic_long *);
void uvzk__atomic_promotion_release(struct uvzk__atomic_long *);

#endif
