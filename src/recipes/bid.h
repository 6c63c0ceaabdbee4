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
#ifndef UVZK_BID_H
#define UVZK_BID_H

#include "base/machine.h"
#include "claim/lock.h"

/* What a directory of leases has that others have not: uvzk__queue_extra. */
struct uvzk__lease_directory {
    struct uvzk__shared_path *locks_path; /* of the directory of the tickets */
    struct uvzk__bid *taker;              /* whose ticket holds there; or NULL */
    struct uvzk__lease_making *making;    /* NULL: none under way */
    uint64_t made_stamp;                  /* of the last one */
    struct uvzk__link offers;             /* claims, lease_offers.h */
    struct uvzk__link bidding;            /* who has leases and does not hold yet */
    struct uvzk__link followers; /* bids, in the order of arrival: shared_ticket.h */
    struct uvzk__bid *direct;    /* has its lease made without a ticket, and is not
                                          counted yet; or NULL */
    uint64_t look_stamp;         /* of the last look into `locks`, direct_lease.h */
    uint64_t vacant_stamp;       /* of the last one that has found nobody */
    struct uvzk__bid *last;      /* of those with tickets the one that came last; or
                                          NULL: it has gone */
    uint64_t taken_ms;           /* when the taker's ticket came to hold */
    uint64_t arrivals;           /* of bids, so far */
    uint32_t bids;
    uint32_t tickets; /* bids that have one */
    bool anew;        /* the first of the followers shall have a ticket */
    bool looking;     /* a look into `locks` is under way */
};

static inline struct uvzk__lease_directory *uvzk__leases(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

/* The directory of the tickets has this path, which is kept; all who say so say the same. */
void uvzk__leases_of_locks(struct uvzk__queue *, struct uvzk__shared_path *locks_path);

/* Whose ticket holds there; NULL: nobody's. */
static inline void uvzk__leases_taken_by(struct uvzk__queue *queue,
                                         struct uvzk__bid *taker)
{
    uvzk__leases(queue)->taker = taker;
}

/* That ticket has just come to hold. */
static inline void uvzk__leases_taken_at(struct uvzk__queue *queue, uint64_t now_ms)
{
    uvzk__leases(queue)->taken_ms = now_ms;
}

/* This one's ticket is behind all others of ours. */
static inline void uvzk__leases_last_ticket(struct uvzk__queue *queue,
                                            struct uvzk__bid *last)
{
    uvzk__leases(queue)->last = last;
}

/* The first of the followers shall have a ticket; or it has got one. */
static inline void uvzk__leases_ticket_anew(struct uvzk__queue *queue, bool anew)
{
    uvzk__leases(queue)->anew = anew;
}

/* Some are being made, by a request with this stamp; or that has been answered. */
static inline void uvzk__leases_making(struct uvzk__queue *queue,
                                       struct uvzk__lease_making *making, uint64_t stamp)
{
    uvzk__leases(queue)->making = making;
    uvzk__leases(queue)->made_stamp = stamp;
}
static inline void uvzk__leases_made(struct uvzk__queue *queue)
{
    uvzk__leases(queue)->making = NULL;
}

/* A look into `locks` is under way, which has this stamp; or has come to nothing, or has been
 * answered: whether nobody was there. */
static inline void uvzk__leases_looking(struct uvzk__queue *queue, uint64_t stamp)
{
    uvzk__leases(queue)->look_stamp = stamp;
    uvzk__leases(queue)->looking = true;
}
static inline void uvzk__leases_not_looked(struct uvzk__queue *queue)
{
    uvzk__leases(queue)->looking = false;
    uvzk__leases(queue)->look_stamp = 0;
}
static inline void uvzk__leases_looked(struct uvzk__queue *queue, bool vacant)
{
    uvzk__leases(queue)->looking = false;
    if (vacant) {
        uvzk__leases(queue)->vacant_stamp = uvzk__leases(queue)->look_stamp;
    }
}

enum uvzk__bid_state {
    UVZK__BID_WAITING, /* next: MADE COUNTED HELD */
    UVZK__BID_MADE,    /* next: WAITING COUNTED */
    UVZK__BID_COUNTED, /* next: WAITING MADE HELD */
    UVZK__BID_HELD     /* next: COUNTED */
};

extern const struct uvzk__machine uvzk__bid_machine;

/* What a ticket has been good for so far. */
struct uvzk__service {
    int64_t token;   /* its czxid, when that began; 0: it has not */
    uint32_t served; /* granted by it */
    uint32_t widest; /* the most leases that one of those wanted, or is about to have */
};

struct uvzk__bid {
    struct uvzk__claim *claim;
    struct uvzk__queue *leases;     /* the directory */
    struct uvzk__contender *ticket; /* NULL: it has none, or none any more */
    struct uvzk__link in_line;      /* on the directory's bidding */
    struct uvzk__link following;    /* on the directory's followers */
    struct uvzk__service service;   /* of its ticket */
    uint32_t wanted;
    uint64_t arrival;    /* its number among those of this directory */
    int64_t token;       /* the czxid of the ticket that took the leases */
    uint64_t made_stamp; /* of the multi that made the last of its leases; 0: none did */
    uint8_t state;       /* enum uvzk__bid_state */
    uint64_t allowed;    /* max when it was COUNTED, or had leases handed on */
    bool handed_on;      /* some of them were somebody else's before */
    bool surplus;        /* nobody shall have what it lets go */
    bool direct;         /* its lease is made without a ticket: direct_lease.h */
    bool alone;          /* what is made for it shares no request */
    bool positioned;     /* a ticket that it has after all tells how many are before it */
    /* How many leases there may be at this moment, of everybody. */
    uint64_t (*max)(const struct uvzk__claim *);
};

/* Of a semaphore's claims, semaphore.c. */
extern const struct uvzk__claim_kind uvzk__claim_bids;

/* claim->extra of the claim. UV_ENOMEM. */
int uvzk__bid_new(struct uvzk__claim *, struct uvzk__queue *leases, uint32_t wanted,
                  uint64_t (*max)(const struct uvzk__claim *));
/* With its claim, which may have none. */
void uvzk__bid_free(struct uvzk__claim *);

static inline struct uvzk__bid *uvzk__bid_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* Everybody's leases there, those included that are being deleted, or may have been made;
 * those are not that nothing has been sent for yet. */
uint64_t uvzk__leases_out(const struct uvzk__queue *);

/* Its ticket, the last of ours, and it follows nobody; NULL: it has none any more. */
void uvzk__bid_has_ticket(struct uvzk__bid *, struct uvzk__contender *ticket);

/* It follows the others of ours, without a ticket: behind them; or, since it has had one,
 * before them. Not any more. */
void uvzk__bid_follows(struct uvzk__bid *);
void uvzk__bid_follows_first(struct uvzk__bid *);
void uvzk__bid_follows_no_more(struct uvzk__bid *);
static inline bool uvzk__bid_is_follower(const struct uvzk__bid *bid)
{
    return !uvzk__list_empty(&bid->following);
}
/* The first follower, the next behind this one; NULL: there is none. */
struct uvzk__bid *uvzk__first_follower(const struct uvzk__queue *);
struct uvzk__bid *uvzk__next_follower(const struct uvzk__bid *);

/* By whose ticket it is served: its own; a follower, by the taker's. NULL: nobody's. */
struct uvzk__bid *uvzk__bid_server(struct uvzk__bid *);
const struct uvzk__contender *uvzk__bid_ticket(const struct uvzk__bid *);
/* What that one's has been good for; all zero if there is none. */
struct uvzk__service uvzk__bid_service(const struct uvzk__bid *);
/* One has been granted by its ticket; it has the ticket of another one, with its past. */
void uvzk__bid_serves(struct uvzk__bid *server);
void uvzk__bid_inherits(struct uvzk__bid *, struct uvzk__service);

/* A request with this stamp makes the last of its leases. */
static inline void uvzk__bid_made_at(struct uvzk__bid *bid, uint64_t stamp)
{
    bid->made_stamp = stamp;
}

/* Nobody else shall have what it lets go. */
static inline void uvzk__bid_is_surplus(struct uvzk__bid *bid)
{
    bid->surplus = true;
}

/* It wants so many less. */
static inline void uvzk__bid_wants_less(struct uvzk__bid *bid, uint32_t leases)
{
    bid->wanted -= leases;
}

/* Its leases, one after the other; NULL behind the last. */
struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *);
struct uvzk__contender *uvzk__next_lease(const struct uvzk__contender *);

/* How many it has, made or to be made; and how many of those stand, or may. */
uint32_t uvzk__bid_leases(const struct uvzk__bid *);
uint32_t uvzk__bid_leases_out(const struct uvzk__bid *);

/* Whether any of its leases stands, or may, or is about to. */
bool uvzk__bid_begun(const struct uvzk__bid *);

/* Whether all of its leases stand, and it has all that it wants. */
bool uvzk__bid_all_stand(const struct uvzk__bid *);
bool uvzk__bid_complete(const struct uvzk__bid *);

/* Whether none of its leases is on its way: each stands, or nothing was sent for it. */
bool uvzk__bid_settled(const struct uvzk__bid *);

/* No lease of its own making is uncounted. */
static inline bool uvzk__bid_is_counted(const struct uvzk__bid *bid)
{
    return bid->state != UVZK__BID_MADE;
}

/* It has its lease made without a ticket: it is about to; its lease leaves, and it is before
 * all others that come; that stands, with this token, by a request with this stamp. Or it is
 * to have a ticket, after all. */
void uvzk__bid_goes_direct(struct uvzk__bid *, bool position);
void uvzk__bid_made_directly(struct uvzk__bid *);
void uvzk__bid_stands_directly(struct uvzk__bid *, int64_t token, uint64_t stamp);
void uvzk__bid_goes_direct_no_more(struct uvzk__bid *);

/* It gets leases, by its ticket: from here on until it is granted it is on the directory's
 * bidding, in the order of the tokens. They are made for it; or were somebody else's. */
void uvzk__bid_made(struct uvzk__bid *);
void uvzk__bid_handed_on(struct uvzk__bid *);
/* There is room for them, as it stands now. */
void uvzk__bid_counted(struct uvzk__bid *);
/* It has none any more, and waits on. */
void uvzk__bid_emptied(struct uvzk__bid *);
/* It has been granted them; or not, after all. */
void uvzk__bid_granted(struct uvzk__bid *);
void uvzk__bid_ungranted(struct uvzk__bid *);

/* Adds leases, which are still to be made, until it has all that it wants. UV_ENOMEM,
 * UVZK_ELIMIT, UV_EIO. */
int uvzk__bid_fill(struct uvzk__bid *);

/* What its claim waits for (ran_out.h): its ticket's turn, then room for its leases. */
void uvzk__bid_awaits(const struct uvzk__claim *, size_t most, struct uvzk__awaiting *);

/* Lets go of so many of its leases; surplus: nobody else shall have them. UV_ENOMEM, and
 * then it keeps them. */
int uvzk__bid_return(struct uvzk__bid *, uint32_t leases, bool surplus);

#endif
