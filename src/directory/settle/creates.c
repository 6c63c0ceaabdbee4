/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the creates of contenders (creates.h). A contender that needs its node created only
 * marks its directory. In each round of a turn, settle.c has the creates of each marked
 * directory sent in the order of the acquires: now, or together with others that gather on
 * directories->to_create.
 *
 * The ideas: contenders wait behind a multi of their directory that is in flight
 * (creates_postponed). One transaction has created all znodes of a multi, so one exists
 * returns the czxid of all. If the multi fails, only the contender whose op failed gets the
 * reason; each of the others sends its create alone, so no create fails twice because of
 * another one. */
#include "directory/settle/creates.h"

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/own_watch.h"
#include "engine/request_size.h"
#include "engine/size_limit.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* Two readers of one directory need two requests either way: two creates, or a multi and
 * its exists, which takes one more round trip. */
#define READERS_PER_BATCH_MIN 3U

/* ------------------------------------------------------------ several sessions */

/* Returns true if the create is about to be sent or answered. A contender that pauses or
 * is searched for does not count, because that may last as long as its session. */
static bool is_being_created(const struct uvzk__contender *contender)
{
    enum uvzk__node_state state = contender->node.state;

    return state == UVZK__NODE_CREATING || state == UVZK__NODE_PARENTS;
}

/* When the first unplaced contender that is being created was requested, in ms.
 * UINT64_MAX: none is being created. */
static uint64_t oldest_ms(const struct uvzk__queue *queue)
{
    const struct uvzk__contender *oldest = uvzk__first_in(&queue->unplaced);

    while (oldest != NULL && !is_being_created(oldest)) {
        oldest = uvzk__next_in(&queue->unplaced, oldest);
    }
    return oldest == NULL ? UINT64_MAX : oldest->first_attempt_ms;
}

static struct uvzk__queue *in_session(struct uvzk__session *session,
                                      const struct uvzk__queue *queue)
{
    return uvzk__queue_find(session, queue->kind, queue->path->text);
}

/* At equal times the session that ranks first goes first. */
static bool is_before(uint64_t oldest, uint64_t other)
{
    return oldest != UINT64_MAX && oldest <= other;
}

bool uvzk__create_order_allows(struct uvzk__queue *queue)
{
    const struct uvzk__session *session = queue->session;
    struct uvzk__session *before;
    uint32_t tried = 0;

    /* Visits the sessions that rank before this one for the path. */
    while (uvzk__has_sessions(session) &&
           (before = uvzk__next_in_rank(session, queue->path->text, &tried)) != session) {
        struct uvzk__queue *first = in_session(before, queue);
        if (first != NULL && uvzk__is_connected(before) &&
            is_before(oldest_ms(first), oldest_ms(queue))) {
            first->creates.other_session_waits = true;
            return false;
        }
    }
    return true;
}

void uvzk__create_order_changed(struct uvzk__queue *queue)
{
    queue->creates.other_session_waits = false;
    for (uint32_t i = 0; i < queue->session->client->count; i++) {
        struct uvzk__queue *next = in_session(queue->session->client->sessions[i], queue);
        if (next != NULL && next != queue && next->creates.postponed) {
            uvzk__queue_settle_later(next);
        }
    }
}

void uvzk__create_order_skip_session(struct uvzk__session *session)
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        if (session->client->sessions[i] != session) {
            uvzk__queues_settle_later(session->client->sessions[i]);
        }
    }
}

/* ------------------------------------------------------------ one directory */

static void send_alone(struct uvzk__contender *contender)
{
    uvzk__list_remove(&contender->in_batch);
    uvzk__contender_create(contender);
    if (contender->queue->creates.postponed) {
        uvzk__queue_settle_later(
            contender->queue); /* others may have waited for this one */
    }
}

/* Sends each gathered create of this directory alone, because a contender that may not
 * share their multi has come after them. */
static void send_gathered(struct uvzk__queue *queue)
{
    queue->creates.batching = false;
    queue->creates.batching_readers = false;
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (!uvzk__list_empty(&each->in_batch)) {
            send_alone(each);
        }
    }
}

/* Returns true if at least `many` contenders of this directory wait for a multi. */
static bool has_gathered(const struct uvzk__queue *queue, size_t many)
{
    for (const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);
         queue->creates.batching && many > 0 && each != NULL;
         each = uvzk__next_in(&queue->unplaced, each)) {
        many -= !uvzk__list_empty(&each->in_batch);
    }
    return many == 0;
}

static bool shares_czxid(const struct uvzk__contender *contender)
{
    return uvzk__tuned(uvzk__session_of(contender), UVZK__TUNE_READERS) &&
           contender->kind->shared;
}

/* Returns true if the contender's create may be in a multi: it is a reader, or the only
 * contender of this session in its directory. */
static bool may_share_multi(const struct uvzk__contender *contender)
{
    return shares_czxid(contender) ||
           (uvzk__tuned(uvzk__session_of(contender), UVZK__TUNE_CREATE_BATCH) &&
            contender->queue->counts.contenders == 1);
}

/* Returns true if other contenders must be created first. A contender whose create was
 * sent before (create_stamp is not 0) came before the postponed ones and does not wait
 * for them. */
static bool has_to_wait(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    return queue->creates.in_batch > 0 ||
           (queue->creates.postponed && contender->create_stamp == 0);
}

/* Adds the create to those that gather. If the contender that gathers in this directory
 * is not a reader, its create is sent alone first, because the two may not share a
 * multi. */
static void add_to_batch(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (queue->creates.batching && !queue->creates.batching_readers) {
        send_gathered(queue);
    }
    queue->creates.batching = true;
    queue->creates.batching_readers = shares_czxid(contender);
    uvzk__list_append(&uvzk__session_of(contender)->directories->to_create,
                      &contender->in_batch);
}

void uvzk__create_order_add(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (has_to_wait(contender) ||
        (contender->create_stamp == 0 && !uvzk__create_order_allows(queue))) {
        queue->creates.postponed = true;
    } else if (contender->limits.create_alone) {
        send_alone(contender);
    } else if (may_share_multi(contender)) {
        add_to_batch(contender);
    } else if (has_gathered(queue, READERS_PER_BATCH_MIN)) {
        /* The readers before this writer are enough for a multi: they go first. */
        queue->creates.postponed = true;
    } else {
        /* Fewer readers than that are created alone too, before this contender. */
        if (queue->creates.batching) {
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

/* Returns true if the create of this contender is sent in the order of its directory, and
 * is neither sent nor gathered yet. */
static bool is_wanted(const struct uvzk__contender *contender)
{
    return contender->kind->create == NULL &&
           uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE &&
           uvzk__list_empty(&contender->in_batch) &&
           !uvzk__own_watch_is_arming(contender);
}

void uvzk__create_order_send(struct uvzk__queue *queue)
{
    queue->creates.postponed |= queue->creates.wanted;
    queue->creates.wanted = false;
    if (!queue->creates.postponed || !uvzk__may_send(queue->session) ||
        uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        return;
    }
    queue->creates.postponed = false;
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (is_wanted(each)) {
            uvzk__create_order_add(each);
        }
    }
}

/* ----------------------------------------------------------------------- multis */

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
    uvzk__directories_count_create_batch(batch->session->directories, was_under_way,
                                         batch->state == UVZK__CREATE_BATCH_UNDER_WAY);
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
        send_alone(contender);
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
                       contender->queue->creates.in_batch == 0 || shares_czxid(contender),
                       "create batch: two writers of one directory");
    contender->queue->creates.in_batch++;
    return true;
}

static void fill_batch(struct create_batch *batch)
{
    struct uvzk__link *head = &batch->session->directories->to_create;

    while (!uvzk__list_empty(head) && batch->count < CREATES_PER_BATCH &&
           add_create(batch,
                      UVZK__CONTAINER_OF(head->next, struct uvzk__contender, in_batch))) {
    }
}

/* -------------------------------------------------------------------- the replies */

/* The batch has nothing more to do for this contender. */
static void creates_drop(struct create_batch *batch, size_t i)
{
    struct uvzk__contender *contender = batch->contenders[i];

    batch->contenders[i] = NULL;
    uvzk__contender_unref(contender);
}

static void creates_finish(struct create_batch *batch)
{
    struct uvzk__session *session = batch->session;

    move_and_count(batch, UVZK__CREATE_BATCH_SETTLED);
    uvzk__free(batch);
    uvzk__wake(session);
}

/* Returns true if the contender's node exists and its czxid is not known. */
static bool is_unidentified(const struct uvzk__contender *contender)
{
    return contender != NULL && contender->state != UVZK__CONTENDER_ENDED &&
           contender->node.state == UVZK__NODE_IDENTIFYING;
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

static void creates_identify(struct create_batch *batch, size_t i, int status,
                             int64_t czxid, bool ours)
{
    struct uvzk__contender *contender = batch->contenders[i];

    if (contender->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_identified(contender, status, czxid, ours, shown_at(batch, i));
    }
    creates_drop(batch, i);
}

/* Passes one result to all contenders that are left, and ends the batch. */
static void identify_all(struct create_batch *batch, int status, int64_t czxid)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->contenders[i] != NULL) {
            creates_identify(batch, i, status, czxid, true);
        }
    }
    creates_finish(batch);
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
    bool ours = reply->stat.ephemeral_owner == session->connection.session_id;

    uvzk__answered(session, rpc, status, false);
    if (status == 0 && ours) {
        identify_all(batch, 0, reply->stat.czxid);
        return;
    }
    if (status != UVZK_ENOAUTH) {
        creates_identify(batch, batch->identifying, status, 0, false);
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
    contender->read_stamp = session->submissions.stamp;
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
        contender->queue->counts.contenders == 1) {
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
        creates_drop(batch, i); /* it continues by itself, or was given up meanwhile */
    }
}

static void creates_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
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
        creates_finish(batch);
    }
}

/* ------------------------------------------------------------------------ sending */

static void creates_submit(struct create_batch *batch)
{
    uvzk__rpc_prepare(&batch->rpc, UVZK__RPC_MULTI, NULL, creates_replied);
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
           (batch->count < READERS_PER_BATCH_MIN &&
            batch->contenders[0]->queue == batch->contenders[1]->queue);
}

/* Sends each create of the batch alone, and frees the batch. */
static void submit_each(struct create_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct uvzk__contender *contender = batch->contenders[i];
        uvzk__queue_batch_create_done(contender->queue);
        creates_drop(batch, i);
        send_alone(contender);
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
    struct uvzk__link *head = &session->directories->to_create;
    struct create_batch *batch = is_lone(head) ? NULL : uvzk__calloc(1, sizeof(*batch));

    if (batch == NULL) {
        send_alone(UVZK__CONTAINER_OF(head->next, struct uvzk__contender, in_batch));
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
        creates_submit(batch);
    }
}

bool uvzk__create_batches_due(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->directories->to_create) &&
           uvzk__may_send(session) &&
           session->directories->create_batches_in_flight < CREATE_BATCHES_MAX;
}

void uvzk__create_batches_send_lone(struct uvzk__session *session)
{
    if (uvzk__create_batches_due(session) && is_lone(&session->directories->to_create)) {
        send_alone(UVZK__CONTAINER_OF(session->directories->to_create.next,
                                      struct uvzk__contender, in_batch));
    }
}

void uvzk__create_batches_send(struct uvzk__session *session)
{
    while (uvzk__create_batches_due(session)) {
        send_one(session);
    }
}
