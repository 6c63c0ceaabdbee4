/* A lease that is made without a ticket, where nobody else is: three requests for an acquire
 * and its release.
 *
 *   asked --- alone, as far as is known ---> its lease is made, by itself, and behind that
 *     |                                      `locks` is looked at
 *     |                                        |
 *     |                       nobody is there after the leases were counted, and there is
 *     |                       room: granted    |
 *     v                                        v  else
 *   has a ticket <---------- its lease is withdrawn, at once
 *
 * A ticket is good for three things: its holder counts the leases alone, is served before
 * those that come later, and has a token between theirs. All of that is so without one if
 * nobody is in `locks` (docs/decisions/leases.md). How many leases there are says a listing, or
 * the lease's number (watermark.h).
 *
 * Only who has been alone for a while tries: the directory of the leases has a watermark, and
 * the last number was the next one. One at a time, when none of ours has or wants a ticket. */
#ifndef UVZK_DIRECT_LEASE_H
#define UVZK_DIRECT_LEASE_H

#include "recipes/lease_request.h"

/* Whether this one, which is new, may try; and it does. position: it wants to be told
 * how many are before it, if there are any. 0 or why it cannot have a lease, as
 * uvzk__lease_request_fill. */
bool uvzk__direct_lease_may(const struct uvzk__lease_request *);
int uvzk__direct_lease_begin(struct uvzk__lease_request *, bool position);

/* Another one of ours comes: whether one tries that has asked for nothing yet; it is
 * to have a ticket before (uvzk__ticket_create_new). */
bool uvzk__direct_lease_yield(struct uvzk__queue *leases);

/* The leases' directory is settled: what is due is sent; who may not be granted,
 * whatever the count says, is withdrawn. */
void uvzk__direct_lease_settle(struct uvzk__queue *leases);

/* Whether a listing is wanted that counts it; then `locks` is looked at, if it is time. */
bool uvzk__direct_lease_wants_listing(const struct uvzk__queue *leases);
void uvzk__direct_lease_read_locks(struct uvzk__queue *leases);

/* Whether it is counted, and nobody was in `locks` after that. */
bool uvzk__direct_lease_is_counted(const struct uvzk__lease_request *);

/* Its lease goes, and it is to have a ticket. Its claim may have ended afterwards. */
void uvzk__direct_lease_withdraw(struct uvzk__lease_request *);

#endif
