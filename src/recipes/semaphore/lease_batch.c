/* Creates leases (lease_batch.h). leases.c plans a batch and sends it while it settles
 * the lease directory; at most one batch of a directory is in flight. The check of the
 * ticket makes sure that the leases are created only while the ticket holder holds
 * `locks`. */
#include "recipes/semaphore/lease_batch.h"

#include <string.h>

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "engine/submission.h"

/* How much one multi may contain for several lease requests. The first lease request of a
 * batch is not limited by them: it wants at most 100 leases (semaphore.c). */
#define LEASES_MAX 128U
#define BYTES_MAX 262144U /* of paths and data */

struct uvzk__lease_batch {
    struct uvzk__rpc rpc;
    struct uvzk__queue *queue;
    struct uvzk__contender *ticket; /* referenced: its path is needed until the reply */
    size_t bytes;                   /* of paths and data, so far */
    struct uvzk__op ops[1 + LEASES_MAX];            /* the check, then the creates */
    struct uvzk__acl acls[1 + LEASES_MAX];          /* of the ops */
    struct uvzk__contender *leases[1 + LEASES_MAX]; /* of the ops; [0] is not used */
};

/* The check of the ticket has failed. UVZK_ENONODE: another client has deleted the
 * ticket. Any other error, for example UVZK_ENOAUTH, would be returned for every later
 * multi with this ticket, so the ticket ends. */
static void ticket_refused(struct uvzk__contender *ticket, int status)
{
    if (uvzk__contender_has_ended(ticket) || uvzk__is_transient(status)) {
        return;
    }
    if (status == UVZK_ENONODE) {
        uvzk__contender_missing(ticket);
    } else {
        uvzk__contender_end(ticket, status);
    }
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__lease_batch *batch =
        UVZK__CONTAINER_OF(rpc, struct uvzk__lease_batch, rpc);
    struct uvzk__queue *queue = batch->queue;
    size_t count = rpc->op_count;

    uvzk__leases_batch_answered(queue);
    uvzk__answered(queue->session, rpc, reply->status, true);
    uvzk__queue_settle_later(queue);
    if (reply->status != 0 && reply->failed_op == 0) {
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

static size_t bytes_of(const struct uvzk__op *op)
{
    return strlen(op->path) + op->data_length;
}

static bool has_room(const struct uvzk__lease_batch *batch,
                     const struct uvzk__lease_request *request)
{
    uint32_t lacking = request->wanted - uvzk__lease_request_leases_out(request);

    return batch->rpc.op_count == 1 ||
           (batch->rpc.op_count + lacking <= 1 + LEASES_MAX &&
            batch->bytes + lacking * uvzk__claim_data_length(request->claim) <=
                BYTES_MAX);
}

static struct uvzk__lease_batch *new_batch(struct uvzk__lease_request *ticket_holder)
{
    struct uvzk__lease_batch *batch = uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        uvzk__queue_back_off(ticket_holder->leases);
        return NULL;
    }
    uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, replied);
    batch->queue = ticket_holder->leases;
    batch->ticket = uvzk__leases(ticket_holder->leases)->ticket_holder->ticket;
    uvzk__contender_check_op(batch->ticket, &batch->ops[0]);
    batch->rpc.ops = batch->ops;
    batch->rpc.op_count = 1;
    uvzk__contender_ref(batch->ticket);
    return batch;
}

bool uvzk__lease_batch_plan(struct uvzk__lease_batch **batch,
                            struct uvzk__lease_request *request)
{
    if (*batch == NULL) {
        *batch = new_batch(request);
    }
    if (*batch == NULL || !has_room(*batch, request)) {
        return false;
    }
    int status = uvzk__lease_request_fill(request);
    if (status != 0) {
        uvzk__claim_end(request->claim, status);
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(request->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__node_state(&lease->node) == UVZK__NODE_CREATING) {
            size_t i = (*batch)->rpc.op_count++;
            uvzk__contender_create_op(lease, &(*batch)->ops[i], &(*batch)->acls[i]);
            (*batch)->bytes += bytes_of(&(*batch)->ops[i]);
            (*batch)->leases[i] = lease;
        }
    }
    uvzk__lease_request_made(request);
    return true;
}

void uvzk__lease_batch_send(struct uvzk__lease_batch *batch)
{
    struct uvzk__session *session;

    if (batch == NULL) {
        return;
    }
    if (batch->rpc.op_count == 1) { /* only the check: nothing could be added */
        uvzk__contender_unref(batch->ticket);
        uvzk__free(batch);
        return;
    }
    session = batch->queue->session;
    uvzk__submit(session, &batch->rpc);
    uvzk__leases_batch_sent(batch->queue, batch, uvzk__stamp(&session->submissions));
    for (size_t i = 1; i < batch->rpc.op_count; i++) {
        uvzk__contender_create_sent(batch->leases[i]);
        uvzk__lease_request_set_made_stamp(
            uvzk__lease_request_of(batch->leases[i]->claim),
            uvzk__stamp(&session->submissions));
    }
}
