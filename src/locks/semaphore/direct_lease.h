/* SPDX-License-Identifier: Apache-2.0 */
/* A lease that is created without a ticket, while no other client uses the semaphore. An
 * acquire and its release then need three requests: the create, a listing of `locks`, and
 * the delete.
 *
 * The lease is created, and then `locks` is listed. If the leases have been counted and
 * no contender was in `locks` after that, the lease is granted. Otherwise it is deleted
 * at once, and the claim gets a ticket.
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

#include <stdbool.h>
#include <stdint.h>

struct uvzk__lease_request;
struct uvzk__queue;

/* The listings of `locks` that one lease directory has sent. */
struct uvzk__locks_listing {
    uint64_t stamp;       /* of the last one; 0: it failed and must be repeated */
    uint64_t empty_stamp; /* of the last one that showed no child */
    bool pending;         /* one is in flight */
};

/* Returns true if this new lease request may create its lease without a ticket. */
bool uvzk__direct_lease_may(const struct uvzk__lease_request *);
/* The lease request does so: adds its lease, which settling creates. Returns 0 or the
 * codes of uvzk__lease_request_fill. */
int uvzk__direct_lease_begin(struct uvzk__lease_request *);

/* A new lease request is about to get a ticket. If a local lease request tries without a
 * ticket and nothing has been sent for it yet, that one gets a ticket now, because it
 * came first. */
void uvzk__direct_lease_yield(struct uvzk__queue *leases);

/* Called when the lease directory is settled. Sends the create of the lease if it is due.
 * Withdraws the lease if it must not be granted, whatever the count shows. */
void uvzk__direct_lease_settle(struct uvzk__queue *leases);

/* Returns true if a listing of the lease directory is needed to count the lease. */
bool uvzk__direct_lease_wants_listing(const struct uvzk__queue *leases);
/* Lists `locks`, if the request that counts the lease has been sent and no listing of
 * `locks` has been sent since. */
void uvzk__direct_lease_list_locks(struct uvzk__queue *leases);

/* Returns true if the lease is counted, and a later listing showed that `locks` was
 * empty. */
bool uvzk__direct_lease_is_counted(const struct uvzk__lease_request *);

/* The lease must be deleted (uvzk__leases_withdraw): the lease request becomes the first
 * ticket sharer, for which a ticket is created. */
void uvzk__direct_lease_leave(struct uvzk__lease_request *);

#endif
