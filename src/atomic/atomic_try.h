/* The requests of an atomic long's current call: one try reads the znode, creates it if it
 * is missing, and writes over the version that was read. */
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

#endif
