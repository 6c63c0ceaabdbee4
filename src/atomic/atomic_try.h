/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of an atomic long's current call: one try reads the znode, creates it if it
 * is missing, and writes over the version that was read.
 *
 * After all its optimistic tries have failed, a call enters the promoted phase (Curator's
 * PromotedToLock): it acquires a mutex, as any user of the library would, tries again, and
 * releases the mutex after its end. The writes of the call do not depend on the hold,
 * because each write compares the version. */
#ifndef UVZK_ATOMIC_TRY_H
#define UVZK_ATOMIC_TRY_H

#include "atomic/atomic_long.h"

/* Sends the request of the current call's step. Requests may be sent, and none is under
 * way. Each reply decides the call, or sets its next step, and pumps. */
void uvzk__atomic_try_send(struct uvzk__atomic_long *, struct uvzk__atomic_call *);

/* The pause between two tries is over, or is given up: back to IDLE. */
void uvzk__atomic_try_end_pause(struct uvzk__atomic_long *);
/* Called when the pause is over. */
void uvzk__atomic_try_pause_due(struct uvzk__timer *);

/* Returns true if the options name a mutex. */
bool uvzk__atomic_promotion_is_possible(const struct uvzk__atomic_long *);

/* No call waits for the mutex from now on. */
void uvzk__atomic_promotion_cancel(struct uvzk__atomic_long *);

/* Returns true if the mutex is held for a call that has ended; releases it. */
bool uvzk__atomic_promotion_is_over(const struct uvzk__atomic_long *);
void uvzk__atomic_promotion_release(struct uvzk__atomic_long *);

#endif
