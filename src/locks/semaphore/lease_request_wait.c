/* What a lease request waits for (uvzk_hold_wait_info): first that its ticket holds `locks`,
 * then its leases. Computed from what the session knows; no request is sent. */
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "locks/semaphore/leases.h"

/* How many leases exist: those of other clients in the last listing, and the local ones
 * that hold. */
static uint64_t leases_out(const struct uvzk__queue *leases)
{
    return uvzk__queue_optional(leases)->foreign_nodes.leases +
           uvzk__ring_length(&leases->holders);
}

/* The ticket holds `locks`. Either leases are being created, the directory is being
 * listed, or there is no room for its leases. */
static void wait_for_leases(const struct uvzk__lease_request *request,
                            struct uvzk__wait_reason *reason)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    if (uvzk__lease_request_complete(request)) {
        reason->kind = UVZK_WAITS_FOR_PROOF;
    } else if (uvzk__lease_request_begun(request)) {
        reason->kind = UVZK_WAITS_FOR_ZNODE;
    } else if (lease != NULL && lease->node.state == UVZK__NODE_PARENTS) {
        reason->kind = UVZK_WAITS_FOR_DIRECTORY;
    } else if (!uvzk__ticket_others_counted(request->leases)) {
        reason->kind = UVZK_WAITS_FOR_PLACE;
    } else if (leases_out(request->leases) + request->wanted >
               request->max(request->claim)) {
        reason->kind = UVZK_WAITS_FOR_LEASES;
        reason->ahead = leases_out(request->leases);
    } else {
        reason->kind = UVZK_WAITS_FOR_ZNODE; /* they are about to be created */
    }
}

/* Before a ticket sharer are all local lease requests that have tickets, and the ticket
 * sharers that arrived earlier. */
static void wait_as_sharer(const struct uvzk__lease_request *request, size_t most,
                           struct uvzk__wait_reason *reason)
{
    const struct uvzk__lease_request *before = uvzk__first_sharer(request->leases);

    *reason = (struct uvzk__wait_reason){.kind = UVZK_WAITS_FOR_CONNECTION};
    if (!uvzk__is_connected(request->claim->session)) {
        return;
    }
    reason->kind = UVZK_WAITS_FOR_OURS;
    reason->ahead = uvzk__leases(request->leases)->requests.tickets;
    while (before != request && reason->ahead < most) {
        reason->ahead++;
        before = uvzk__next_sharer(before);
    }
}

/* It has no ticket: its ticket has been passed on or released, or it needs none. Its
 * lease is created, then counted. */
static void wait_directly(const struct uvzk__lease_request *request,
                          struct uvzk__wait_reason *reason)
{
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);

    if (lease == NULL || !uvzk__contender_place_wait_reason(lease, reason)) {
        reason->kind = uvzk__lease_request_is_counted(request) ? UVZK_WAITS_FOR_PROOF
                                                               : UVZK_WAITS_FOR_PLACE;
    }
}

void uvzk__lease_request_wait_reason(const struct uvzk__claim *claim, size_t most,
                                     struct uvzk__wait_reason *reason)
{
    const struct uvzk__lease_request *request = uvzk__lease_request_of(claim);

    if (uvzk__lease_request_is_sharer(request)) {
        wait_as_sharer(request, most, reason);
        return;
    }
    if (request->ticket == NULL) {
        wait_directly(request, reason);
        return;
    }
    if (!uvzk__contender_holds(request->ticket)) {
        uvzk__contender_wait_reason(request->ticket, most, reason);
    } else if (!uvzk__contender_place_wait_reason(request->ticket, reason)) {
        wait_for_leases(request, reason);
    }
}
