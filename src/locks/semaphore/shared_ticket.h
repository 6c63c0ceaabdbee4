/* SPDX-License-Identifier: Apache-2.0 */
/* One ticket serves several local lease requests: the one that has the ticket, which is
 * the first in line, and its ticket sharers, which have no ticket of their own. They are
 * served in the order of arrival, by the multi of the ticket holder or by leases that are
 * handed over, or when they get the ticket.
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

#include <stdbool.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__lease_request;
struct uvzk__queue;

/* After this many grants, or this many ms after it began to hold `locks`, a ticket serves
 * no more ticket sharers. */
#define UVZK__TICKET_GRANTS 256U
#define UVZK__TICKET_MS 500U

/* What one ticket has been used for so far. */
struct uvzk__ticket_use {
    /* czxid of the ticket's znode. 0: no leases have been created or handed over under
     * the ticket. If the ticket's znode has another czxid, it has been created again, and
     * this record does not apply to it. */
    int64_t fencing_token;
    uint32_t grants; /* how many lease requests were granted under it */
    /* The most leases that one of these lease requests wanted, or one that is being given
     * leases wants. */
    uint32_t most_wanted;
};

/* The tickets of one lease directory. */
struct uvzk__shared_ticket {
    /* The lease request whose ticket holds `locks`; NULL: no local one does. */
    struct uvzk__lease_request *holder;
    uint64_t held_ms; /* when that ticket began to hold `locks` */
    bool new_wanted;  /* the first ticket sharer must get a ticket */
};

/* The ticket of this lease request has begun to hold `locks`; or it no longer holds it,
 * because it was deleted, passed on or released. */
void uvzk__ticket_held(struct uvzk__lease_request *);
void uvzk__ticket_lost(struct uvzk__lease_request *);

/* Returns true if a listing that was sent after `locks` became this client's has shown
 * the leases of other clients. Since then no other client can have held `locks` and
 * created leases. There must be a ticket holder. */
bool uvzk__ticket_others_counted(const struct uvzk__queue *leases);

/* The ticket under which the lease request gets leases: for a ticket sharer the ticket
 * holder's, otherwise its own. NULL: there is none. */
struct uvzk__contender *uvzk__ticket_of(const struct uvzk__lease_request *);

/* The lease request gets leases under that ticket, and this is recorded. Returns its
 * token. There must be such a ticket. */
int64_t uvzk__ticket_begin_use(struct uvzk__lease_request *);

/* Returns true if this new lease request should become a ticket sharer. False if no other
 * local one has a ticket or shares one, or if this one and the last one with a ticket
 * exclude one another. */
bool uvzk__ticket_should_share(const struct uvzk__lease_request *);

/* From now on the claim ends if another client deletes the ticket. */
void uvzk__ticket_forbid_recreate(struct uvzk__contender *ticket);

/* Gives the lease request a ticket of its own, which is to be pumped. Returns 0, or
 * UV_ENOMEM, UVZK_ELIMIT or UV_EIO. */
int uvzk__ticket_make(struct uvzk__lease_request *);
/* A ticket sharer gets a ticket of its own at once, so that it shares its token with no
 * earlier lease request. Does nothing for others. The claim may have ended, and may be
 * freed, when this returns. */
void uvzk__ticket_make_own(struct uvzk__lease_request *);

/* The ticket sharer that the ticket holder's ticket serves next, after this lease
 * request. NULL: there is none, or the ticket may not serve it. There must be a ticket
 * holder. */
struct uvzk__lease_request *uvzk__ticket_next_sharer(const struct uvzk__lease_request *);

/* Returns true if the ticket holder's ticket serves this ticket sharer already, or may do
 * so. There must be a ticket holder. */
bool uvzk__ticket_may_share(const struct uvzk__lease_request *sharer);

/* Returns true if there is a ticket holder and a ticket sharer that its ticket may serve
 * next, which can take leases that are released now. */
bool uvzk__ticket_has_next_sharer(const struct uvzk__queue *leases);

/* Returns true if this lease request may not get leases under its ticket: another one
 * that it excludes has got leases under the ticket, or is getting them, and their tokens
 * must differ. */
bool uvzk__ticket_is_used_up(const struct uvzk__lease_request *);

/* Returns true if the lease request may no longer be granted under its ticket. Either
 * another client has deleted the ticket: a new one is at the tail, or will be, and other
 * contenders are served first. Or the ticket may not serve this lease request. */
bool uvzk__ticket_place_is_lost(const struct uvzk__lease_request *);

/* The first function records that the lease request is now granted under its ticket. The
 * second: it has been granted, so its own ticket is passed on or released. */
void uvzk__ticket_count_grant(struct uvzk__lease_request *);
void uvzk__ticket_granted(struct uvzk__lease_request *);

/* The claim of the lease request has ended: its ticket is passed to the first ticket
 * sharer if that one is next. True: the ticket was passed on and was the claim's only
 * contender, so the claim may have been freed. */
bool uvzk__ticket_claim_ended(struct uvzk__lease_request *);

/* The ticket holder may not get leases under its ticket (uvzk__ticket_is_used_up): its
 * ticket is released, and it becomes the first ticket sharer. */
void uvzk__ticket_release(struct uvzk__lease_request *ticket_holder);

/* A ticket has ended with this code. The ticket sharers that have no leases end too,
 * unless the code is 0 or UVZK_EDELETED: then they can get another ticket. */
void uvzk__ticket_ended(struct uvzk__queue *leases, int code);

/* Gives the first ticket sharer a ticket, if no local lease request has one, or if a new
 * one is wanted. The second function: a new one is wanted from now on. */
void uvzk__ticket_create_new(struct uvzk__queue *leases);
void uvzk__ticket_want_new(struct uvzk__queue *leases);

#endif
