/* One claim's way to its leases: claim->extra of a semaphore's claim. Its contenders are
 * the ticket, which stands in `locks`, and its leases. Who follows another one of ours has
 * no ticket of its own (shared_ticket.h).
 *
 *   WAITING --- the ticket's turn: all in one multi ---> MADE ---> COUNTED ---> HELD
 *    |  ^  ^                                              |          |  |       ^ |
 *    |  |  `---------- there are too many: withdrawn -----+----------'  `-------+-'
 *    |  |                                                            untold, ungranted
 *    `--'---- handed on by one that lets go --------------------------> HELD
 *
 * COUNTED: a listing that was sent behind the multi has shown that there is room for
 * them. Leases that are handed on were counted when they were made. Of too many the last
 * in line goes, counted or not; with a lowered count all are counted again. */
#ifndef UVZK_LEASE_REQUEST_H
#define UVZK_LEASE_REQUEST_H

#include "base/machine.h"
#include "claim/lock.h"

/* What a directory of leases has that others have not: uvzk__queue_extra. */
struct uvzk__lease_directory {
    struct uvzk__shared_path *locks_path;      /* of the directory of the tickets */
    struct uvzk__lease_request *ticket_holder; /* whose ticket holds there; or NULL */
    struct uvzk__lease_batch *batch;           /* NULL: none under way */
    uint64_t made_stamp;                       /* of the last one */
    struct uvzk__link offers;                  /* claims, lease_offers.h */
    struct uvzk__link with_leases;             /* who has leases and does not hold yet */
    struct uvzk__link
        ticket_sharers; /* lease requests, in the order of arrival: shared_ticket.h */
    struct uvzk__lease_request *direct; /* has its lease made without a ticket, and is not
                                          counted yet; or NULL */
    uint64_t locks_read_stamp;  /* of the last look into `locks`, direct_lease.h */
    uint64_t locks_empty_stamp; /* of the last one that has found nobody */
    struct uvzk__lease_request
        *last_ticket;        /* of those with tickets the one that came last; or
                                          NULL: it has gone */
    uint64_t ticket_held_ms; /* when the ticket holder's ticket came to hold */
    uint64_t arrivals;       /* of lease requests, so far */
    uint32_t lease_requests;
    uint32_t tickets;        /* lease requests that have one */
    bool new_ticket_wanted;  /* the first of the followers shall have a ticket */
    bool locks_read_pending; /* a look into `locks` is under way */
};

static inline struct uvzk__lease_directory *uvzk__leases(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

/* The directory of the tickets has this path, which is kept; all who say so say the
 * same. */
void uvzk__leases_set_locks_path(struct uvzk__queue *,
                                 struct uvzk__shared_path *locks_path);

/* Whose ticket holds there; NULL: nobody's. */
static inline void
uvzk__leases_set_ticket_holder(struct uvzk__queue *queue,
                               struct uvzk__lease_request *ticket_holder)
{
    uvzk__leases(queue)->ticket_holder = ticket_holder;
}

/* That ticket has just come to hold. */
static inline void uvzk__leases_set_ticket_held(struct uvzk__queue *queue,
                                                uint64_t now_ms)
{
    uvzk__leases(queue)->ticket_held_ms = now_ms;
}

/* This one's ticket is behind all others of ours. */
static inline void uvzk__leases_set_last_ticket(struct uvzk__queue *queue,
                                                struct uvzk__lease_request *last)
{
    uvzk__leases(queue)->last_ticket = last;
}

/* The first of the followers shall have a ticket; or it has got one. */
static inline void uvzk__leases_want_new_ticket(struct uvzk__queue *queue, bool wanted)
{
    uvzk__leases(queue)->new_ticket_wanted = wanted;
}

/* Some are being made, by a request with this stamp; or that has been answered. */
static inline void uvzk__leases_batch_sent(struct uvzk__queue *queue,
                                           struct uvzk__lease_batch *batch,
                                           uint64_t stamp)
{
    uvzk__leases(queue)->batch = batch;
    uvzk__leases(queue)->made_stamp = stamp;
}
static inline void uvzk__leases_batch_answered(struct uvzk__queue *queue)
{
    uvzk__leases(queue)->batch = NULL;
}

/* A look into `locks` is under way, which has this stamp; or has come to nothing, or
 * has been answered: whether nobody was there. */
static inline void uvzk__leases_locks_read_sent(struct uvzk__queue *queue, uint64_t stamp)
{
    uvzk__leases(queue)->locks_read_stamp = stamp;
    uvzk__leases(queue)->locks_read_pending = true;
}
static inline void uvzk__leases_locks_read_failed(struct uvzk__queue *queue)
{
    uvzk__leases(queue)->locks_read_pending = false;
    uvzk__leases(queue)->locks_read_stamp = 0;
}
static inline void uvzk__leases_locks_read_answered(struct uvzk__queue *queue,
                                                    bool vacant)
{
    uvzk__leases(queue)->locks_read_pending = false;
    if (vacant) {
        uvzk__leases(queue)->locks_empty_stamp = uvzk__leases(queue)->locks_read_stamp;
    }
}

enum uvzk__lease_request_state {
    UVZK__LEASE_REQUEST_WAITING, /* next: MADE COUNTED HELD */
    UVZK__LEASE_REQUEST_MADE,    /* next: WAITING COUNTED */
    UVZK__LEASE_REQUEST_COUNTED, /* next: WAITING MADE HELD */
    UVZK__LEASE_REQUEST_HELD     /* next: COUNTED */
};

extern const struct uvzk__machine uvzk__lease_request_machine;

/* What a ticket has been good for so far. */
struct uvzk__ticket_use {
    int64_t fencing_token; /* its czxid, when that began; 0: it has not */
    uint32_t grants;       /* granted by it */
    uint32_t
        most_wanted; /* the most leases that one of those wanted, or is about to have */
};

struct uvzk__lease_request {
    struct uvzk__claim *claim;
    struct uvzk__queue *leases;          /* the directory */
    struct uvzk__contender *ticket;      /* NULL: it has none, or none any more */
    struct uvzk__link in_with_leases;    /* on the directory's bidding */
    struct uvzk__link in_ticket_sharers; /* on the directory's followers */
    struct uvzk__ticket_use ticket_use;  /* of its ticket */
    uint32_t wanted;
    uint64_t arrival;      /* its number among those of this directory */
    int64_t fencing_token; /* the czxid of the ticket that took the leases */
    uint64_t made_stamp; /* of the multi that made the last of its leases; 0: none did */
    uint8_t state;       /* enum uvzk__lease_request_state */
    uint64_t max_when_counted; /* max when it was COUNTED, or had leases handed on */
    bool handed_over;          /* some of them were somebody else's before */
    bool no_handover;          /* nobody shall have what it lets go */
    bool direct;               /* its lease is made without a ticket: direct_lease.h */
    bool create_alone;         /* what is made for it shares no request */
    bool wants_position; /* a ticket that it has after all tells how many are before it */
    /* How many leases there may be at this moment, of everybody. */
    uint64_t (*max)(const struct uvzk__claim *);
};

/* Of a semaphore's claims, semaphore.c. */
extern const struct uvzk__claim_kind uvzk__claim_lease_requests;

/* claim->extra of the claim. UV_ENOMEM. */
int uvzk__lease_request_new(struct uvzk__claim *, struct uvzk__queue *leases,
                            uint32_t wanted, uint64_t (*max)(const struct uvzk__claim *));
/* With its claim, which may have none. */
void uvzk__lease_request_free(struct uvzk__claim *);

static inline struct uvzk__lease_request *
uvzk__lease_request_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* Everybody's leases there, those included that are being deleted, or may have been made;
 * those are not that nothing has been sent for yet. */
uint64_t uvzk__leases_out(const struct uvzk__queue *);

/* Its ticket, the last of ours, and it follows nobody; NULL: it has none any more. */
void uvzk__lease_request_set_ticket(struct uvzk__lease_request *,
                                    struct uvzk__contender *ticket);

/* It follows the others of ours, without a ticket: behind them; or, since it has had one,
 * before them. Not any more. */
void uvzk__lease_request_share_ticket(struct uvzk__lease_request *);
void uvzk__lease_request_share_first(struct uvzk__lease_request *);
void uvzk__lease_request_stop_sharing(struct uvzk__lease_request *);
static inline bool
uvzk__lease_request_is_sharer(const struct uvzk__lease_request *request)
{
    return !uvzk__list_empty(&request->in_ticket_sharers);
}
/* The first follower, the next behind this one; NULL: there is none. */
struct uvzk__lease_request *uvzk__first_sharer(const struct uvzk__queue *);
struct uvzk__lease_request *uvzk__next_sharer(const struct uvzk__lease_request *);

/* By whose ticket it is served: its own; a follower, by the ticket holder's. NULL:
 * nobody's. */
struct uvzk__lease_request *
uvzk__lease_request_ticket_holder(struct uvzk__lease_request *);
const struct uvzk__contender *
uvzk__lease_request_ticket(const struct uvzk__lease_request *);
/* What that one's has been good for; all zero if there is none. */
struct uvzk__ticket_use
uvzk__lease_request_ticket_use(const struct uvzk__lease_request *);
/* One has been granted by its ticket; it has the ticket of another one, with its past. */
void uvzk__lease_request_count_grant(struct uvzk__lease_request *ticket_holder);
void uvzk__lease_request_set_ticket_use(struct uvzk__lease_request *,
                                        struct uvzk__ticket_use);

/* A request with this stamp makes the last of its leases. */
static inline void uvzk__lease_request_set_made_stamp(struct uvzk__lease_request *request,
                                                      uint64_t stamp)
{
    request->made_stamp = stamp;
}

/* Nobody else shall have what it lets go. */
static inline void
uvzk__lease_request_forbid_handover(struct uvzk__lease_request *request)
{
    request->no_handover = true;
}

/* It wants so many less. */
static inline void uvzk__lease_request_wants_less(struct uvzk__lease_request *request,
                                                  uint32_t leases)
{
    request->wanted -= leases;
}

/* Its leases, one after the other; NULL behind the last. */
struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *);
struct uvzk__contender *uvzk__next_lease(const struct uvzk__contender *);

/* How many it has, made or to be made; and how many of those stand, or may. */
uint32_t uvzk__lease_request_lease_count(const struct uvzk__lease_request *);
uint32_t uvzk__lease_request_leases_out(const struct uvzk__lease_request *);

/* Whether any of its leases stands, or may, or is about to. */
bool uvzk__lease_request_begun(const struct uvzk__lease_request *);

/* Whether all of its leases stand, and it has all that it wants. */
bool uvzk__lease_request_all_stand(const struct uvzk__lease_request *);
bool uvzk__lease_request_complete(const struct uvzk__lease_request *);

/* Whether none of its leases is on its way: each stands, or nothing was sent for it. */
bool uvzk__lease_request_none_in_flight(const struct uvzk__lease_request *);

/* No lease of its own making is uncounted. */
static inline bool
uvzk__lease_request_is_counted(const struct uvzk__lease_request *request)
{
    return request->state != UVZK__LEASE_REQUEST_MADE;
}

/* It has its lease made without a ticket: it is about to; its lease leaves, and it is
 * before all others that come; that stands, with this token, by a request with this
 * stamp. Or it is to have a ticket, after all. */
void uvzk__lease_request_set_direct(struct uvzk__lease_request *, bool position);
void uvzk__lease_request_direct_sent(struct uvzk__lease_request *);
void uvzk__lease_request_direct_stands(struct uvzk__lease_request *, int64_t token,
                                       uint64_t stamp);
void uvzk__lease_request_clear_direct(struct uvzk__lease_request *);

/* It gets leases, by its ticket: from here on until it is granted it is on the directory's
 * bidding, in the order of the tokens. They are made for it; or were somebody else's. */
void uvzk__lease_request_made(struct uvzk__lease_request *);
void uvzk__lease_request_handed_over(struct uvzk__lease_request *);
/* There is room for them, as it stands now. */
void uvzk__lease_request_counted(struct uvzk__lease_request *);
/* It has none any more, and waits on. */
void uvzk__lease_request_emptied(struct uvzk__lease_request *);
/* It has been granted them; or not, after all. */
void uvzk__lease_request_granted(struct uvzk__lease_request *);
void uvzk__lease_request_ungranted(struct uvzk__lease_request *);

/* Adds leases, which are still to be made, until it has all that it wants. UV_ENOMEM,
 * UVZK_ELIMIT, UV_EIO. */
int uvzk__lease_request_fill(struct uvzk__lease_request *);

/* What its claim waits for (timed_out_wait.h): its ticket's turn, then room for its
 * leases. */
void uvzk__lease_request_wait_reason(const struct uvzk__claim *, size_t most,
                                     struct uvzk__wait_reason *);

/* Lets go of so many of its leases; surplus: nobody else shall have them. UV_ENOMEM, and
 * then it keeps them. */
int uvzk__lease_request_return(struct uvzk__lease_request *, uint32_t leases,
                               bool no_handover);

#endif
