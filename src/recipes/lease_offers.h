/* Leases that are let go change hands without a request: their claim offers them, as
 * they stand, to the ticket holder or to who follows it in `locks`. The new owner is
 * granted early: the ticket is deleted together with a check of the lease. They are
 * offered for as long as the next in line for `locks` is ours, else they are deleted. */
#ifndef UVZK_LEASE_OFFERS_H
#define UVZK_LEASE_OFFERS_H

#include "recipes/lease_request.h"

/* The claim lets go of its contenders: true if they are leases that stand and are
 * offered to others of ours. */
bool uvzk__leases_offer(struct uvzk__claim *);

/* Hands on what it lacks, as far as there is any: leases with the data that it wants. */
void uvzk__leases_take_offers(struct uvzk__lease_request *);

/* Deletes those that nobody of ours is going to take. asking: that is not known yet. */
void uvzk__leases_withdraw_offers(struct uvzk__queue *, bool asking);

#endif
