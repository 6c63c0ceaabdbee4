/* SPDX-License-Identifier: Apache-2.0 */
/* Sends all deletes of contenders' znodes (delete_batch.h); no other file does.
 * contender_request.c adds contenders to directories->to_delete, and a turn sends the
 * batches after it has settled the directories (client/round.c).
 *
 * The idea: a delete gives the lock away, so it must not be carried out before the next
 * local holder's node is known to exist. The multi of a delete contains a check of the
 * node of each contender that was granted early, and of the next one that will be
 * granted. If a check fails, nothing is deleted, and the node that is missing is reported
 * first. */
#include "directory/settle/delete_batch.h"

#include "directory/acl_retry.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/divergence.h"
#include "directory/freshness.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/request_size.h"
#include "engine/size_limit.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define DELETES_PER_BATCH 64U

/* Enough to keep a server busy, few enough that deletes gather meanwhile. */
#define DELETE_BATCHES_MAX 4U

/* Before a batch is tried again for which there was no memory. */
#define RETRY_MS 100U

/* Before a delete is repeated that the server refused for a reason other than
 * UVZK_ENOAUTH or UVZK_ENONODE. For example, a client has created children of a
 * persistent znode. */
#define REFUSED_BACKOFF_MS 1000U

/* The most early grants in the directory of a ticket and in its lease directory
 * together. */
#define EARLY_GRANTS (2U * UVZK__EARLY_GRANTS_MAX)

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__DELETE_BATCH_, GATHERING, UNDER_WAY),
    UVZK__STATE(UVZK__DELETE_BATCH_, UNDER_WAY, SETTLED),
    UVZK__FINAL(UVZK__DELETE_BATCH_, SETTLED),
};

struct delete_batch {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    /* Behind this struct, in the same piece of memory: */
    struct uvzk__op *ops;
    struct uvzk__contender **contenders;  /* of each op, referenced */
    struct uvzk__queue **checked;         /* directories whose checks are in the batch */
    size_t op_count, room, checked_count; /* room: of ops and contenders */
    size_t size;                          /* of the request, in bytes */
    uint64_t stamp;                       /* of its submission */
    uint8_t state;                        /* enum uvzk__delete_batch_state */
};

static bool invariant_holds(const void *object)
{
    const struct delete_batch *batch = object;

    return batch->state == UVZK__DELETE_BATCH_GATHERING ||
           (batch->op_count > 0 && batch->op_count <= batch->room);
}

const struct uvzk__machine uvzk__delete_batch_machine =
    UVZK__MACHINE("delete batch", table, struct delete_batch, state, invariant_holds);

/* Also counts the batches in flight. */
static void move_and_count(struct delete_batch *batch,
                           enum uvzk__delete_batch_state state)
{
    bool was_under_way = batch->state == UVZK__DELETE_BATCH_UNDER_WAY;

    uvzk__move(batch->session, &uvzk__delete_batch_machine, batch, state);
    uvzk__directories_count_delete_batch(batch->session->directories, was_under_way,
                                         batch->state == UVZK__DELETE_BATCH_UNDER_WAY);
}

static struct uvzk__contender *to_delete_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_batch);
}

/* Returns true if contenders may have been granted early in a directory whose checks go with
 * one of the first `deletes` deletes. */
static bool may_have_early_grants(const struct uvzk__session *session, size_t deletes)
{
    const struct uvzk__link *link = session->directories->to_delete.next;
    bool any = false;

    for (; deletes > 0 && !any; deletes--, link = link->next) {
        const struct uvzk__contender *contender =
            to_delete_at((struct uvzk__link *)(uintptr_t)link);
        const struct uvzk__queue *admitted = uvzk__contender_admits_to(contender);
        any = contender->queue->counts.early_grants > 0 ||
              (admitted != NULL && admitted->counts.early_grants > 0);
    }
    return any;
}

/* One piece of memory, with the arrays behind the struct. Each delete may bring a check of
 * the next holder. Most batches are of one delete, and no contender was granted early. */
static struct delete_batch *new_batch(struct uvzk__session *session, size_t deletes)
{
    size_t room =
        2 * deletes + (may_have_early_grants(session, deletes) ? EARLY_GRANTS : 0);
    struct delete_batch *batch =
        uvzk__calloc(1, sizeof(*batch) + room * sizeof(batch->ops[0]) +
                            (room + 2 * deletes) * sizeof(struct uvzk__contender *));

    if (batch == NULL) {
        return NULL;
    }
    batch->session = session;
    batch->size = UVZK__MULTI_SIZE;
    batch->room = room;
    batch->ops = (struct uvzk__op *)(batch + 1);
    batch->contenders = (struct uvzk__contender **)(batch->ops + room);
    batch->checked = (struct uvzk__queue **)(batch->contenders + room);
    return batch;
}

static void delete_batch_add(struct delete_batch *batch,
                             struct uvzk__contender *contender, enum uvzk__op_kind kind)
{
    struct uvzk__op *op = &batch->ops[batch->op_count];

    op->kind = kind;
    op->path = contender->path;
    op->version = -1;
    batch->contenders[batch->op_count++] = contender;
    batch->size += uvzk__op_size(batch->session, op);
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

/* [P1] The delete of a released znode fails if the znode of a contender that was granted
 * early no longer exists; until then the released znode blocks all others. Adds the
 * checks that must go with the deletes in this directory: of each holder that was granted
 * early while a released node still existed, and of the next contender that will be
 * granted. A contender whose check was refused before is left out, because the multi
 * would fail again. Leases have no order, so a lease directory has no next holder. */
static void add_checks(struct delete_batch *batch, struct uvzk__queue *queue)
{
    struct uvzk__contender *next_holder =
        queue->kind->counted ? NULL : uvzk__next_holder(queue);
    uint32_t early_grants = queue->counts.early_grants;

    batch->checked[batch->checked_count++] = queue;
    for (struct uvzk__contender *holder = uvzk__first_in(&queue->holders);
         early_grants > 0; holder = uvzk__next_in(&queue->holders, holder)) {
        if (holder->state == UVZK__CONTENDER_GRANTED_EARLY && !holder->limits.unchecked) {
            delete_batch_add(batch, holder, UVZK__OP_CHECK);
            uvzk__checked_by(holder, batch->session->submissions.stamp + 1);
        }
        early_grants -= holder->state == UVZK__CONTENDER_GRANTED_EARLY;
    }
    if (next_holder != NULL && !next_holder->limits.unchecked) {
        delete_batch_add(batch, next_holder, UVZK__OP_CHECK);
    }
}

static void add_delete(struct delete_batch *batch, struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    uint64_t stamp = batch->session->submissions.stamp + 1; /* of the next request */

    uvzk__list_remove(&contender->in_batch);
    if (uvzk__tuned(uvzk__session_of(contender), UVZK__TUNE_LOCAL_HANDOVER) &&
        !is_checked(batch, queue)) {
        add_checks(batch, queue);
    }
    if (uvzk__contender_admits_to(contender) != NULL &&
        !is_checked(batch, uvzk__contender_admits_to(contender))) {
        add_checks(batch, uvzk__contender_admits_to(contender));
    }
    uvzk__queue_delete_sent(contender, stamp);
    delete_batch_add(batch, contender, UVZK__OP_DELETE);
    uvzk__node_sent(&contender->node);
}

/* Room for the delete, the early grants' checks and the next holder's check. Their paths
 * are about as long as that of the delete. */
static bool has_room(const struct delete_batch *batch,
                     const struct uvzk__contender *contender)
{
    uint32_t early_grants = contender->queue->counts.early_grants;

    if (uvzk__contender_admits_to(contender) != NULL) {
        early_grants += uvzk__contender_admits_to(contender)->counts.early_grants;
    }
    struct uvzk__op op = {.kind = UVZK__OP_DELETE, .path = contender->path};
    size_t size = (early_grants + 2) * uvzk__op_size(batch->session, &op);
    return batch->op_count + early_grants + 2 <= batch->room &&
           (batch->op_count == 0 ||
            batch->size + size <= uvzk__batch_size_max(batch->session));
}

/* How many deletes from the beginning of to_delete may share the next request. A delete
 * that must be alone ends the batch. */
static size_t batch_size(struct uvzk__session *session)
{
    struct uvzk__link *link = session->directories->to_delete.next;
    size_t count = 0;

    if (!uvzk__tuned(session, UVZK__TUNE_DELETE_BATCH) ||
        to_delete_at(link)->limits.delete_alone) {
        return 1;
    }
    while (link != &session->directories->to_delete && count < DELETES_PER_BATCH &&
           !to_delete_at(link)->limits.delete_alone) {
        count++;
        link = link->next;
    }
    return count;
}

/* Passes the result of a delete to the contender. A server checks the right to delete
 * before it looks for the znode. So both 0 and UVZK_ENONODE show that this client has
 * DELETE in the directory, and its undeletable znodes are tried again. */
static void delete_replied(struct uvzk__contender *contender, int status)
{
    struct uvzk__queue *queue = contender->queue;
    bool gone = status == 0 || status == UVZK_ENONODE;

    /* The session has ended meanwhile. */
    if (contender->node.state != UVZK__NODE_DELETING) {
        return;
    }
    if (status == UVZK_ENOAUTH) {
        uvzk__undeletable_add(contender);
    }
    uvzk__node_delete_replied(&contender->node, status);
    if (contender->kind->orphan && gone) {
        uvzk__orphan_deleted(contender);
    }
    uvzk__contender_update(contender);
    if (gone) {
        uvzk__undeletable_permitted(queue);
    }
}

/* The op that failed is this delete. UVZK_ENOAUTH and UVZK_ENONODE are final for this
 * request. After any other status the delete is repeated after a pause. */
static void delete_refused(struct uvzk__contender *contender, int status)
{
    if (status != UVZK_ENOAUTH && status != UVZK_ENONODE) {
        uvzk__contender_back_off(contender, REFUSED_BACKOFF_MS);
        status = UVZK_ENOTSENT;
    }
    delete_replied(contender, status);
}

/* Returns true if a delete of this batch is in the same directory as the one that was
 * refused with UVZK_ENOAUTH. DELETE is a right of the directory, so the server would
 * refuse both. */
static bool shares_refusal(const struct delete_batch *batch, size_t index, size_t failed)
{
    const struct uvzk__contender *one = batch->contenders[index];
    const struct uvzk__contender *culprit =
        failed < batch->op_count ? batch->contenders[failed] : NULL;

    return culprit != NULL && batch->ops[failed].kind == UVZK__OP_DELETE &&
           culprit->state != UVZK__CONTENDER_ENDED &&
           one->state != UVZK__CONTENDER_ENDED && culprit->queue == one->queue;
}

/* The result of one op of a request that the server refused. failed: index of the op that
 * failed; not less than op_count if the reply does not tell. */
static void op_refused(struct delete_batch *batch, size_t index, size_t failed,
                       int status)
{
    struct uvzk__contender *contender = batch->contenders[index];
    bool culprit = index == failed;

    if (batch->ops[index].kind == UVZK__OP_CHECK) {
        /* The node of a holder, or of the next one, does not exist. */
        if (culprit && status == UVZK_ENONODE &&
            contender->state != UVZK__CONTENDER_ENDED) {
            uvzk__contender_missing(contender);
        } else if (status == UVZK_ENOAUTH && (culprit || failed >= batch->op_count) &&
                   contender->state != UVZK__CONTENDER_ENDED) {
            contender->limits.unchecked = true;
            contender->queue->unreadable = true;
        }
        return;
    }
    /* If it is not known which op failed, each delete is sent alone next time. */
    contender->limits.delete_alone = failed >= batch->op_count;
    if (culprit || (status == UVZK_ENOAUTH && shares_refusal(batch, index, failed))) {
        delete_refused(contender, status);
    } else {
        delete_replied(contender, UVZK_ENOTSENT);
    }
}

/* [P1] A grant stays early until a delete of the last node before it has checked its
 * node. Up to then it is a waiter's node, which may be deleted by hand, and each delete
 * of a node before it checks it again. */
static void check_passed(struct uvzk__contender *contender, uint64_t stamp)
{
    if (contender->state != UVZK__CONTENDER_ENDED) {
        if (!uvzk__is_behind_deletes(contender)) {
            uvzk__stood_first(contender);
            uvzk__contender_checked(contender);
        }
        uvzk__last_seen_set(contender, stamp);
        uvzk__queue_settle_later(contender->queue);
    }
}

static void delete_batch_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct delete_batch *batch = UVZK__CONTAINER_OF(rpc, struct delete_batch, rpc);
    /* A request that is too long is treated as if the server had refused it. If it has
     * only one delete, that is the last op. */
    bool too_long = reply->status != 0 && rpc->refused == reply->status;
    bool refused = too_long || (reply->status != 0 && uvzk__is_answer(reply->status));
    size_t failed = too_long && !rpc->divisible     ? batch->op_count - 1
                    : rpc->kind == UVZK__RPC_DELETE ? 0
                                                    : reply->failed_op;

    /* The references keep the contenders until all ops have been dealt with: one op may
     * end the contender of another. */
    move_and_count(batch, UVZK__DELETE_BATCH_SETTLED);
    uvzk__answered(batch->session, rpc, reply->status, true);
    for (size_t i = 0; i < batch->op_count; i++) {
        if (refused) {
            op_refused(batch, i, failed, reply->status);
        } else if (batch->ops[i].kind == UVZK__OP_DELETE) {
            delete_replied(batch->contenders[i], reply->status);
        }
    }
    /* The checks come last: which nodes are left before those that were checked? */
    for (size_t i = 0; i < batch->op_count; i++) {
        if (reply->status == 0 && batch->ops[i].kind == UVZK__OP_CHECK) {
            check_passed(batch->contenders[i], batch->stamp);
        }
        uvzk__contender_unref(batch->contenders[i]);
    }
    uvzk__wake(batch->session);
    uvzk__free(batch);
}

static bool send_one(struct uvzk__session *session)
{
    size_t count = batch_size(session), deletes = 0;
    struct delete_batch *batch = new_batch(session, count);

    if (batch == NULL) {
        return false;
    }
    while (deletes < count &&
           has_room(batch, to_delete_at(session->directories->to_delete.next))) {
        add_delete(batch, to_delete_at(session->directories->to_delete.next));
        deletes++;
    }
    /* To a lone delete the server answers what it has found itself. To a multi it answers
     * what the leader has found, which shows whether this server has diverged
     * (divergence.c). */
    if (batch->op_count == 1 && !batch->contenders[0]->kind->not_shown) {
        uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_DELETE, batch->ops[0].path,
                          delete_batch_replied);
    } else {
        uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, delete_batch_replied);
        batch->rpc.ops = batch->ops;
        batch->rpc.op_count = batch->op_count;
    }
    batch->rpc.divisible = deletes > 1;
    move_and_count(batch, UVZK__DELETE_BATCH_UNDER_WAY);
    uvzk__submit(session, &batch->rpc);
    batch->stamp = session->submissions.stamp;
    return true;
}

static void try_again(struct uvzk__timer *timer)
{
    (void)timer; /* the turn that runs this sends the deletes */
}

/* Returns true if readers of its directory have been granted early and no writer holds
 * there, so its delete is worth postponing. */
static bool blocks_early_readers(const struct uvzk__contender *deleting)
{
    return deleting->queue->counts.early_grants > 0 &&
           deleting->queue->counts.writers_held == 0;
}

/* Moves deletes to delete_later, if acquire callbacks that may release the early readers
 * will run in this round. Deletes that were postponed in the last round are not postponed
 * again: they go to the front of to_delete, in their old order. */
static void delete_batch_postpone(struct uvzk__session *session)
{
    struct uvzk__directories *directories = session->directories;
    bool puts_off = uvzk__tuned(session, UVZK__TUNE_READERS) &&
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
    delete_batch_postpone(session);
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
