/* One ticket serves several local lease requests: the one that has the ticket, which is
 * the first in line, and its ticket sharers, which have no ticket of their own. They are
 * served in the order of arrival.
 *
 *   ticket sharer --- the one before it is granted or gives up ---> has the ticket
 *    |   ^                                                            |
 *    |   `---- the ticket is released, and it has to wait longer -----'
 *    `---- served by the same multi, or by leases that were handed over ---> granted
 *
 * A lease request that is granted passes the ticket to the first ticket sharer. If there
 * is none, the ticket is released, so a ticket is never kept without use. It is also
 * released when another client's contender is behind it, as soon as the requests in
 * progress have been granted; a watch on the children of `locks` reports such a
 * contender. It is released in any case after 256 grants or 500 ms, because the event of
 * the watch may be late or may never arrive. The first remaining ticket sharer then gets
 * a new ticket.
 *
 * The ticket's czxid is the fencing token of all lease requests that it serves. Two
 * requests that together want more leases than there are exclude one another, and their
 * tokens must differ. So a ticket never serves two such requests. */
#ifndef UVZK_SHARED_TICKET_H
#define UVZK_SHARED_TICKET_H

#include "recipes/semaphore/lease_request.h"

/* After this many grants, or this many ms after it began to hold `locks`, a ticket serves
 * no more ticket sharers. */
#define UVZK__TICKET_GRANTS 256U
#define UVZK__TICKET_MS 500U

/* Whether this new lease request is to become a ticket sharer. False if no other local
 * one has a ticket or shares one, or if this one and the last one with a ticket exclude
 * one another. */
bool uvzk__ticket_should_share(const struct uvzk__lease_request *);

/* A ticket sharer gets a ticket of its own at once, so that it shares its token with no
 * earlier lease request. Does nothing for others. The claim may have ended, and may be
 * freed, when this returns. */
void uvzk__ticket_make_own(struct uvzk__lease_request *);

/* The ticket sharer that the ticket holder's ticket serves next, after this lease
 * request. NULL: there is none, or the ticket may not serve it. There must be a ticket
 * holder. */
struct uvzk__lease_request *uvzk__ticket_next_sharer(const struct uvzk__lease_request *);

/* Whether the ticket holder's ticket serves this ticket sharer already, or may do so.
 * There must be a ticket holder. */
bool uvzk__ticket_may_share(const struct uvzk__lease_request *sharer);

/* Whether there is a ticket holder and a ticket sharer that its ticket may serve next,
 * which can take leases that are released now. */
bool uvzk__ticket_has_next_sharer(const struct uvzk__queue *leases);

/* Whether this lease request may not get leases under its ticket: another one that it
 * excludes has got leases under the ticket, or is getting them, and their tokens must
 * differ. */
bool uvzk__ticket_is_used_up(const struct uvzk__lease_request *);

/* The lease request has been granted: it is no ticket sharer any more, and its own ticket
 * is passed on or released. */
void uvzk__ticket_granted(struct uvzk__lease_request *);

/* The claim of the lease request has ended: it is no ticket sharer any more, and its
 * ticket is passed to the first ticket sharer if that one is next. True: the ticket was
 * passed on and was the claim's only contender, so the claim may have been freed. */
bool uvzk__ticket_claim_ended(struct uvzk__lease_request *);

/* The ticket holder may not get leases under its ticket (uvzk__ticket_is_used_up): its
 * ticket is released, and it becomes the first ticket sharer. */
void uvzk__ticket_release(struct uvzk__lease_request *ticket_holder);

/* A ticket has ended with this code. The ticket sharers that have no leases end too,
 * unless the code is 0 or UVZK_EDELETED: then they can get another ticket. */
void uvzk__ticket_ended(struct uvzk__queue *leases, int code);

/* Gives the first ticket sharer a ticket, if no local lease request has one, or if a new
 * one is wanted (uvzk__leases_want_new_ticket). */
void uvzk__ticket_create_new(struct uvzk__queue *leases);

#endif
