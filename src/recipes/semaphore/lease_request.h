/* One claim's way to its leases: claim->extra of a semaphore's claim. The claim's
 * contenders are its ticket, which is in `locks`, and its leases. A ticket sharer has no
 * ticket of its own (shared_ticket.h).
 *
 *   WAITING --- the ticket holds `locks`: one multi ---> MADE ---> COUNTED ---> HELD
 *    |    ^                                               |          |  ^       |
 *    |    `------- too many leases: withdrawn ------------+----------'  `-------'
 *    |                                                     the grant is taken back
 *    `---- all leases are handed over by local claims ------------------> HELD
 *
 * MADE: the creates have been sent. COUNTED: a listing that was sent after the multi has
 * shown that there is room for the leases. Leases that are handed over were counted when
 * they were created. If there are too many leases, those of the last lease request in
 * line are withdrawn, whether they are counted or not. After the maximum has been
 * lowered, all of them are counted again. */
#ifndef UVZK_LEASE_REQUEST_H
#define UVZK_LEASE_REQUEST_H

#include "base/machine.h"
#include "claim/lock.h"

/* The memory of a lease directory for its kind (uvzk__queue_extra). */
struct uvzk__lease_directory {
    /* Of the directory of the tickets; owned by reference. NULL: not set yet. */
    struct uvzk__shared_path *locks_path;
    /* The lease request whose ticket holds `locks`, or NULL. */
    struct uvzk__lease_request *ticket_holder;
    struct uvzk__lease_batch *batch; /* the batch in flight, or NULL */
    uint64_t made_stamp;             /* of the last batch that was sent */
    struct uvzk__link offers;        /* claims that have ended (lease_offers.h) */
    /* Lease requests that have leases and do not hold yet, in the order of the tokens. */
    struct uvzk__link with_leases;
    /* Lease requests without a ticket of their own, in the order of arrival
     * (shared_ticket.h). */
    struct uvzk__link ticket_sharers;
    /* The lease request whose lease is created without a ticket and not counted yet
     * (direct_lease.h), or NULL. */
    struct uvzk__lease_request *direct;
    uint64_t locks_read_stamp;  /* of the last listing of `locks` (direct_lease.h) */
    uint64_t locks_empty_stamp; /* of the last such listing that showed no child */
    /* The last of the lease requests with tickets, if it still has its ticket; else
     * NULL. */
    struct uvzk__lease_request *last_ticket;
    uint64_t ticket_held_ms; /* when the ticket holder's ticket began to hold `locks` */
    uint64_t arrivals;       /* the number of lease requests made so far */
    uint32_t lease_requests; /* how many exist */
    uint32_t tickets;        /* how many of them have a ticket */
    bool new_ticket_wanted;  /* the first ticket sharer is to get a ticket */
    bool locks_read_pending; /* a listing of `locks` is in flight */
};

/* That memory. The directory must be a lease directory. */
static inline struct uvzk__lease_directory *uvzk__leases(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

/* Sets the path of the directory of the tickets, with a reference. Only the first call
 * has an effect; all semaphores of one path pass the same path. */
void uvzk__leases_set_locks_path(struct uvzk__queue *,
                                 struct uvzk__shared_path *locks_path);

/* The ticket of this lease request holds `locks`; NULL: no local ticket does. */
static inline void
uvzk__leases_set_ticket_holder(struct uvzk__queue *queue,
                               struct uvzk__lease_request *ticket_holder)
{
    uvzk__leases(queue)->ticket_holder = ticket_holder;
}

/* The ticket has begun to hold `locks` at this time. */
static inline void uvzk__leases_set_ticket_held(struct uvzk__queue *queue,
                                                uint64_t now_ms)
{
    uvzk__leases(queue)->ticket_held_ms = now_ms;
}

/* The ticket of this lease request is behind all other local tickets. */
static inline void uvzk__leases_set_last_ticket(struct uvzk__queue *queue,
                                                struct uvzk__lease_request *last)
{
    uvzk__leases(queue)->last_ticket = last;
}

/* Sets whether the first ticket sharer is to get a ticket (uvzk__ticket_create_new). */
static inline void uvzk__leases_want_new_ticket(struct uvzk__queue *queue, bool wanted)
{
    uvzk__leases(queue)->new_ticket_wanted = wanted;
}

/* The batch has been sent, with this stamp; it has been answered. */
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

/* A listing of `locks` has been sent, with this stamp; it has failed and is to be
 * repeated; it has been answered, vacant: it showed that `locks` has no child. */
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

struct uvzk__lease_request {
    struct uvzk__claim *claim;
    struct uvzk__queue *leases;          /* the lease directory */
    struct uvzk__contender *ticket;      /* its own ticket, or NULL */
    struct uvzk__link in_with_leases;    /* in the directory's with_leases */
    struct uvzk__link in_ticket_sharers; /* in the directory's ticket_sharers */
    struct uvzk__ticket_use ticket_use;  /* of its ticket */
    uint32_t wanted;                     /* how many leases, at least 1 */
    uint64_t arrival;                    /* its number in its directory, from 1 */
    /* The czxid of the ticket under which it got its leases; without a ticket, of its
     * lease, and 0 until that is known. */
    int64_t fencing_token;
    uint64_t made_stamp; /* of the multi that created its last lease; 0: none did */
    uint8_t state;       /* enum uvzk__lease_request_state */
    /* The result of max() when it was COUNTED, or when leases were handed over to it. */
    uint64_t max_when_counted;
    bool handed_over;    /* at least one lease was handed over to it */
    bool no_handover;    /* its leases must not be offered when it ends */
    bool direct;         /* its lease is created without a ticket (direct_lease.h) */
    bool create_alone;   /* the create of its ticket shares no multi */
    bool wants_position; /* a ticket that it gets later reports its position */
    /* How many leases may exist at this moment, those of all clients together. */
    uint64_t (*max)(const struct uvzk__claim *);
};

/* The kind of a semaphore's claims (semaphore.c). */
extern const struct uvzk__claim_kind uvzk__claim_lease_requests;

/* Makes the claim's lease request, as claim->extra. It is WAITING and has neither a
 * ticket nor leases. max: see the struct. Returns 0 or UV_ENOMEM. */
int uvzk__lease_request_new(struct uvzk__claim *, struct uvzk__queue *leases,
                            uint32_t wanted, uint64_t (*max)(const struct uvzk__claim *));
/* Frees the claim's lease request, if it has one. Called when the claim is freed. */
void uvzk__lease_request_free(struct uvzk__claim *);

static inline struct uvzk__lease_request *
uvzk__lease_request_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* How many leases exist or may exist, those of all clients together. Leases that are
 * being deleted, and those whose create is in flight or has an unknown outcome, are
 * included. Leases for which nothing has been sent are not. */
uint64_t uvzk__leases_out(const struct uvzk__queue *);

/* The lease request gets this ticket, which counts as the last of the local ones, and is
 * no ticket sharer any more. NULL: it has no ticket any more. */
void uvzk__lease_request_set_ticket(struct uvzk__lease_request *,
                                    struct uvzk__contender *ticket);

/* The lease request becomes a ticket sharer: the last one; or the first one, because it
 * has had its turn before. Or it is no ticket sharer any more. */
void uvzk__lease_request_share_ticket(struct uvzk__lease_request *);
void uvzk__lease_request_share_first(struct uvzk__lease_request *);
void uvzk__lease_request_stop_sharing(struct uvzk__lease_request *);
static inline bool
uvzk__lease_request_is_sharer(const struct uvzk__lease_request *request)
{
    return !uvzk__list_empty(&request->in_ticket_sharers);
}
/* The first ticket sharer, and the next one behind a given one. NULL: there is none. */
struct uvzk__lease_request *uvzk__first_sharer(const struct uvzk__queue *);
struct uvzk__lease_request *uvzk__next_sharer(const struct uvzk__lease_request *);

/* The lease request under whose ticket this one gets leases: for a ticket sharer the
 * ticket holder, otherwise itself. NULL: there is no such ticket. */
struct uvzk__lease_request *
uvzk__lease_request_ticket_holder(struct uvzk__lease_request *);
/* That ticket, or NULL. */
const struct uvzk__contender *
uvzk__lease_request_ticket(const struct uvzk__lease_request *);
/* What that ticket has been used for. All 0 if there is no ticket, or if it has not been
 * used since its znode was created. */
struct uvzk__ticket_use
uvzk__lease_request_ticket_use(const struct uvzk__lease_request *);
/* A lease request has been granted under the ticket of this one; this one has received
 * the ticket of another, with this record of its use. */
void uvzk__lease_request_count_grant(struct uvzk__lease_request *ticket_holder);
void uvzk__lease_request_set_ticket_use(struct uvzk__lease_request *,
                                        struct uvzk__ticket_use);

/* The request with this stamp creates the last of its leases. */
static inline void uvzk__lease_request_set_made_stamp(struct uvzk__lease_request *request,
                                                      uint64_t stamp)
{
    request->made_stamp = stamp;
}

/* Its leases must not be handed over when it ends. */
static inline void
uvzk__lease_request_forbid_handover(struct uvzk__lease_request *request)
{
    request->no_handover = true;
}

/* It wants `leases` fewer leases than before. */
static inline void uvzk__lease_request_wants_less(struct uvzk__lease_request *request,
                                                  uint32_t leases)
{
    request->wanted -= leases;
}

/* The leases of a claim, one after the other; NULL after the last. */
struct uvzk__contender *uvzk__first_lease(const struct uvzk__claim *);
struct uvzk__contender *uvzk__next_lease(const struct uvzk__contender *);

/* How many leases it has, including those that are still to be created; and how many of
 * them have a known place, because they exist or are being deleted. */
uint32_t uvzk__lease_request_lease_count(const struct uvzk__lease_request *);
uint32_t uvzk__lease_request_leases_out(const struct uvzk__lease_request *);

/* Whether any of its leases exists, may exist, or is being created. */
bool uvzk__lease_request_begun(const struct uvzk__lease_request *);

/* Whether all leases that it has exist; whether this is so and it has all that it
 * wants. */
bool uvzk__lease_request_all_stand(const struct uvzk__lease_request *);
bool uvzk__lease_request_complete(const struct uvzk__lease_request *);

/* Whether no request for any of its leases is in flight: each lease exists, or nothing
 * has been sent for it. */
bool uvzk__lease_request_none_in_flight(const struct uvzk__lease_request *);

/* Whether it has no lease that was created for it and is not counted yet. */
static inline bool
uvzk__lease_request_is_counted(const struct uvzk__lease_request *request)
{
    return request->state != UVZK__LEASE_REQUEST_MADE;
}

/* The steps of a lease request without a ticket (direct_lease.h). set_direct: it is about
 * to create its lease. direct_sent: the create leaves now, and the lease request comes
 * before all others in with_leases. direct_stands: the lease exists, with this token, by
 * a create with this stamp. clear_direct: it is to get a ticket instead. */
void uvzk__lease_request_set_direct(struct uvzk__lease_request *, bool position);
void uvzk__lease_request_direct_sent(struct uvzk__lease_request *);
void uvzk__lease_request_direct_stands(struct uvzk__lease_request *, int64_t token,
                                       uint64_t stamp);
void uvzk__lease_request_clear_direct(struct uvzk__lease_request *);

/* It gets leases under a ticket: they are created for it, or were handed over to it. From
 * now until the grant it is in the directory's with_leases, in the order of the
 * tokens. */
void uvzk__lease_request_made(struct uvzk__lease_request *);
void uvzk__lease_request_handed_over(struct uvzk__lease_request *);
/* There is room for its leases, by the current maximum. */
void uvzk__lease_request_counted(struct uvzk__lease_request *);
/* It has no leases any more, and goes on waiting. */
void uvzk__lease_request_emptied(struct uvzk__lease_request *);
/* It has been granted; the grant is taken back before it was reported. */
void uvzk__lease_request_granted(struct uvzk__lease_request *);
void uvzk__lease_request_ungranted(struct uvzk__lease_request *);

/* Adds leases, which are still to be created, until it has as many as it wants. Returns
 * 0, or UV_ENOMEM, UVZK_ELIMIT or UV_EIO, with some of them added. */
int uvzk__lease_request_fill(struct uvzk__lease_request *);

/* What its claim waits for (timed_out_wait.h): first that its ticket holds `locks`, then
 * room for its leases. */
void uvzk__lease_request_wait_reason(const struct uvzk__claim *, size_t most,
                                     struct uvzk__wait_reason *);

/* Gives up this many of its leases. They are offered to other local claims, or deleted;
 * with no_handover they are always deleted. Returns 0, or UV_ENOMEM with nothing
 * changed. */
int uvzk__lease_request_return(struct uvzk__lease_request *, uint32_t leases,
                               bool no_handover);

#endif
