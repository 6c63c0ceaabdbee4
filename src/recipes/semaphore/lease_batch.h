/* The multi that creates leases: a check of the ticket holder's ticket, then the creates
 * for one or more lease requests. A multi is carried out as a whole or not at all, and
 * the creates of one lease request are always in one multi.
 *
 *   planned --- sent ---> in flight --- replied ---> freed */
#ifndef UVZK_LEASE_BATCH_H
#define UVZK_LEASE_BATCH_H

#include "recipes/semaphore/lease_request.h"

/* Adds the creates of the leases that the lease request lacks. *batch is NULL before the
 * first call, which makes the batch. Returns true if the leases are in the batch. False:
 * the batch has no room for them; out of memory for the batch, and the directory pauses;
 * or the claim has ended because its leases could not be added to it. */
bool uvzk__lease_batch_plan(struct uvzk__lease_batch **batch,
                            struct uvzk__lease_request *);

/* Sends the batch, which is the directory's `batch` until it is answered. A batch without
 * creates is freed. Does nothing for NULL. */
void uvzk__lease_batch_send(struct uvzk__lease_batch *);

#endif
