/* SPDX-License-Identifier: Apache-2.0 */
/* Gives leases to lease requests (lease_batch.h). leases.c calls it while it settles the
 * lease directory; at most one batch of a directory is in flight. The check of the ticket
 * makes sure that the leases are created only while the ticket holder holds `locks`.
 * Whether there is room is an estimate: leases.c counts the leases after they have been
 * created. */
#include "locks/semaphore/lease_batch.h"

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/foreign_nodes.h"
#include "directory/mirror.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "engine/request_size.h"
#include "engine/size_limit.h"
#include "engine/submission.h"
#include "locks/semaphore/leases.h"

/* How many one multi may create for several lease requests, within uvzk__batch_size_max.
 * The first lease request of a
 * batch is not limited by either: it wants at most 100 leases (semaphore.c). */
#define LEASES_MAX 128U

struct uvzk__lease_batch {
    struct uvzk__rpc rpc;
    struct uvzk__queue *queue;
    struct uvzk__contender *ticket; /* referenced: its path is needed until the reply */
    uint64_t stamp;                 /* of the multi */
    size_t size;                    /* of the request, in bytes, so far */
    struct uvzk__op ops[1 + LEASES_MAX];            /* the check, then the creates */
    struct uvzk__acl acls[1 + LEASES_MAX];          /* of the ops */
    struct uvzk__contender *leases[1 + LEASES_MAX]; /* of the ops; [0] is not used */
};

/* ----------------------------------------------------------------------- the multi */

/* The check of the ticket has failed. UVZK_ENONODE: another client has deleted the
 * ticket. Any other error, for example UVZK_ENOAUTH, would be returned for every later
 * multi with this ticket, so the ticket ends. */
static void ticket_refused(struct uvzk__contender *ticket, int status)
{
    if (ticket->state == UVZK__CONTENDER_ENDED || uvzk__is_transient(status)) {
        return;
    }
    if (status == UVZK_ENONODE) {
        uvzk__contender_missing(ticket);
    } else {
        uvzk__contender_end(ticket, status);
    }
}

static void lease_batch_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__lease_batch *batch =
        UVZK__CONTAINER_OF(rpc, struct uvzk__lease_batch, rpc);
    struct uvzk__queue *queue = batch->queue;
    size_t count = rpc->op_count;

    uvzk__leases(queue)->batches.in_flight = NULL;
    uvzk__answered(queue->session, rpc, reply->status, true);
    uvzk__queue_settle_later(queue);
    if (rpc->refused != 0) {
        uvzk__queue_back_off(queue);
    }
    if (reply->status == 0 && batch->ticket->state != UVZK__CONTENDER_ENDED) {
        uvzk__last_seen_set(batch->ticket, batch->stamp);
    } else if (reply->status != 0 && reply->failed_op == 0) {
        ticket_refused(batch->ticket, reply->status);
    }
    for (size_t i = 1; i < count; i++) {
        struct uvzk__contender *lease = batch->leases[i];
        /* The reply to a multi contains no czxid. The leases need none of their own,
         * because their fencing token is the ticket's. */
        uvzk__contender_create_op_answered(
            lease, reply, i, count, uvzk__lease_request_of(lease->claim)->fencing_token);
    }
    uvzk__contender_unref(batch->ticket);
    uvzk__free(batch);
}

static bool has_room(const struct uvzk__lease_batch *batch,
                     const struct uvzk__lease_request *request)
{
    uint32_t lacking = request->wanted - uvzk__lease_request_leases_out(request);
    if (batch->rpc.op_count == 1) {
        return true;
    }
    /* These leases have no names yet. They will be as long as that of the last one. */
    struct uvzk__op op = batch->ops[batch->rpc.op_count - 1];
    op.data_length = uvzk__claim_data_length(request->claim);
    return batch->rpc.op_count + lacking <= 1 + LEASES_MAX &&
           batch->size + lacking * uvzk__op_size(batch->queue->session, &op) <=
               uvzk__batch_size_max(batch->queue->session);
}

/* Returns a batch that has only the check of the ticket. NULL: out of memory, and the
 * directory pauses. */
static struct uvzk__lease_batch *new_batch(struct uvzk__queue *queue,
                                           struct uvzk__contender *ticket)
{
    struct uvzk__lease_batch *batch = uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        uvzk__queue_back_off(queue);
        return NULL;
    }
    uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, lease_batch_replied);
    batch->queue = queue;
    batch->ticket = ticket;
    uvzk__contender_check_op(batch->ticket, &batch->ops[0]);
    batch->rpc.ops = batch->ops;
    batch->rpc.op_count = 1;
    batch->size = UVZK__MULTI_SIZE + uvzk__op_size(queue->session, &batch->ops[0]);
    uvzk__contender_ref(batch->ticket);
    return batch;
}

/* Adds the creates of the leases that the lease request lacks. *batch is NULL before the
 * first call, which makes the batch. False: the batch has no room for them; out of memory
 * for the batch, and the directory pauses; or the claim has ended because its leases
 * could not be added to it. */
static bool lease_batch_plan(struct uvzk__lease_batch **batch,
                             struct uvzk__lease_request *request)
{
    if (*batch == NULL) {
        *batch = new_batch(request->leases,
                           uvzk__leases(request->leases)->ticket.holder->ticket);
    }
    if (*batch == NULL || !has_room(*batch, request)) {
        return false;
    }
    (*batch)->rpc.divisible = (*batch)->rpc.op_count > 1;
    int status = uvzk__lease_request_fill(request);
    if (status != 0) {
        uvzk__claim_end(request->claim, status);
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (lease->node.state == UVZK__NODE_CREATING) {
            size_t i = (*batch)->rpc.op_count++;
            uvzk__contender_create_op(lease, &(*batch)->ops[i], &(*batch)->acls[i]);
            (*batch)->size += uvzk__op_size((*batch)->queue->session, &(*batch)->ops[i]);
            (*batch)->leases[i] = lease;
        }
    }
    uvzk__lease_request_create_leases(request, uvzk__ticket_begin_use(request));
    return true;
}

static void lease_batch_submit(struct uvzk__lease_batch *batch)
{
    struct uvzk__session *session = batch->queue->session;

    uvzk__submit(session, &batch->rpc);
    uvzk__leases(batch->queue)->batches.in_flight = batch;
    batch->stamp = session->submissions.stamp;
}

static void send_batch(struct uvzk__lease_batch *batch)
{
    if (batch->rpc.op_count == 1) { /* only the check: nothing could be added */
        uvzk__contender_unref(batch->ticket);
        uvzk__free(batch);
        return;
    }
    lease_batch_submit(batch);
    uvzk__leases(batch->queue)->batches.stamp = batch->stamp;
    for (size_t i = 1; i < batch->rpc.op_count; i++) {
        uvzk__contender_create_sent(batch->leases[i]);
    }
}

void uvzk__lease_batch_check_ticket(struct uvzk__queue *queue,
                                    struct uvzk__contender *ticket)
{
    struct uvzk__lease_batch *batch;

    if (uvzk__leases(queue)->batches.in_flight == NULL &&
        uvzk__may_send(queue->session) && !uvzk__queue_is_backing_off(queue) &&
        (batch = new_batch(queue, ticket)) != NULL) {
        lease_batch_submit(batch);
    }
}

/* ------------------------------------------------------------------ who gets leases */

/* The local lease request that gets leases next, or NULL. It is the next ticket sharer of
 * the ticket holder. If there is none, it is the lease request whose ticket is next in
 * `locks`, with no other client's contender before it, unless the waiting ticket sharer
 * arrived earlier: that one must not be overtaken. */
static struct uvzk__lease_request *
next_to_serve(struct uvzk__queue *queue, struct uvzk__lease_request *request,
              const struct uvzk__lease_request *waiting)
{
    const struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;
    const struct uvzk__contender *own = request == holder ? NULL : request->ticket;
    struct uvzk__queue *locks = holder->ticket->queue;
    const struct uvzk__contender *ticket = own == NULL
                                               ? uvzk__first_in(&locks->waiters)
                                               : uvzk__next_in(&locks->waiters, own);
    struct uvzk__lease_request *sharer = uvzk__ticket_next_sharer(request);

    if (sharer != NULL) {
        return sharer;
    }
    if (!uvzk__tuned(queue->session, UVZK__TUNE_LOCAL_HANDOVER) || ticket == NULL ||
        uvzk__contender_admits_to(ticket) != queue ||
        uvzk__contender_is_given_up(ticket) ||
        ticket->node.state != UVZK__NODE_STANDING || !ticket->predecessors_known ||
        uvzk__blocker(locks, ticket) != NULL) {
        return NULL;
    }
    struct uvzk__lease_request *next = uvzk__lease_request_of(ticket->claim);
    return waiting != NULL && waiting->arrival < next->arrival ? NULL : next;
}

/* Returns true if the leases of other clients are counted, and no event since then has
 * reported a change of the children. */
static bool lease_batch_counted(const struct uvzk__queue *queue)
{
    return uvzk__ticket_others_counted(queue) &&
           queue->freshness.state != UVZK__LISTING_STALE;
}

/* Returns true if the lease request lacks leases, and nothing is under way to get
 * them. */
static bool lacks_leases(const struct uvzk__lease_request *request)
{
    return !uvzk__lease_request_ended(request) &&
           uvzk__lease_request_none_in_flight(request) &&
           !uvzk__lease_request_complete(request);
}

/* Returns true if the requests behind it wait until it is granted: it has some of its
 * leases, or keeps its turn although the multi that was to create them has failed. */
static bool keeps_its_turn(const struct uvzk__lease_request *request)
{
    return uvzk__lease_request_begun(request) || !uvzk__ticket_place_is_lost(request);
}

/* The lease request that waits for room: the ticket holder; or one that is granted before
 * the ticket holder, so that both wait. NULL: none waits. */
static struct uvzk__lease_request *waits_for_room(const struct uvzk__queue *queue)
{
    struct uvzk__lease_directory *directory = uvzk__leases(queue);
    const struct uvzk__link *head = &directory->requests.with_leases;

    if (directory->ticket.holder == NULL || directory->batches.in_flight != NULL) {
        return NULL;
    }
    if (lacks_leases(directory->ticket.holder)) {
        return directory->ticket.holder;
    }
    for (struct uvzk__link *link = head->next;
         link != head && link != &directory->ticket.holder->in_with_leases;
         link = link->next) {
        struct uvzk__lease_request *request = uvzk__lease_request_at(link);
        if (lacks_leases(request) && keeps_its_turn(request)) {
            return request;
        }
    }
    return NULL;
}

bool uvzk__lease_batch_wants_listing(const struct uvzk__queue *queue)
{
    return waits_for_room(queue) != NULL &&
           (!lease_batch_counted(queue) || uvzk__needs_children_watch(queue));
}

/* There is no room for the leases of this request. If other clients have leases, a watch
 * on the children reports when one is deleted. UVZK_TRY_ONCE ends only when the count is
 * certain. */
static void wait_for_room(struct uvzk__queue *queue, struct uvzk__lease_request *request)
{
    uvzk__queue_want_children_watch(
        queue, uvzk__queue_optional(queue)->foreign_nodes.leases > 0);
    if (lease_batch_counted(queue)) {
        uvzk__claim_end_try_once(request->claim);
    }
}

/* Returns true if offered leases may be handed over. If the maximum has been lowered
 * below the number of leases, leases that are released are deleted instead. */
static bool may_hand_on(const struct uvzk__queue *queue,
                        const struct uvzk__lease_request *request, uint64_t out)
{
    return uvzk__ticket_others_counted(queue) && out <= request->max(request->claim) &&
           !queue->unreadable;
}

/* Gives the lease request the leases that it lacks: offered ones first, and new ones by
 * the batch. Returns whether it has all of them, or will have them, and the next lease
 * request may get leases. The claim may have ended, and may be freed, if not. */
static bool give_leases(struct uvzk__lease_request *request,
                        struct uvzk__lease_batch **batch, uint64_t *out)
{
    struct uvzk__queue *queue = request->leases;

    if (may_hand_on(queue, request, *out)) {
        uvzk__leases_take_offers(request);
    }
    if (uvzk__lease_request_complete(request)) {
        /* If they are not counted, the listing that counts them is under way. */
        return uvzk__lease_request_is_counted(request);
    }
    uint32_t lacking = request->wanted - uvzk__lease_request_leases_out(request);
    if (*out + lacking > request->max(request->claim) ||
        !uvzk__may_send(queue->session) || uvzk__queue_is_backing_off(queue) ||
        !lease_batch_plan(batch, request)) {
        return false;
    }
    *out += lacking;
    return true;
}

/* The loop ends at the first lease request that cannot get all of its leases, because a
 * later one must not be served before it. */
static void serve_in_order(struct uvzk__queue *queue)
{
    struct uvzk__lease_batch *batch = NULL;
    uint64_t out = uvzk__leases_out(queue);
    struct uvzk__lease_request *request = uvzk__leases(queue)->ticket.holder;
    /* The first ticket sharer that this loop has not served. */
    const struct uvzk__lease_request *waiting = uvzk__first_sharer(queue);

    while (request != NULL && !uvzk__lease_request_ended(request) &&
           uvzk__lease_request_none_in_flight(request) &&
           give_leases(request, &batch, &out)) {
        if (uvzk__lease_request_is_sharer(request)) {
            waiting = uvzk__next_sharer(request);
        }
        request = next_to_serve(queue, request, waiting);
    }
    if (batch != NULL) {
        send_batch(batch);
    } else if (request != NULL && request == waits_for_room(queue)) {
        wait_for_room(queue, request);
    }
}

void uvzk__lease_batch_settle(struct uvzk__queue *queue)
{
    struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;

    if (holder == NULL || uvzk__leases(queue)->batches.in_flight != NULL) {
        return;
    }
    if (!uvzk__lease_request_ended(holder) && !uvzk__lease_request_begun(holder) &&
        uvzk__ticket_is_used_up(holder)) {
        uvzk__ticket_release(holder);
    } else {
        serve_in_order(queue);
    }
}
