/* The multi that makes leases: a check of the ticket holder's ticket, then those of one claim
 * or of several, each claim's all or none.
 *
 *   planned --- sent ---> under way --- replied ---> freed */
#ifndef UVZK_LEASE_BATCH_H
#define UVZK_LEASE_BATCH_H

#include "recipes/lease_request.h"

/* Plans to make what the lease request lacks: true if it goes into this one. *making
 * is NULL for the first, and stays so if there is none: out of memory, which is tried
 * again after a rest, or its claim has ended because it cannot have its leases. */
bool uvzk__lease_batch_plan(struct uvzk__lease_batch **batch,
                            struct uvzk__lease_request *);

/* Sends it; the directory's making until it is answered. NULL: nothing. */
void uvzk__lease_batch_send(struct uvzk__lease_batch *);

#endif
