/* SPDX-License-Identifier: Apache-2.0 */
/* Gives leases to the ticket holder and to the local lease requests that follow it, in
 * the order of their grants: leases that local claims have released, and new ones by one
 * multi. The multi is a check of the ticket holder's ticket, then the creates for one or
 * more lease requests. It is carried out as a whole or not at all, and the creates of one
 * lease request are always in one multi. */
#ifndef UVZK_LEASE_BATCH_H
#define UVZK_LEASE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* The multis of one lease directory. */
struct uvzk__lease_batches {
    struct uvzk__lease_batch *in_flight; /* or NULL */
    uint64_t stamp;                      /* of the last one that was sent */
};

/* Called when the lease directory is settled. Gives leases if there is a ticket holder
 * and no multi is in flight. */
void uvzk__lease_batch_settle(struct uvzk__queue *leases);

/* Returns true if the ticket holder waits for the leases that it lacks, and a listing is
 * needed to find room for them. */
bool uvzk__lease_batch_wants_listing(const struct uvzk__queue *leases);

/* Sends a batch that has only the check of the ticket, unless a batch is in flight or
 * nothing may be sent. If the ticket has gone, it ends. */
void uvzk__lease_batch_check_ticket(struct uvzk__queue *, struct uvzk__contender *ticket);

#endif
