/* The `leases` directory of a semaphore, seen by all its local claims. Each claim has
 * a ticket, a contender for the mutex in `locks`; whoever holds that, the taker, and
 * nobody else, may add leases. So the leases of others can only become fewer for as
 * long as `locks` is ours without a break (queue->reign_stamp): one listing is enough.
 *
 *   ticket asked for --> taker --> room for all at once --> leases being made --.
 *                         |   \                             (one multi, with a   |
 *                         |    `-> no room: waits            check of the ticket)|
 *                         |        for somebody's end                            v
 *                         `------ a local claim lets go: ------------------> all stand
 *                                 its leases are handed on                       |
 *                                                            held; ticket let go v
 *
 * A lease that is handed on keeps its znode. Its new owner is granted on credit: the
 * ticket is deleted together with a check of the lease. Leases that are let go are
 * offered for as long as the next in line for `locks` is ours, else they are
 * deleted. */
#ifndef UVZK_LEASES_H
#define UVZK_LEASES_H

#include "state.h"

/* One claim's way to its leases: claim->extra. */
struct uvzk__bid {
    struct uvzk__claim *claim;
    struct uvzk__queue *leases;     /* the directory */
    struct uvzk__contender *ticket; /* NULL once it is not wanted */
    uint32_t wanted;
    int64_t token;  /* the czxid of the ticket that took the leases */
    bool creating;  /* the multi is under way */
    bool calling;   /* a rollcall is under way */
    bool fresh;     /* all its leases have just been seen to stand */
    bool handed_on; /* some of them were somebody else's before, and not seen since */
    /* How many leases there may be at this moment, of everybody. */
    uint64_t (*max)(const struct uvzk__claim *);
    struct uvzk__rpc rpc;
    struct uvzk__op *ops;                 /* a check and `wanted` creates */
    struct uvzk__contender **leases_made; /* of each op */
};

/* The lease behind this link of claim->contenders, or NULL. The list's head is such
 * a link. */
struct uvzk__contender *uvzk__lease_after(const struct uvzk__claim *,
                                          struct uvzk__link *);

/* Whether it has all the leases it wants, and all of them stand. */
bool uvzk__bid_complete(const struct uvzk__bid *);

/* The ticket holds `locks`, or no longer. */
void uvzk__leases_taker(struct uvzk__bid *);
void uvzk__leases_no_taker(struct uvzk__bid *);

/* The claim lets go of its contenders: true if they are leases that stand and are
 * offered to others of ours. */
bool uvzk__leases_offer(struct uvzk__claim *);

/* The part of uvzk__queue_settle that is different for such a directory. */
void uvzk__leases_settle(struct uvzk__queue *);

/* For a new queue: what its watch on the children does. */
void uvzk__leases_init(struct uvzk__queue *);

#endif
