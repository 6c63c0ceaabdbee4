/* SPDX-License-Identifier: Apache-2.0 */
/* Creating a lease without a ticket (direct_lease.h). semaphore.c starts it for a new
 * lease request; leases.c calls the rest each time the lease directory is settled, and
 * grants the lease. At most one lease request of a directory is DIRECT, or UNCOUNTED
 * after that: requests.direct.
 *
 * The one idea: the create is sent first, then the request that counts the leases (if the
 * create's own reply does not), and the listing of `locks` last. Requests of one
 * connection are carried out in order, so the listing of `locks` shows every ticket that
 * was created before the lease. */
#include "locks/semaphore/direct_lease.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/freshness.h"
#include "directory/queue.h"
#include "directory/settle/creates.h"
#include "directory/watermark.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "locks/semaphore/leases.h"

/* Returns true if no local lease request has a ticket, wants one, or is being given
 * leases, and no ticket is still being deleted. Among local claims a handover is
 * cheaper. */
static bool none_of_ours_waits(const struct uvzk__queue *leases)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(leases);
    const struct uvzk__queue *locks = uvzk__leases_locks(leases);

    return directory->requests.tickets == 0 && directory->ticket.holder == NULL &&
           uvzk__first_sharer(leases) == NULL &&
           uvzk__list_empty(&directory->requests.with_leases) &&
           (locks == NULL || locks->counts.contenders == 0);
}

/* Other creates of the directory may be under way or wait, and the lease must not overtake
 * them (uvzk__creates_wait). */
static bool may_send(const struct uvzk__lease_request *request)
{
    struct uvzk__queue *leases = request->leases;

    return uvzk__may_send(leases->session) && !uvzk__queue_is_backing_off(leases) &&
           !uvzk__creates_wait(leases) && uvzk__create_order_allows(leases) &&
           none_of_ours_waits(leases) &&
           uvzk__leases_out(leases) < request->max(request->claim);
}

bool uvzk__direct_lease_may(const struct uvzk__lease_request *request)
{
    return uvzk__tuned(request->claim->session, UVZK__TUNE_DIRECT_LEASE) &&
           request->wanted == 1 &&
           uvzk__leases(request->leases)->requests.direct == NULL &&
           uvzk__watermark_is_alone(request->leases) && may_send(request);
}

int uvzk__direct_lease_begin(struct uvzk__lease_request *request)
{
    int status = uvzk__lease_request_fill(request);

    if (status == 0) {
        uvzk__lease_request_go_direct(request);
    }
    return status;
}

/* The lease request that creates its lease directly and is not counted yet, or NULL. */
static struct uvzk__lease_request *direct_of(const struct uvzk__queue *leases)
{
    struct uvzk__lease_request *request = uvzk__leases(leases)->requests.direct;

    return request != NULL && !uvzk__lease_request_ended(request) ? request : NULL;
}

/* ------------------------------------------------------------------ a ticket instead */

/* The lease request becomes the first ticket sharer, because it came before the others.
 * The ticket is created when the directory is settled. If the lease has not been sent, it
 * stays with the lease request, and the ticket holder's multi creates it. */
static void use_ticket_instead(struct uvzk__lease_request *request)
{
    uvzk__lease_request_leave_direct(request);
    uvzk__ticket_want_new(request->leases);
    uvzk__queue_settle_later(request->leases);
}

void uvzk__direct_lease_leave(struct uvzk__lease_request *request)
{
    /* The next acquires use tickets until a sequence number is the next one again. */
    uvzk__watermark_others_seen(request->leases);
    use_ticket_instead(request);
}

void uvzk__direct_lease_yield(struct uvzk__queue *leases)
{
    struct uvzk__lease_request *request = direct_of(leases);

    if (request != NULL && !uvzk__lease_request_begun(request) &&
        !uvzk__contender_is_in_batch(uvzk__first_lease(request->claim))) {
        use_ticket_instead(request);
        uvzk__ticket_create_new(leases);
    }
}

/* ------------------------------------------------------------------------ its lease */

/* Nothing has been sent for the lease yet. Other contenders may have arrived since
 * uvzk__direct_lease_may, so the conditions are checked again. */
static void send_create(struct uvzk__lease_request *request,
                        struct uvzk__contender *lease)
{
    if (may_send(request)) {
        uvzk__lease_request_create_leases(request, 0);
        uvzk__create_order_add(lease);
        uvzk__queue_settle_later(request->leases); /* sends the listing of `locks` */
    } else {
        use_ticket_instead(request);
    }
}

/* The stamp of the request that has counted the leases: of the create, if the lease's
 * sequence number counted them, else of a listing after the create. 0: they have not been
 * counted yet. */
static uint64_t counted_at(const struct uvzk__contender *lease)
{
    uint64_t listed = lease->queue->freshness.view_stamp;

    return lease->predecessors_known && listed < lease->create_stamp ? lease->create_stamp
           : listed > lease->create_stamp                            ? listed
                                                                     : 0;
}

bool uvzk__direct_lease_is_counted(const struct uvzk__lease_request *request)
{
    uint64_t counted = counted_at(uvzk__first_lease(request->claim));

    return counted != 0 &&
           uvzk__leases(request->leases)->locks_listing.empty_stamp > counted;
}

/* Returns true if a listing of `locks` after the create did not show an empty directory:
 * it showed a contender, or it failed. */
static bool others_seen(const struct uvzk__contender *lease)
{
    const struct uvzk__locks_listing *listing =
        &uvzk__leases(lease->queue)->locks_listing;

    return !listing->pending && listing->stamp > lease->create_stamp &&
           listing->empty_stamp < listing->stamp;
}

/* The lease exists. It is withdrawn if a contender may be in `locks`, or if its create
 * was sent on an earlier connection, because an outage ends the watermark. Otherwise
 * leases.c grants it when it is counted. */
static void direct_lease_decide(struct uvzk__lease_request *request,
                                const struct uvzk__contender *lease)
{
    uvzk__lease_request_create_leases(request, lease->node.place.czxid);
    if (!uvzk__is_of_this_connection(request->claim->session, lease->create_stamp) ||
        others_seen(lease)) {
        uvzk__leases_withdraw(request);
    }
}

void uvzk__direct_lease_settle(struct uvzk__queue *leases)
{
    struct uvzk__lease_request *request = direct_of(leases);

    if (request == NULL) {
        return;
    }
    struct uvzk__contender *lease = uvzk__first_lease(request->claim);
    if (uvzk__lease_request_complete(request)) {
        direct_lease_decide(request, lease);
    } else if (uvzk__lease_request_begun(request) ||
               lease->node.state == UVZK__NODE_PARENTS ||
               uvzk__contender_is_in_batch(lease)) {
        return; /* the create, or that of its directory, is under way */
    } else if (request->state == UVZK__LEASE_REQUEST_DIRECT) {
        send_create(request, lease);
    } else {
        use_ticket_instead(request); /* the create was sent and has failed */
    }
}

/* ---------------------------------------------------------------------- its readings */

/* The lease after whose create the next read may be sent, or NULL. With the pipeline that
 * is as soon as the create has been sent, otherwise when the lease exists. */
static const struct uvzk__contender *lease_sent(const struct uvzk__queue *leases)
{
    const struct uvzk__lease_request *request = direct_of(leases);

    if (request == NULL || !uvzk__lease_request_begun(request)) {
        return NULL;
    }
    const struct uvzk__contender *lease = uvzk__first_lease(request->claim);
    bool in_pipeline =
        uvzk__tuned(leases->session, UVZK__TUNE_PIPELINE) && lease->node.in_flight;
    return in_pipeline || uvzk__node_has_place(&lease->node) ? lease : NULL;
}

/* Returns true if the lease's sequence number has counted the leases or, while the reply
 * to the create is awaited, probably will. */
static bool counts_by_number(const struct uvzk__contender *lease)
{
    return lease->predecessors_known || (!uvzk__node_has_place(&lease->node) &&
                                         uvzk__watermark_expects_next(lease->queue));
}

bool uvzk__direct_lease_wants_listing(const struct uvzk__queue *leases)
{
    const struct uvzk__contender *lease = lease_sent(leases);

    return lease != NULL && !counts_by_number(lease) &&
           leases->freshness.view_stamp < lease->create_stamp;
}

/* A lease that its sequence number has counted waited for no other node. So it is enough
 * for the grant that it was created, and no proof has to show its node. A lease that a
 * listing has counted needs a proof. */
static void mark_seen(const struct uvzk__queue *leases)
{
    const struct uvzk__lease_request *request = direct_of(leases);

    if (request == NULL || !uvzk__lease_request_complete(request)) {
        return;
    }
    struct uvzk__contender *lease = uvzk__first_lease(request->claim);
    if (counted_at(lease) == lease->create_stamp) {
        uvzk__last_seen_set(lease, lease->create_stamp);
    }
}

static void locks_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *leases = uvzk__inflight_requester(rpc);
    struct uvzk__locks_listing *listing = &uvzk__leases(leases)->locks_listing;
    /* UVZK_ENONODE does not count as empty: the lease is then withdrawn, and the claim
     * gets a ticket, whose create has the directory created. */
    bool empty = reply->status == 0 && reply->name_count == 0;

    uvzk__inflight_done(leases->session, rpc, reply->status, false);
    listing->pending = false;
    if (uvzk__is_transient(reply->status)) {
        listing->stamp = 0;
    } else {
        listing->empty_stamp = empty ? listing->stamp : listing->empty_stamp;
        mark_seen(leases);
    }
    uvzk__queue_settle_later(leases);
}

/* The listing of `locks` must be sent after the request that counts the leases. While
 * that request is not known, the one that is expected to count them is used. */
void uvzk__direct_lease_list_locks(struct uvzk__queue *leases)
{
    struct uvzk__locks_listing *listing = &uvzk__leases(leases)->locks_listing;
    const struct uvzk__contender *lease = lease_sent(leases);

    if (lease == NULL || listing->pending || !uvzk__may_send(leases->session)) {
        return;
    }
    uint64_t counts = counted_at(lease);
    if (counts == 0) {
        counts = counts_by_number(lease) ? lease->create_stamp
                                         : leases->freshness.listing_stamp;
    }
    if (counts < lease->create_stamp || listing->stamp > counts) {
        return; /* the counting listing is not sent yet, or `locks` was listed since */
    }
    struct uvzk__rpc *rpc =
        uvzk__inflight_new(leases->session, leases, UVZK__RPC_CHILDREN,
                           uvzk__leases(leases)->locks_path->text, locks_replied);
    if (rpc != NULL) {
        uvzk__submit(leases->session, rpc);
        listing->stamp = leases->session->submissions.stamp;
        listing->pending = true;
    }
}
