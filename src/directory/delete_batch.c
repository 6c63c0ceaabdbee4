#include "directory/delete_batch.h"

#include <assert.h>

#include "directory/contender.h"
#include "directory/last_seen.h"
#include "directory/next_holder.h"
#include "directory/orphans.h"
#include "directory/queue.h"
#include "directory/undeletable.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define DELETES_PER_BATCH 64U

/* Enough to keep a server busy, few enough that deletes gather meanwhile. */
#define DELETE_BATCHES_MAX 4U

#define RETRY_MS 100U

/* Before a delete is repeated that was refused for a reason of its own: somebody has put
 * children below a persistent znode of ours, say. */
#define REFUSED_BACKOFF_MS 1000U

/* Those granted early, in the lock's directory and in that of the leases. */
#define EARLY_GRANTS (2U * UVZK__EARLY_GRANTS_MAX)

#define GATHERING UVZK__DELETE_BATCH_GATHERING
#define UNDER_WAY UVZK__DELETE_BATCH_UNDER_WAY
#define SETTLED UVZK__DELETE_BATCH_SETTLED

static const struct uvzk__state table[] = {
    [GATHERING] = {"GATHERING", UVZK__BIT(UNDER_WAY)},
    [UNDER_WAY] = {"UNDER_WAY", UVZK__BIT(SETTLED)},
    [SETTLED] = {"SETTLED", 0},
};

const struct uvzk__machine uvzk__delete_batch_machine =
    UVZK__MACHINE("delete batch", table);

struct delete_batch {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    struct uvzk__op *ops;
    struct uvzk__contender **contenders; /* of each op */
    struct uvzk__queue **checked; /* whose holders and heir are checked, each once */
    size_t op_count, room, checked_count;
    uint64_t stamp; /* of its submission */
    uint8_t state;  /* enum uvzk__delete_batch_state */
};

static bool invariant_holds(const struct delete_batch *batch)
{
    return batch->state == GATHERING ||
           (batch->op_count > 0 && batch->op_count <= batch->room);
}

/* The only writer of state; a client has a few under way at most. */
static void move(struct delete_batch *batch, enum uvzk__delete_batch_state state)
{
    uvzk__directories_count_delete_batch(batch->session->directories,
                                         batch->state == UNDER_WAY, state == UNDER_WAY);
    batch->state =
        (uint8_t)uvzk__machine_move(&uvzk__delete_batch_machine, batch->state, state);
    assert(invariant_holds(batch));
}

static struct uvzk__contender *to_delete_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_batch);
}

static void free_batch(struct delete_batch *batch)
{
    if (batch != NULL) {
        uvzk__free(batch->ops);
        uvzk__free(batch->contenders);
        uvzk__free(batch->checked);
        uvzk__free(batch);
    }
}

static struct delete_batch *new_batch(struct uvzk__session *session, size_t deletes)
{
    struct delete_batch *batch = uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        return NULL;
    }
    batch->session = session;
    batch->room = 2 * deletes + EARLY_GRANTS; /* each may have an heir to check */
    batch->ops = uvzk__calloc(batch->room, sizeof(batch->ops[0]));
    batch->contenders = uvzk__calloc(batch->room, sizeof(struct uvzk__contender *));
    batch->checked = uvzk__calloc(2 * deletes, sizeof(struct uvzk__queue *));
    if (batch->ops == NULL || batch->contenders == NULL || batch->checked == NULL) {
        free_batch(batch);
        return NULL;
    }
    return batch;
}

static void add(struct delete_batch *batch, struct uvzk__contender *contender,
                enum uvzk__op_kind kind)
{
    struct uvzk__op *op = &batch->ops[batch->op_count];

    op->kind = kind;
    op->path = contender->path;
    op->version = -1;
    batch->contenders[batch->op_count++] = contender;
    uvzk__contender_ref(contender);
}

static bool is_checked(const struct delete_batch *batch, const struct uvzk__queue *queue)
{
    size_t i = 0;

    while (i < batch->checked_count && batch->checked[i] != queue) {
        i++;
    }
    return i < batch->checked_count;
}

/* Those that the queue's deletes must not leave unwatched: who was granted past a
 * node that still stands, and who is about to be granted. */
static void add_checks(struct delete_batch *batch, struct uvzk__queue *queue)
{
    struct uvzk__contender *next_holder =
        queue->kind->directory_order == UVZK__COUNTED ? NULL : uvzk__next_holder(queue);
    uint32_t early_grants = uvzk__early_grants(&queue->counts);

    batch->checked[batch->checked_count++] = queue;
    for (struct uvzk__link *link = uvzk__ring_first(&queue->holders); early_grants > 0;
         link = uvzk__ring_next(&queue->holders, link)) {
        struct uvzk__contender *holder =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (holder->granted_early && !holder->unchecked) {
            add(batch, holder, UVZK__OP_CHECK);
        }
        early_grants -= holder->granted_early;
    }
    if (next_holder != NULL && !next_holder->unchecked) {
        add(batch, next_holder, UVZK__OP_CHECK);
    }
}

static void add_delete(struct delete_batch *batch, struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    uint64_t stamp =
        uvzk__stamp(&batch->session->submissions) + 1; /* of the request to come */

    uvzk__list_remove(&contender->in_batch);
    if ((uvzk__session_of(contender)->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
        !is_checked(batch, queue)) {
        add_checks(batch, queue);
    }
    if (uvzk__contender_leases(contender) != NULL &&
        !is_checked(batch, uvzk__contender_leases(contender))) {
        add_checks(batch, uvzk__contender_leases(contender));
    }
    uvzk__queue_delete_sent(contender, stamp);
    add(batch, contender, UVZK__OP_DELETE);
    uvzk__node_sent(&contender->node);
}

static bool has_room(const struct delete_batch *batch,
                     const struct uvzk__contender *contender)
{
    uint32_t early_grants = uvzk__early_grants(&contender->queue->counts);

    if (uvzk__contender_leases(contender) != NULL) {
        early_grants += uvzk__early_grants(&uvzk__contender_leases(contender)->counts);
    }
    return batch->op_count + early_grants + 2 <= batch->room;
}

/* How many of those to delete may share the next request. */
static size_t batch_size(struct uvzk__session *session)
{
    struct uvzk__link *link = session->directories->to_delete.next;
    size_t count = 0;

    if (!(session->tuning & UVZK__TUNE_DELETE_BATCH) ||
        to_delete_at(link)->delete_alone) {
        return 1;
    }
    while (link != &session->directories->to_delete && count < DELETES_PER_BATCH &&
           !to_delete_at(link)->delete_alone) {
        count++;
        link = link->next;
    }
    return count;
}

/* A server looks at the right to delete before it looks for the znode. */
static void delete_replied(struct uvzk__contender *contender, int status)
{
    struct uvzk__queue *queue = contender->queue;
    bool gone = status == 0 || status == UVZK_ENONODE;

    if (uvzk__node_state(&contender->node) != UVZK__NODE_DELETING) {
        return;
    }
    if (status == UVZK_ENOAUTH) {
        uvzk__undeletable_add(contender);
    }
    uvzk__node_delete_replied(&contender->node, status);
    if (uvzk__contender_is_orphan(contender) && gone) {
        uvzk__orphan_deleted(contender);
    }
    uvzk__contender_update(contender);
    if (gone) {
        uvzk__undeletable_permitted(queue);
    }
}

/* What the failing operation says about its own node. */
static void delete_refused(struct uvzk__contender *contender, int status)
{
    if (status != UVZK_ENOAUTH && status != UVZK_ENONODE) {
        uvzk__contender_back_off(contender, REFUSED_BACKOFF_MS);
        status = UVZK_ENOTSENT;
    }
    delete_replied(contender, status);
}

/* Of a directory in which one of the deletes was refused for lack of a right, so were the
 * others: the server would have said the same of each. */
static bool shares_refusal(const struct delete_batch *batch, size_t index, size_t failed)
{
    const struct uvzk__contender *one = batch->contenders[index];
    const struct uvzk__contender *culprit =
        failed < batch->op_count ? batch->contenders[failed] : NULL;

    return culprit != NULL && batch->ops[failed].kind == UVZK__OP_DELETE &&
           !culprit->ended && !one->ended && culprit->queue == one->queue;
}

/* An op of a request that the server refused as a whole. */
static void op_refused(struct delete_batch *batch, size_t index, size_t failed,
                       int status)
{
    struct uvzk__contender *contender = batch->contenders[index];
    bool culprit = index == failed;

    if (batch->ops[index].kind == UVZK__OP_CHECK) {
        if (culprit && status == UVZK_ENONODE && !contender->ended) {
            uvzk__contender_missing(contender);
        } else if (status == UVZK_ENOAUTH && (culprit || failed >= batch->op_count) &&
                   !contender->ended) {
            uvzk__contender_is_unchecked(contender);
            uvzk__queue_set_unreadable(contender->queue);
        }
        return;
    }
    uvzk__contender_set_delete_alone(contender, failed >= batch->op_count);
    if (culprit || (status == UVZK_ENOAUTH && shares_refusal(batch, index, failed))) {
        delete_refused(contender, status);
    } else {
        delete_replied(contender, UVZK_ENOTSENT);
    }
}

static void check_passed(struct uvzk__contender *contender, uint64_t stamp)
{
    if (!contender->ended) {
        uvzk__contender_clear_granted_early(contender);
        uvzk__last_seen_set(contender, stamp);
        uvzk__queue_settle_later(contender->queue);
    }
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct delete_batch *batch = UVZK__CONTAINER_OF(rpc, struct delete_batch, rpc);
    bool refused = reply->status != 0 && uvzk__is_answer(reply->status);
    size_t failed = rpc->kind == UVZK__RPC_DELETE ? 0 : reply->failed_op;

    move(batch, SETTLED);
    uvzk__answered(batch->session, rpc, reply->status, true);
    for (size_t i = 0; i < batch->op_count; i++) {
        if (refused) {
            op_refused(batch, i, failed, reply->status);
        } else if (batch->ops[i].kind == UVZK__OP_DELETE) {
            delete_replied(batch->contenders[i], reply->status);
        } else if (reply->status == 0) {
            check_passed(batch->contenders[i], batch->stamp);
        }
    }
    for (size_t i = 0; i < batch->op_count; i++) {
        uvzk__contender_unref(batch->contenders[i]);
    }
    uvzk__wake(batch->session);
    free_batch(batch);
}

static bool send_one(struct uvzk__session *session)
{
    size_t count = batch_size(session);
    struct delete_batch *batch = new_batch(session, count);

    if (batch == NULL) {
        return false;
    }
    for (size_t i = 0;
         i < count && has_room(batch, to_delete_at(session->directories->to_delete.next));
         i++) {
        add_delete(batch, to_delete_at(session->directories->to_delete.next));
    }
    if (batch->op_count == 1 && !batch->contenders[0]->not_shown) {
        uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_DELETE, batch->ops[0].path, replied);
    } else {
        uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, replied);
        batch->rpc.ops = batch->ops;
        batch->rpc.op_count = batch->op_count;
    }
    move(batch, UNDER_WAY);
    uvzk__submit(session, &batch->rpc);
    batch->stamp = uvzk__stamp(&session->submissions);
    return true;
}

static void try_again(struct uvzk__timer *timer)
{
    (void)timer; /* the turn that runs this sweeps at its end */
}

/* Readers are granted early in its directory. */
static bool blocks_early_readers(const struct uvzk__contender *deleting)
{
    const struct uvzk__contender_counts *counts = &deleting->queue->counts;

    return uvzk__early_grants(counts) > 0 && uvzk__writers_held(counts) == 0;
}

/* Once: what has been put off comes before what has come since. */
static void postpone(struct uvzk__session *session)
{
    struct uvzk__directories *directories = session->directories;
    bool puts_off = (session->tuning & UVZK__TUNE_READERS) != 0 &&
                    directories->readers_granted_early > 0 && uvzk__may_send(session) &&
                    !uvzk__list_empty(&session->notifications);
    struct uvzk__link due, *link, *next;

    uvzk__list_move(&directories->delete_later, &due);
    for (link = directories->to_delete.next; puts_off && link != &directories->to_delete;
         link = next) {
        next = link->next;
        if (blocks_early_readers(to_delete_at(link))) {
            uvzk__list_remove(link);
            uvzk__list_append(&directories->delete_later, link);
        }
    }
    while (!uvzk__list_empty(&due)) {
        link = due.prev;
        uvzk__list_remove(link);
        uvzk__list_insert_before(directories->to_delete.next, link);
    }
}

bool uvzk__delete_batches_due(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->directories->delete_later);
}

void uvzk__delete_batches_send(struct uvzk__session *session)
{
    postpone(session);
    while (!uvzk__list_empty(&session->directories->to_delete) &&
           uvzk__may_send(session) &&
           session->directories->delete_batches_in_flight < DELETE_BATCHES_MAX) {
        if (!send_one(session)) {
            session->directories->delete_retry.due = try_again;
            uvzk__timer_set(session, &session->directories->delete_retry,
                            uvzk__now(session) + RETRY_MS);
            return;
        }
    }
}
