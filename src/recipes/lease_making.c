#include "recipes/lease_making.h"

#include <string.h>

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/submission.h"

/* What one request carries of several claims; a single claim's leases always go. */
#define LEASES_MAX 128U
#define BYTES_MAX 262144U

struct uvzk__lease_making {
    struct uvzk__rpc rpc;
    struct uvzk__queue *queue;
    struct uvzk__contender *ticket; /* pinned: its path is needed until the reply */
    size_t bytes;
    struct uvzk__op ops[1 + LEASES_MAX]; /* a check and creates */
    struct uvzk__acl acls[1 + LEASES_MAX];
    struct uvzk__contender *leases[1 + LEASES_MAX];
};

/* The ticket is unreadable, say: whoever follows would be refused in the same way. */
static void ticket_refused(struct uvzk__contender *ticket, int status)
{
    if (ticket->ended || uvzk__is_passing(status)) {
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
    struct uvzk__lease_making *making =
        UVZK__CONTAINER_OF(rpc, struct uvzk__lease_making, rpc);
    struct uvzk__queue *queue = making->queue;
    size_t count = rpc->op_count;

    uvzk__leases_made(queue);
    uvzk__answered(queue->client, rpc, reply->status, true);
    uvzk__queue_touch(queue);
    if (reply->status != 0 && reply->failed_op == 0) {
        ticket_refused(making->ticket, reply->status);
    }
    for (size_t i = 1; i < count; i++) {
        struct uvzk__contender *lease = making->leases[i];
        uvzk__contender_made_by_op(lease, reply, i, count,
                                   uvzk__bid_of(lease->claim)->token);
    }
    uvzk__contender_unpin(making->ticket);
    uvzk__free(making);
}

static size_t bytes_of(const struct uvzk__op *op)
{
    return strlen(op->path) + op->data_length;
}

static bool has_room(const struct uvzk__lease_making *making, const struct uvzk__bid *bid)
{
    uint32_t lacking = bid->wanted - uvzk__bid_leases_out(bid);

    return making->rpc.op_count == 1 ||
           (making->rpc.op_count + lacking <= 1 + LEASES_MAX &&
            making->bytes + lacking * uvzk__claim_data_length(bid->claim) <= BYTES_MAX);
}

static struct uvzk__lease_making *new_making(struct uvzk__bid *taker)
{
    struct uvzk__lease_making *making = uvzk__calloc(1, sizeof(*making));

    if (making == NULL) {
        uvzk__queue_rest(taker->leases);
        return NULL;
    }
    uvzk__rpc_prepare(&making->rpc, UVZK__RPC_MULTI, NULL, replied);
    making->queue = taker->leases;
    making->ticket = uvzk__leases(taker->leases)->taker->ticket;
    uvzk__contender_check_op(making->ticket, &making->ops[0]);
    making->rpc.ops = making->ops;
    making->rpc.op_count = 1;
    uvzk__contender_pin(making->ticket);
    return making;
}

bool uvzk__lease_making_plan(struct uvzk__lease_making **making, struct uvzk__bid *bid)
{
    if (*making == NULL) {
        *making = new_making(bid);
    }
    if (*making == NULL || !has_room(*making, bid)) {
        return false;
    }
    int status = uvzk__bid_fill(bid);
    if (status != 0) {
        uvzk__claim_end(bid->claim, status);
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__node_state(&lease->node) == UVZK__NODE_CREATING) {
            size_t i = (*making)->rpc.op_count++;
            uvzk__contender_create_op(lease, &(*making)->ops[i], &(*making)->acls[i]);
            (*making)->bytes += bytes_of(&(*making)->ops[i]);
            (*making)->leases[i] = lease;
        }
    }
    uvzk__bid_made(bid);
    return true;
}

void uvzk__lease_making_send(struct uvzk__lease_making *making)
{
    struct uvzk__client *client;

    if (making == NULL) {
        return;
    }
    if (making->rpc.op_count == 1) {
        uvzk__contender_unpin(making->ticket);
        uvzk__free(making);
        return;
    }
    client = making->queue->client;
    uvzk__submit(client, &making->rpc);
    uvzk__leases_making(making->queue, making, uvzk__stamp(&client->submissions));
    for (size_t i = 1; i < making->rpc.op_count; i++) {
        uvzk__contender_sent(making->leases[i]);
        uvzk__bid_made_at(uvzk__bid_of(making->leases[i]->claim),
                          uvzk__stamp(&client->submissions));
    }
}
