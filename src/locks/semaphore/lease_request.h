/* SPDX-License-Identifier: Apache-2.0 */
/* A lease request is one claim's way to its leases: claim->extra of a semaphore's claim.
 * The claim's contenders are its ticket, which is in `locks`, and its leases.
 *
 *               NEW
 *      .---------+--------.
 *      v         v        v
 *   SHARING<->TICKETED  DIRECT   how it will get leases
 *      |  ^      |  ^     |
 *      v  |      v  |     v      leases are created; they are withdrawn
 *   --------- UNCOUNTED -------  leases exist or may exist, and no listing counts them
 *                |  ^
 *                v  |            there is room for them; it gets more
 *             COUNTED            it is granted in the order of the tokens
 *                |  ^
 *                v  |            granted; taken back before the user knew of it
 *               HELD             the claim holds
 *
 * SHARING: it has no ticket, and the ticket holder's ticket serves it (shared_ticket.h).
 * TICKETED: it has a ticket, which waits in `locks` or holds it. DIRECT: it creates its
 * lease without a ticket (direct_lease.h); if it may not, it is SHARING. Leases that
 * local claims hand over have been counted already: a SHARING or TICKETED request that
 * gets some is COUNTED at once. If there are too many leases, those of the last lease
 * request in line are withdrawn, counted or not, and it is SHARING or TICKETED again.
 * After the maximum has been lowered, all of them are counted again. The end of the claim
 * leads from every state to ENDED. */
#ifndef UVZK_LEASE_REQUEST_H
#define UVZK_LEASE_REQUEST_H

#include "base/list.h"
#include "base/machine.h"
#include "claim/lock.h"
#include "locks/semaphore/shared_ticket.h"

enum uvzk__lease_request_state {
    UVZK__LEASE_REQUEST_NEW,       /* next: SHARING TICKETED DIRECT HELD ENDED */
    UVZK__LEASE_REQUEST_SHARING,   /* next: TICKETED UNCOUNTED COUNTED ENDED */
    UVZK__LEASE_REQUEST_TICKETED,  /* next: SHARING UNCOUNTED COUNTED ENDED */
    UVZK__LEASE_REQUEST_DIRECT,    /* next: SHARING UNCOUNTED ENDED */
    UVZK__LEASE_REQUEST_UNCOUNTED, /* next: SHARING TICKETED COUNTED ENDED */
    UVZK__LEASE_REQUEST_COUNTED,   /* next: SHARING TICKETED UNCOUNTED HELD ENDED */
    UVZK__LEASE_REQUEST_HELD,      /* next: COUNTED ENDED */
    UVZK__LEASE_REQUEST_ENDED      /* final: its leases are offered, or deleted */
};

extern const struct uvzk__machine uvzk__lease_request_machine;

struct uvzk__lease_request {
    struct uvzk__claim *claim;
    struct uvzk__queue *leases;          /* the lease directory */
    struct uvzk__contender *ticket;      /* its own ticket, or NULL */
    struct uvzk__link in_with_leases;    /* in the directory's with_leases */
    struct uvzk__link in_ticket_sharers; /* in the directory's ticket_sharers */
    struct uvzk__ticket_use ticket_use;  /* of its ticket */
    uint64_t arrival;                    /* its number in its directory, from 1 */
    /* The czxid of the ticket under which it got its leases; without a ticket, of its
     * lease, and 0 until that is known. */
    int64_t fencing_token;
    /* The result of max() when it was COUNTED. */
    uint64_t max_when_counted;
    /* How many leases may exist at this moment, those of all clients together. */
    uint64_t (*max)(const struct uvzk__claim *);
    uint32_t wanted;         /* how many leases, at least 1 */
    uint8_t state;           /* enum uvzk__lease_request_state */
    bool handed_over : 1;    /* at least one lease was handed over to it */
    bool direct : 1;         /* its lease was created without a ticket, or will be */
    bool create_alone : 1;   /* the create of its ticket shares no multi */
    bool wants_position : 1; /* the next ticket that it gets reports its position */
};

/* The lease requests of one lease directory, by what they have. */
struct uvzk__lease_requests {
    /* Those that have leases and do not hold yet, in the order of the tokens: UNCOUNTED,
     * COUNTED, and those of them that have ENDED. */
    struct uvzk__link with_leases;
    /* Those that share the ticket holder's ticket, in the order of arrival. */
    struct uvzk__link ticket_sharers;
    /* The one that is DIRECT, or UNCOUNTED after that; NULL: none. */
    struct uvzk__lease_request *direct;
    /* The last one that got a ticket, if it still has its ticket; else NULL. */
    struct uvzk__lease_request *last_ticket;
    uint64_t arrivals; /* how many were made so far */
    uint32_t count;    /* how many exist */
    uint32_t tickets;  /* how many of them have a ticket */
};

static inline struct uvzk__lease_request *
uvzk__lease_request_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* The lease request of a link of with_leases. */
static inline struct uvzk__lease_request *uvzk__lease_request_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_with_leases);
}

void uvzk__lease_requests_init(struct uvzk__lease_requests *);

/* Makes the claim's lease request, as claim->extra. It is NEW and has neither a ticket
 * nor leases. max: see the struct. Returns 0 or UV_ENOMEM. */
int uvzk__lease_request_new(struct uvzk__claim *, struct uvzk__queue *leases,
                            uint32_t wanted, uint64_t (*max)(const struct uvzk__claim *));
/* Frees the claim's lease request, if it has one. Called when the claim is freed. */
void uvzk__lease_request_free(struct uvzk__claim *);

/* Its claim has ended. */
static inline bool uvzk__lease_request_ended(const struct uvzk__lease_request *request)
{
    return request->state == UVZK__LEASE_REQUEST_ENDED;
}
/* Its leases have been counted, so it may be granted, and it may hand them over. */
static inline bool
uvzk__lease_request_is_counted(const struct uvzk__lease_request *request)
{
    return request->state == UVZK__LEASE_REQUEST_COUNTED ||
           request->state == UVZK__LEASE_REQUEST_HELD;
}
/* It has no ticket of its own, and the ticket holder's ticket serves it. It may have
 * leases already. */
static inline bool
uvzk__lease_request_is_sharer(const struct uvzk__lease_request *request)
{
    return !uvzk__list_empty(&request->in_ticket_sharers);
}

/* The first ticket sharer, and the next one behind a given one. NULL: there is none. */
struct uvzk__lease_request *uvzk__first_sharer(const struct uvzk__queue *);
struct uvzk__lease_request *uvzk__next_sharer(const struct uvzk__lease_request *);

/* It becomes a ticket sharer: the last one; or the first one, because it has had its turn
 * before. It must not have a ticket. Leases for which nothing has been sent stay with it,
 * and the next batch creates them. */
void uvzk__lease_request_share(struct uvzk__lease_request *);
void uvzk__lease_request_share_first(struct uvzk__lease_request *);

/* The first function: it gets this ticket, which counts as the last of the local ones,
 * and is no longer a ticket sharer. The second: it no longer has a ticket. The third: its
 * ticket becomes that of `to`, a ticket sharer. */
void uvzk__lease_request_get_ticket(struct uvzk__lease_request *,
                                    struct uvzk__contender *ticket);
void uvzk__lease_request_lose_ticket(struct uvzk__lease_request *);
void uvzk__lease_request_pass_ticket(struct uvzk__lease_request *from,
                                     struct uvzk__lease_request *to);

/* It is about to create its lease without a ticket (direct_lease.h). */
void uvzk__lease_request_go_direct(struct uvzk__lease_request *);
/* It becomes the first ticket sharer instead. */
void uvzk__lease_request_leave_direct(struct uvzk__lease_request *);

/* It gets leases under this token: they are created for it, or were handed over to it.
 * From now until the grant it is in with_leases. Without a ticket the token is 0, so that
 * it comes first, until the lease exists; then it is called again. */
void uvzk__lease_request_create_leases(struct uvzk__lease_request *, int64_t token);
void uvzk__lease_request_take_over(struct uvzk__lease_request *, int64_t token);

/* There is room for its leases, by the current maximum. */
void uvzk__lease_request_counted(struct uvzk__lease_request *);

/* Its leases are withdrawn, so it has to get others with its ticket, or as a ticket
 * sharer. */
void uvzk__lease_request_withdrawn(struct uvzk__lease_request *);
/* It has been granted; the grant is taken back before it was reported. */
void uvzk__lease_request_granted(struct uvzk__lease_request *);
void uvzk__lease_request_ungranted(struct uvzk__lease_request *);
/* Its claim ends. Does nothing if it has ended already. */
void uvzk__lease_request_end(struct uvzk__lease_request *);

/* The leases of a claim, one after the other; NULL after the last. */
struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *);
struct uvzk__contender *uvzk__next_lease(struct uvzk__contender *);

/* How many leases it has, including those that are still to be created; and how many of
 * them have a known place, because they exist or are being deleted. */
uint32_t uvzk__lease_request_lease_count(const struct uvzk__lease_request *);
uint32_t uvzk__lease_request_leases_out(const struct uvzk__lease_request *);
/* The stamp of the newest request that created one of them; 0: none was sent. */
uint64_t uvzk__lease_request_create_stamp(const struct uvzk__lease_request *);

/* Returns true if any of its leases exists, may exist, or is being created. */
bool uvzk__lease_request_begun(const struct uvzk__lease_request *);
/* The first function returns true if all leases that it has exist; the second, if it also
 * has all that it wants. */
bool uvzk__lease_request_all_stand(const struct uvzk__lease_request *);
bool uvzk__lease_request_complete(const struct uvzk__lease_request *);
/* Returns true if no request for any of its leases is in flight: each lease exists, or
 * nothing has been sent for it. */
bool uvzk__lease_request_none_in_flight(const struct uvzk__lease_request *);

/* Adds leases, which are still to be created, until it has as many as it wants. Returns
 * 0, or UV_ENOMEM, UVZK_ELIMIT or UV_EIO, with some of them added. */
int uvzk__lease_request_fill(struct uvzk__lease_request *);

/* Gives up this many of its leases, which are offered to other local claims or deleted:
 * it then wants fewer leases. The second function gives up all of its leases, which are
 * deleted. Returns 0, or UV_ENOMEM with nothing changed. */
int uvzk__lease_request_return(struct uvzk__lease_request *, uint32_t leases);
int uvzk__lease_request_delete_all(struct uvzk__lease_request *);

/* What its claim waits for (timed_out_wait.h): first that its ticket holds `locks`, then
 * room for its leases. */
void uvzk__lease_request_wait_reason(const struct uvzk__claim *, size_t most,
                                     struct uvzk__wait_reason *);

#endif
