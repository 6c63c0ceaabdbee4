/* SPDX-License-Identifier: Apache-2.0 */
/* What other recipes ask of a claim on a semaphore. */
#ifndef UVZK_SEMAPHORE_H
#define UVZK_SEMAPHORE_H

struct uvzk__claim;

/* A claim that was to share a ticket gets a ticket of its own at once, so that it shares
 * its token with no earlier claim. Does nothing for other claims, also of other recipes.
 * The claim may have ended, and may be freed, when this returns. */
void uvzk__semaphore_own_ticket(struct uvzk__claim *);

#endif
