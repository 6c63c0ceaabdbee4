/* Sends the creates that have gathered (create_order.h) in multis, and finds out the czxid
 * of what they have created (create_batch.h). settle.c calls it in each round.
 *
 * The idea: one transaction has created all znodes of a multi, so one exists returns the
 * czxid of all. If the multi fails, only the contender whose op failed gets the reason;
 * each of the others sends its create alone. */
#include "directory/settle/create_batch.h"

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/settle/create_order.h"
#include "engine/request_size.h"
#include "engine/size_limit.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define CREATES_PER_BATCH 64U

/* Enough to keep a server busy, few enough that creates gather meanwhile. */
#define CREATE_BATCHES_MAX 4U

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__CREATE_BATCH_, GATHERING, UNDER_WAY),
    UVZK__STATE(UVZK__CREATE_BATCH_, UNDER_WAY, IDENTIFYING, SETTLED),
    UVZK__STATE(UVZK__CREATE_BATCH_, IDENTIFYING, SETTLED),
    UVZK__FINAL(UVZK__CREATE_BATCH_, SETTLED),
};

struct create_batch {
    struct uvzk__rpc rpc; /* the multi, then each exists */
    struct uvzk__session *session;
    size_t count, size; /* of the ops; of the request, in bytes */
    size_t identifying; /* index of the contender whose node is read */
    const struct uvzk__queue *failed_queue; /* the missing directory; NULL: none */
    uint8_t state;                          /* enum uvzk__create_batch_state */
    struct uvzk__contender *contenders[CREATES_PER_BATCH]; /* referenced; NULL: done */
    struct uvzk__op ops[CREATES_PER_BATCH];
    struct uvzk__acl acls[CREATES_PER_BATCH];
};

static bool invariant_holds(const void *object)
{
    const struct create_batch *batch = object;

    return batch->count <= CREATES_PER_BATCH && batch->identifying <= batch->count &&
           (batch->state == UVZK__CREATE_BATCH_GATHERING || batch->count > 1);
}

const struct uvzk__machine uvzk__create_batch_machine =
    UVZK__MACHINE("create batch", table, struct create_batch, state, invariant_holds);

/* Also counts the batches in flight. */
static void move_and_count(struct create_batch *batch,
                           enum uvzk__create_batch_state state)
{
    bool was_under_way = batch->state == UVZK__CREATE_BATCH_UNDER_WAY;

    uvzk__move(batch->session, &uvzk__create_batch_machine, batch, state);
    uvzk__directories_count_create_batch(uvzk__directories(batch->session), was_under_way,
                                         batch->state == UVZK__CREATE_BATCH_UNDER_WAY);
}

static struct uvzk__contender *to_create_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_batch);
}

/* --------------------------------------------------------------- filling a multi */

/* Returns true if the ACL gives READ to anyone. If it does not, no exists can return the
 * czxid, so the create is sent alone: its own reply contains the czxid. */
static bool is_readable(const struct uvzk__acl *acl)
{
    for (size_t i = 0; i < acl->count; i++) {
        if (acl->entries[i].perms & UVZK_PERM_READ) {
            return true;
        }
    }
    return false;
}

/* Adds the create to the batch, or sends it alone. False: the batch has no room for
 * it. */
static bool add_create(struct create_batch *batch, struct uvzk__contender *contender)
{
    struct uvzk__op *op = &batch->ops[batch->count];

    uvzk__contender_create_op(contender, op, &batch->acls[batch->count]);
    if (contender->limits.create_alone || !is_readable(op->acl)) {
        uvzk__create_order_send_alone(contender);
        return true;
    }
    size_t size = uvzk__op_size(batch->session, op);
    if (batch->count > 0 && batch->size + size > uvzk__batch_size_max(batch->session)) {
        return false;
    }
    batch->size += size;
    batch->contenders[batch->count++] = contender;
    uvzk__contender_ref(contender);
    uvzk__list_remove(&contender->in_batch);
    /* Otherwise two holds of one lock that exclude one another would have one token. */
    (void)uvzk__expect(batch->session,
                       contender->queue->creates.in_batch == 0 ||
                           uvzk__create_order_shares_czxid(contender),
                       "create batch: two writers of one directory");
    contender->queue->creates.in_batch++;
    return true;
}

static void fill_batch(struct create_batch *batch)
{
    struct uvzk__link *head = &uvzk__directories(batch->session)->to_create;

    while (!uvzk__list_empty(head) && batch->count < CREATES_PER_BATCH &&
           add_create(batch, to_create_at(head->next))) {
    }
}

/* -------------------------------------------------------------------- the replies */

/* The batch has nothing more to do for this contender. */
static void drop(struct create_batch *batch, size_t i)
{
    struct uvzk__contender *contender = batch->contenders[i];

    batch->contenders[i] = NULL;
    uvzk__contender_unref(contender);
}

static void finish(struct create_batch *batch)
{
    struct uvzk__session *session = batch->session;

    move_and_count(batch, UVZK__CREATE_BATCH_SETTLED);
    uvzk__free(batch);
    uvzk__wake(session);
}

/* Returns true if the contender's node exists and its czxid is not known. */
static bool is_unidentified(const struct uvzk__contender *contender)
{
    return contender != NULL && !uvzk__contender_has_ended(contender) &&
           uvzk__node_state(&contender->node) == UVZK__NODE_IDENTIFYING;
}

/* The stamp of a request that has shown the node of contender i; 0: none has. The exists
 * has shown the node that it read. Of the other nodes only the create is known. That is
 * enough if the number showed that no contender was before the node when it was created:
 * then the contender waited for no node that has gone since. Otherwise the listing that
 * shows the predecessors will show the node too. */
static uint64_t shown_at(const struct create_batch *batch, size_t i)
{
    const struct uvzk__contender *contender = batch->contenders[i];

    if (i == batch->identifying) {
        return contender->read_stamp;
    }
    return contender->predecessors_known &&
                   contender->unblocked_stamp == contender->create_stamp
               ? contender->create_stamp
               : 0;
}

static void identify(struct create_batch *batch, size_t i, int status, int64_t czxid,
                     bool ours)
{
    struct uvzk__contender *contender = batch->contenders[i];

    if (!uvzk__contender_has_ended(contender)) {
        uvzk__contender_identified(contender, status, czxid, ours, shown_at(batch, i));
    }
    drop(batch, i);
}

/* Passes one result to all contenders that are left, and ends the batch. */
static void identify_all(struct create_batch *batch, int status, int64_t czxid)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->contenders[i] != NULL) {
            identify(batch, i, status, czxid, true);
        }
    }
    finish(batch);
}

static void ask_czxid(struct create_batch *batch);

/* The reply to the exists of one node. One transaction has created all nodes of the
 * batch, so the czxid of one is that of all. The reply to the multi came before the
 * exists on the same connection, so a node that the exists does not show is gone.
 *
 * If the node is gone, or another client's node has its name, the result says nothing
 * about the other nodes, and the next one is read. A node that may not be read
 * (UVZK_ENOAUTH) is kept in the batch: the next exists may return its czxid. After any
 * other error each contender sends an exists for itself, when requests may be sent. */
static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct create_batch *batch = UVZK__CONTAINER_OF(rpc, struct create_batch, rpc);
    struct uvzk__session *session = batch->session;
    int status = reply->status;
    bool ours = reply->stat.ephemeral_owner == uvzk__session_id(session);

    uvzk__answered(session, rpc, status, false);
    if (status == 0 && ours) {
        identify_all(batch, 0, reply->stat.czxid);
        return;
    }
    if (status != UVZK_ENOAUTH) {
        identify(batch, batch->identifying, status, 0, false);
    }
    batch->identifying++;
    if (status == 0 || status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        ask_czxid(batch);
    } else {
        identify_all(batch, UVZK_ENOTSENT, 0);
    }
}

/* Reads the next node whose czxid is still needed. If there is none, or nothing may be
 * sent, each remaining contender sends its own exists. */
static void ask_czxid(struct create_batch *batch)
{
    struct uvzk__session *session = batch->session;

    while (batch->identifying < batch->count &&
           !is_unidentified(batch->contenders[batch->identifying])) {
        batch->identifying++;
    }
    if (batch->identifying == batch->count || !uvzk__may_send(session)) {
        identify_all(batch, UVZK_ENOTSENT, 0);
        return;
    }
    struct uvzk__contender *contender = batch->contenders[batch->identifying];
    uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_EXISTS, contender->path, stat_replied);
    uvzk__submit(session, &batch->rpc);
    contender->read_stamp = uvzk__stamp(session);
}

/* The result of create i of a multi that failed. The server reports which op failed, and
 * has not looked at any op after that one. A transient status, for example a lost reply,
 * is the result of all creates. UV_ENOMEM is not: it would end each contender (node.c),
 * so it is treated as an unknown outcome. */
static int status_of(struct create_batch *batch, size_t i,
                     const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = batch->contenders[i];
    int status = reply->status;
    bool looked_at = reply->failed_op < batch->count;

    if (reply->failed_op == i || (uvzk__is_transient(status) && status != UV_ENOMEM)) {
        return status;
    }
    if (looked_at && status == UVZK_ENONODE && contender->queue == batch->failed_queue) {
        return status; /* its directory is the missing one */
    }
    if (looked_at && status == UVZK_ENONODE && i > reply->failed_op &&
        !contender->limits.suspect_no_directory &&
        uvzk__contenders_in(contender->queue) == 1) {
        /* Its directory may be missing too: it is created before this create is
         * repeated. */
        contender->limits.suspect_no_directory = true;
        return status;
    }
    /* Not carried out, or unknown. A create that was in a failed multi is sent alone, so
     * it cannot fail again because of another one. */
    uvzk__contender_set_create_alone(contender);
    return looked_at || uvzk__create_certainly_failed(status) ? UVZK_ENOTSENT
                                                              : UVZK_ECONNLOSS;
}

static void create_done(struct create_batch *batch, size_t i,
                        const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = batch->contenders[i];

    uvzk__queue_batch_create_done(
        contender->queue); /* the update below settles the queue */
    if (reply->status == 0) {
        uvzk__contender_create_batch_answered(contender, reply->made[i]);
    } else {
        uvzk__contender_create_answered(contender, status_of(batch, i, reply), NULL, 0);
    }
    if (reply->status != 0 || !is_unidentified(contender)) {
        drop(batch, i); /* it continues by itself, or was given up meanwhile */
    }
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct create_batch *batch = UVZK__CONTAINER_OF(rpc, struct create_batch, rpc);

    uvzk__answered(batch->session, rpc, reply->status, true);
    if (reply->failed_op < batch->count) {
        /* Read first: create_done removes the contenders from the batch. */
        batch->failed_queue = batch->contenders[reply->failed_op]->queue;
    }
    for (size_t i = 0; i < batch->count; i++) {
        create_done(batch, i, reply);
    }
    if (reply->status == 0) {
        move_and_count(batch, UVZK__CREATE_BATCH_IDENTIFYING);
        ask_czxid(batch);
    } else {
        finish(batch);
    }
}

/* ------------------------------------------------------------------------ sending */

static void submit(struct create_batch *batch)
{
    uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, replied);
    batch->rpc.ops = batch->ops;
    batch->rpc.op_count = batch->count;
    batch->rpc.divisible = true;
    move_and_count(batch, UVZK__CREATE_BATCH_UNDER_WAY);
    uvzk__submit(batch->session, &batch->rpc);
    for (size_t i = 0; i < batch->count; i++) {
        uvzk__contender_create_sent_unlisted(batch->contenders[i]);
    }
}

/* Returns true if a multi of these creates would need no fewer requests than lone
 * creates. */
static bool saves_nothing(const struct create_batch *batch)
{
    return batch->count == 1 ||
           (batch->count < UVZK__READERS_PER_BATCH_MIN &&
            batch->contenders[0]->queue == batch->contenders[1]->queue);
}

/* Sends each create of the batch alone, and frees the batch. */
static void submit_each(struct create_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct uvzk__contender *contender = batch->contenders[i];
        uvzk__queue_batch_create_done(contender->queue);
        drop(batch, i);
        uvzk__create_order_send_alone(contender);
    }
    uvzk__free(batch);
}

/* Returns true if one create is on the list, which is not empty. */
static bool is_lone(const struct uvzk__link *head)
{
    return head->next == head->prev;
}

/* Sends the next multi, or the next create alone if it is the only one, or if there is no
 * memory for a batch. */
static void send_one(struct uvzk__session *session)
{
    struct uvzk__link *head = &uvzk__directories(session)->to_create;
    struct create_batch *batch = is_lone(head) ? NULL : uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        uvzk__create_order_send_alone(to_create_at(head->next));
        return;
    }
    batch->session = session;
    batch->size = UVZK__MULTI_SIZE;
    fill_batch(batch);
    if (batch->count == 0) {
        uvzk__free(batch);
    } else if (saves_nothing(batch)) {
        submit_each(batch);
    } else {
        submit(batch);
    }
}

bool uvzk__create_batches_due(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&uvzk__directories(session)->to_create) &&
           uvzk__may_send(session) &&
           uvzk__directories(session)->create_batches_in_flight < CREATE_BATCHES_MAX;
}

void uvzk__create_batches_send_lone(struct uvzk__session *session)
{
    if (uvzk__create_batches_due(session) &&
        is_lone(&uvzk__directories(session)->to_create)) {
        send_one(session);
    }
}

void uvzk__create_batches_send(struct uvzk__session *session)
{
    while (uvzk__create_batches_due(session)) {
        send_one(session);
    }
}
