#include "directory/create_batch.h"

#include <assert.h>
#include <string.h>

#include "directory/contender.h"
#include "directory/create_order.h"
#include "engine/acl.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define CREATES_PER_BATCH 64U

/* Enough to keep a server busy, few enough that creates gather meanwhile. */
#define CREATE_BATCHES_MAX 4U

/* Two readers of one directory are as many requests in a multi, with its exists, as by
 * themselves, and a round trip later. */
#define READERS_PER_BATCH_MIN 3U

/* Far below what a server reads; who does not fit in leaves with the next ones. */
#define BYTES_PER_BATCH 262144U

/* Of an op, besides its path, data and ACL. */
#define OP_BYTES 60U

#define GATHERING UVZK__CREATE_BATCH_GATHERING
#define UNDER_WAY UVZK__CREATE_BATCH_UNDER_WAY
#define IDENTIFYING UVZK__CREATE_BATCH_IDENTIFYING
#define SETTLED UVZK__CREATE_BATCH_SETTLED

static const struct uvzk__state table[] = {
    [GATHERING] = {"GATHERING", UVZK__BIT(UNDER_WAY)},
    [UNDER_WAY] = {"UNDER_WAY", UVZK__BIT(IDENTIFYING) | UVZK__BIT(SETTLED)},
    [IDENTIFYING] = {"IDENTIFYING", UVZK__BIT(SETTLED)},
    [SETTLED] = {"SETTLED", 0},
};

const struct uvzk__machine uvzk__create_batch_machine =
    UVZK__MACHINE("create batch", table);

struct create_batch {
    struct uvzk__rpc rpc; /* the multi, then each exists */
    struct uvzk__session *session;
    size_t count, bytes;
    size_t identifying;                     /* of whom the czxid is asked */
    const struct uvzk__queue *failed_queue; /* whose directory is missing; or NULL */
    uint8_t state;                          /* enum uvzk__create_batch_state */
    struct uvzk__contender *contenders[CREATES_PER_BATCH]; /* pinned; NULL: it has left */
    struct uvzk__op ops[CREATES_PER_BATCH];
    struct uvzk__acl acls[CREATES_PER_BATCH];
};

static bool invariant_holds(const struct create_batch *batch)
{
    return batch->count <= CREATES_PER_BATCH && batch->identifying <= batch->count &&
           (batch->state == GATHERING || batch->count > 1);
}

/* The only writer of state. */
static void move(struct create_batch *batch, enum uvzk__create_batch_state state)
{
    uvzk__directories_count_create_batch(batch->session->directories,
                                         batch->state == UNDER_WAY, state == UNDER_WAY);
    batch->state =
        (uint8_t)uvzk__machine_move(&uvzk__create_batch_machine, batch->state, state);
    assert(invariant_holds(batch));
}

static struct uvzk__contender *to_create_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_batch);
}

/* ------------------------------------------------------------------ who goes along */

static void send_alone(struct uvzk__contender *contender)
{
    uvzk__list_remove(&contender->in_batch);
    uvzk__contender_create(contender);
    if (contender->queue->creates_postponed) {
        uvzk__queue_settle_later(
            contender->queue); /* they may have waited for this one */
    }
}

static struct uvzk__contender *unplaced_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* Somebody has come behind those that wait there. */
static void send_gathered(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    uvzk__queue_set_batching(queue, false, false);
    while (link != NULL) {
        struct uvzk__contender *contender = unplaced_at(link);
        link = uvzk__ring_next(&queue->unplaced, link);
        if (!uvzk__list_empty(&contender->in_batch)) {
            send_alone(contender);
        }
    }
}

/* Whether so many wait there to be made with others. */
static bool has_gathered(const struct uvzk__queue *queue, size_t many)
{
    for (struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);
         queue->batching && many > 0 && link != NULL;
         link = uvzk__ring_next(&queue->unplaced, link)) {
        many -= !uvzk__list_empty(&unplaced_at(link)->in_batch);
    }
    return many == 0;
}

/* Whether readers of its directory may share its czxid. */
static bool may_share_czxid(const struct uvzk__contender *contender)
{
    return (uvzk__session_of(contender)->tuning & UVZK__TUNE_READERS) != 0 &&
           contender->shared;
}

static bool may_share_multi(const struct uvzk__contender *contender)
{
    return may_share_czxid(contender) ||
           ((uvzk__session_of(contender)->tuning & UVZK__TUNE_CREATE_BATCH) != 0 &&
            uvzk__contenders_in(&contender->queue->counts) == 1);
}

/* Whether others are to be made before it: who has been sent before is one of these. */
static bool has_to_wait(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (contender->create_alone && contender->create_stamp != 0) {
        return false;
    }
    return queue->creates_in_batch > 0 ||
           (queue->creates_postponed && contender->create_stamp == 0);
}

/* Who gathers there and may not share a multi with it leaves at once. */
static void add_to_batch(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (queue->batching && !queue->batching_readers) {
        send_gathered(queue);
    }
    uvzk__queue_set_batching(queue, true, may_share_czxid(contender));
    uvzk__list_append(&uvzk__session_of(contender)->directories->to_create,
                      &contender->in_batch);
    uvzk__wake(uvzk__session_of(contender));
}

void uvzk__create_batch_add(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (!uvzk__list_empty(&contender->in_batch) && !contender->create_alone) {
        return; /* it waits already */
    }
    if (has_to_wait(contender) ||
        (contender->create_stamp == 0 && !uvzk__create_order_allows(queue))) {
        uvzk__queue_set_creates_postponed(queue, true);
    } else if (contender->create_alone) {
        send_alone(contender);
    } else if (may_share_multi(contender)) {
        add_to_batch(contender);
    } else if (has_gathered(queue, READERS_PER_BATCH_MIN)) {
        uvzk__queue_set_creates_postponed(queue, true);
    } else {
        if (queue->batching) {
            send_gathered(queue);
        }
        uvzk__contender_create(contender);
    }
}

void uvzk__create_alone(struct uvzk__contender *contender)
{
    uvzk__contender_set_create_alone(contender);
    if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE &&
        !uvzk__list_empty(&contender->in_batch) &&
        uvzk__may_send(uvzk__session_of(contender))) {
        send_alone(contender);
    }
}

/* Of a znode that is not, no exists tells anything. */
static bool is_readable(const struct uvzk__acl *acl)
{
    for (size_t i = 0; i < acl->count; i++) {
        if (acl->entries[i].perms & UVZK_PERM_READ) {
            return true;
        }
    }
    return false;
}

/* False: there is no room for it any more. */
static bool add_create(struct create_batch *batch, struct uvzk__contender *contender)
{
    struct uvzk__op *op = &batch->ops[batch->count];

    uvzk__contender_create_op(contender, op, &batch->acls[batch->count]);
    if (contender->create_alone || !is_readable(op->acl)) {
        send_alone(contender);
        return true;
    }
    size_t bytes =
        OP_BYTES + strlen(op->path) + op->data_length + uvzk__acl_bytes(op->acl);
    if (batch->count > 0 && batch->bytes + bytes > BYTES_PER_BATCH) {
        return false;
    }
    batch->bytes += bytes;
    batch->contenders[batch->count++] = contender;
    uvzk__contender_ref(contender);
    uvzk__list_remove(&contender->in_batch);
    assert(contender->queue->creates_in_batch == 0 ||
           may_share_czxid(contender)); /* or two of one lock would have one token */
    uvzk__queue_batch_create_added(contender->queue);
    return true;
}

static void fill_batch(struct create_batch *batch)
{
    struct uvzk__link *head = &batch->session->directories->to_create;

    while (!uvzk__list_empty(head) && batch->count < CREATES_PER_BATCH &&
           add_create(batch, to_create_at(head->next))) {
    }
}

/* ------------------------------------------------------------------- the outcome */

/* It has had its answer. */
static void drop(struct create_batch *batch, size_t i)
{
    struct uvzk__contender *contender = batch->contenders[i];

    batch->contenders[i] = NULL;
    uvzk__contender_unref(contender);
}

static void finish(struct create_batch *batch)
{
    struct uvzk__session *session = batch->session;

    move(batch, SETTLED);
    uvzk__free(batch);
    uvzk__wake(session);
}

/* Whether it stands, and waits for its czxid. */
static bool is_unidentified(const struct uvzk__contender *contender)
{
    return contender != NULL && !contender->ended &&
           uvzk__node_state(&contender->node) == UVZK__NODE_IDENTIFYING;
}

/* Where nobody was before when it was made, as its number has said: whatever has gone
 * since, this one did not wait for it, so that it is enough to have been made. Of the
 * others the listing that covers them says whether they stand. */
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

    if (!contender->ended) {
        uvzk__contender_identified(contender, status, czxid, ours, shown_at(batch, i));
    }
    drop(batch, i);
}

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

/* One of them tells it for all, for one transaction has made them, and the reply that said
 * so was before: what the reading does not show is gone. Such a one, or one of its name
 * that is another's, tells nothing of the others; nor does one that may not be read, which
 * may hear of its czxid from the next. After all else each asks for itself, when it can. */
static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct create_batch *batch = UVZK__CONTAINER_OF(rpc, struct create_batch, rpc);
    struct uvzk__session *session = batch->session;
    int status = reply->status;
    bool ours =
        reply->stat.ephemeral_owner == uvzk__connection_session_id(&session->connection);

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

/* Of the next one that still wants to be known. */
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
    uvzk__contender_set_read_stamp(contender, uvzk__stamp(&session->submissions));
}

/* Why a member was not made. What the server says is about one of them; of those behind
 * that one it has not looked at any. */
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
        return status; /* the same directory's */
    }
    if (looked_at && status == UVZK_ENONODE && i > reply->failed_op &&
        !contender->suspect_no_directory &&
        uvzk__contenders_in(&contender->queue->counts) == 1) {
        uvzk__contender_suspect_no_directory(contender);
        return status;
    }
    uvzk__contender_set_create_alone(contender);
    return looked_at || uvzk__create_certainly_failed(status) ? UVZK_ENOTSENT
                                                              : UVZK_ECONNLOSS;
}

/* Whoever has come behind them meanwhile comes behind them, however they go on. */
void uvzk__create_batch_resume(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    if (!queue->creates_postponed || queue->creates_in_batch > 0 ||
        has_gathered(queue, 1) || uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS) ||
        !uvzk__create_order_allows(queue)) {
        return; /* some of these are to be made before them */
    }
    uvzk__queue_set_creates_postponed(queue, false);
    while (link != NULL) {
        struct uvzk__contender *contender = unplaced_at(link);
        link = uvzk__ring_next(&queue->unplaced, link);
        if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE) {
            uvzk__contender_pump(contender);
        }
    }
}

static void create_done(struct create_batch *batch, size_t i,
                        const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = batch->contenders[i];

    uvzk__queue_batch_create_done(
        contender->queue); /* touched below: who is behind goes on */
    if (reply->status == 0) {
        uvzk__contender_create_batch_answered(contender, reply->made[i]);
    } else {
        uvzk__contender_create_answered(contender, status_of(batch, i, reply), NULL, 0);
    }
    if (reply->status != 0 || !is_unidentified(contender)) {
        drop(batch, i); /* it goes on by itself, or has been given up meanwhile */
    }
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct create_batch *batch = UVZK__CONTAINER_OF(rpc, struct create_batch, rpc);

    uvzk__answered(batch->session, rpc, reply->status, true);
    if (reply->failed_op < batch->count) {
        batch->failed_queue = batch->contenders[reply->failed_op]->queue;
    }
    for (size_t i = 0; i < batch->count; i++) {
        create_done(batch, i, reply);
    }
    if (reply->status == 0) {
        move(batch, IDENTIFYING);
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
    move(batch, UNDER_WAY);
    uvzk__submit(batch->session, &batch->rpc);
    for (size_t i = 0; i < batch->count; i++) {
        uvzk__contender_create_sent_unlisted(batch->contenders[i]);
    }
}

/* A multi of these saves nothing. */
static bool saves_nothing(const struct create_batch *batch)
{
    return batch->count == 1 ||
           (batch->count < READERS_PER_BATCH_MIN &&
            batch->contenders[0]->queue == batch->contenders[1]->queue);
}

static void submit_each(struct create_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct uvzk__contender *contender = batch->contenders[i];
        uvzk__queue_batch_create_done(contender->queue);
        drop(batch, i);
        send_alone(contender);
    }
    uvzk__free(batch);
}

/* Out of memory: one after the other, each with what it has. */
static void send_one(struct uvzk__session *session)
{
    struct uvzk__link *head = &session->directories->to_create;
    bool lone = head->next == head->prev;
    struct create_batch *batch = lone ? NULL : uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        send_alone(to_create_at(head->next));
        return;
    }
    batch->session = session;
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
    return !uvzk__list_empty(&session->directories->to_create) &&
           uvzk__may_send(session) &&
           session->directories->create_batches_in_flight < CREATE_BATCHES_MAX;
}

void uvzk__create_batches_send(struct uvzk__session *session)
{
    while (uvzk__create_batches_due(session)) {
        send_one(session);
    }
}
