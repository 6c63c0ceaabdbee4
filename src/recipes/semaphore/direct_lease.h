/* A lease that is created without a ticket, where no other client is. An acquire and its
 * release then need three requests: the create, a listing of `locks`, and the delete.
 *
 *   acquire --- other clients are not known ---> the lease is created, then `locks` is
 *     |                                          listed
 *     |                                            |
 *     |                           the leases were counted, then no contender was in
 *     |                           `locks`, and there is room: granted
 *     |                                            |
 *     v                                            v otherwise
 *   the claim gets a ticket <--------------- the lease is deleted at once
 *
 * A ticket provides three things: no other client creates leases while the ticket holder
 * counts them, requests are granted in the order of arrival, and the tokens grow in that
 * order. All three are provided without a ticket if no contender is in `locks`
 * (docs/decisions/leases.md says why). The leases are counted by a listing, or by the
 * lease's sequence number (watermark.h).
 *
 * A client tries this only if it has been alone: its lease directory has a watermark, and
 * the last sequence number was the next one. One claim tries at a time, and none tries
 * while another local claim has a ticket or wants one. */
#ifndef UVZK_DIRECT_LEASE_H
#define UVZK_DIRECT_LEASE_H

#include "recipes/semaphore/lease_request.h"

/* Whether this new lease request may create its lease without a ticket. */
bool uvzk__direct_lease_may(const struct uvzk__lease_request *);
/* The lease request does so: adds its lease, which settling creates. position: if it
 * needs a ticket after all, the ticket reports how many contenders are ahead of it.
 * Returns 0 or the codes of uvzk__lease_request_fill. */
int uvzk__direct_lease_begin(struct uvzk__lease_request *, bool position);

/* A new lease request arrives. If a local lease request tries without a ticket and
 * nothing has been sent for it yet, that one becomes a ticket sharer and the result is
 * true: the caller creates its ticket first (uvzk__ticket_create_new). */
bool uvzk__direct_lease_yield(struct uvzk__queue *leases);

/* Called when the lease directory is settled. Sends the create of the lease if it is due.
 * Withdraws the lease if it must not be granted, whatever the count shows. */
void uvzk__direct_lease_settle(struct uvzk__queue *leases);

/* Whether a listing of the lease directory is needed to count the lease. */
bool uvzk__direct_lease_wants_listing(const struct uvzk__queue *leases);
/* Lists `locks`, if the request that counts the lease has been sent and no listing of
 * `locks` has been sent since. */
void uvzk__direct_lease_read_locks(struct uvzk__queue *leases);

/* Whether the lease is counted, and a later listing showed that `locks` was empty. */
bool uvzk__direct_lease_is_counted(const struct uvzk__lease_request *);

/* Deletes the lease. The lease request becomes the first ticket sharer, for which a
 * ticket is created. The claim may have ended, and may be freed, when this returns. */
void uvzk__direct_lease_withdraw(struct uvzk__lease_request *);

#endif
