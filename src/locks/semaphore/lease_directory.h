/* What a semaphore keeps for its lease directory (leases.h). Each file of this folder keeps
 * one member. */
#ifndef UVZK_LEASE_DIRECTORY_H
#define UVZK_LEASE_DIRECTORY_H

#include "directory/queue.h"
#include "locks/semaphore/direct_lease.h"
#include "locks/semaphore/lease_batch.h"
#include "locks/semaphore/lease_request.h"
#include "locks/semaphore/shared_ticket.h"

/* The memory of a lease directory for its kind (uvzk__queue_extra). */
struct uvzk__lease_directory {
    /* Of the directory of the tickets; owned by reference. NULL: not set yet. */
    struct uvzk__shared_path *locks_path;
    /* The maximum of the lease requests that exist, if it is fixed; 0: it is not. */
    uint32_t fixed_max;
    struct uvzk__lease_requests requests;
    struct uvzk__shared_ticket ticket;
    struct uvzk__link offers; /* claims that have ended (lease_offers.h) */
    struct uvzk__lease_batches batches;
    struct uvzk__locks_listing locks_listing;
};

/* That memory. The directory must be a lease directory. */
static inline struct uvzk__lease_directory *uvzk__leases(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

#endif
