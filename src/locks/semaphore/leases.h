/* SPDX-License-Identifier: Apache-2.0 */
/* The `leases` directory of a semaphore, shared by all its local claims. Each claim has a
 * lease request, whose machine lease_request.h draws. The lease request whose ticket
 * holds `locks` is the ticket holder: one multi creates its leases and those of the local
 * lease requests that follow it in line (lease_batch.h).
 *
 * A listing is sent after the multi, and the grant depends on both. Of two clients that
 * create leases at the same time, the one that lists later sees the leases of both. So
 * the number of holds depends neither on earlier knowledge nor on the ticket. If there
 * are too many leases, the last of the local lease requests withdraw theirs. (Curator
 * also creates first and lists afterwards. Curator may even create a lease without its
 * ticket, after its session has expired.)
 *
 * How many leases other clients have (foreign_nodes.leases) is known from the last
 * listing only, so it is an estimate. It decides only whether to try. While `locks` is
 * held by local tickets without a break (since queue->held_stamp), it seldom becomes too
 * low.
 *
 * Leases that local claims release meanwhile are handed over to the next local claim without
 * a request. Their claim, which has ended, offers them unchanged: to the ticket holder, to
 * its ticket sharers, and to the local claims that wait next in `locks`. The new hold is
 * granted early, and the ticket is deleted only together with a check of the leases. The
 * leases are offered while a local claim may take them; otherwise they are deleted. */
#ifndef UVZK_LEASES_H
#define UVZK_LEASES_H

#include "directory/queue.h"
#include "locks/semaphore/direct_lease.h"
#include "locks/semaphore/lease_batch.h"
#include "locks/semaphore/lease_request.h"
#include "locks/semaphore/shared_ticket.h"

/* The memory of a lease directory for its kind (uvzk__queue_extra). Each file of this folder
 * keeps one member. */
struct uvzk__lease_directory {
    /* Of the directory of the tickets; owned by reference. NULL: not set yet. */
    struct uvzk__shared_path *locks_path;
    /* The maximum of the lease requests that exist, if it is fixed; 0: it is not. */
    uint32_t fixed_max;
    struct uvzk__lease_requests requests;
    struct uvzk__shared_ticket ticket;
    struct uvzk__link offers; /* claims that have ended */
    struct uvzk__lease_batches batches;
    struct uvzk__locks_listing locks_listing;
};

/* That memory. The directory must be a lease directory. */
static inline struct uvzk__lease_directory *uvzk__leases(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

/* The kind of a lease directory. */
extern const struct uvzk__directory_kind uvzk__lease_directory;

/* Sets the path of the directory of the tickets, with a reference. Only the first call
 * has an effect; all semaphores of one path pass the same path. */
void uvzk__leases_set_locks_path(struct uvzk__queue *,
                                 struct uvzk__shared_path *locks_path);
/* A lease request of a semaphore with this maximum is about to be made; 0: the maximum is
 * that of a shared count. Returns false if lease requests with another fixed maximum exist
 * already: they and this one would count the same leases against two limits. */
bool uvzk__leases_agree(const struct uvzk__queue *, uint32_t fixed_max);
void uvzk__leases_set_fixed_max(struct uvzk__queue *, uint32_t fixed_max);
/* The directory of the tickets; NULL: no local contender is in it. */
struct uvzk__queue *uvzk__leases_locks(const struct uvzk__queue *);

/* How many leases exist or may exist, those of all clients together. Leases that are
 * being deleted, and those whose create is in flight or has an unknown outcome, are
 * included. Leases for which nothing has been sent are not. */
uint64_t uvzk__leases_out(const struct uvzk__queue *);

/* Deletes all leases of the lease request, which goes on waiting with its ticket or as a
 * ticket sharer. If it cannot, its claim ends, with UVZK_EDELETED or UV_ENOMEM. */
void uvzk__leases_withdraw(struct uvzk__lease_request *);

/* The claim has ended, and its leases were counted. Returns true if its contenders are
 * leases that exist, and they are offered now. False: the claim must withdraw them. */
bool uvzk__leases_offer(struct uvzk__claim *);

/* Moves offered leases to the lease request, as many as it lacks and there are. Only
 * leases with the node data that its claim wants are moved. */
void uvzk__leases_take_offers(struct uvzk__lease_request *);

#endif
