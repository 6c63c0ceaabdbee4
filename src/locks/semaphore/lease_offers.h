/* Leases that are released are handed over to the next local claim without a request.
 * Their claim, which has ended, offers them unchanged: to the ticket holder, to its
 * ticket sharers, and to the local claims that wait next in `locks`. The new hold is
 * granted early, and the ticket is deleted only together with a check of the leases. The
 * leases are offered while a local claim may take them; otherwise they are deleted. */
#ifndef UVZK_LEASE_OFFERS_H
#define UVZK_LEASE_OFFERS_H

#include "locks/semaphore/lease_request.h"

/* The claim has ended, and its leases were counted. Returns true if its contenders are
 * leases that exist, and they are offered now. False: the claim must withdraw them. */
bool uvzk__leases_offer(struct uvzk__claim *);

/* Moves offered leases to the lease request, as many as it lacks and there are. Only
 * leases with the node data that its claim wants are moved. */
void uvzk__leases_take_offers(struct uvzk__lease_request *);

/* Deletes the offered leases that no local claim is going to take. While this is not
 * known, because the leases of other clients have not been counted, all leases that exist
 * stay offered. */
void uvzk__leases_withdraw_offers(struct uvzk__queue *);

#endif
