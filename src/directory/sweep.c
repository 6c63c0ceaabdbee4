#include "directory/sweep.h"

#include <assert.h>

#include "directory/contender.h"
#include "directory/orphans.h"
#include "directory/queue.h"
#include "directory/succession.h"
#include "directory/undeletable.h"
#include "directory/vouching.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define DELETES_A_SWEEP 64U

/* Enough to keep a server busy, few enough that deletes gather meanwhile. */
#define SWEEPS_UNDER_WAY 4U

#define RETRY_MS 100U

/* Before a delete is repeated that was refused for a reason of its own: somebody has put
 * children below a persistent znode of ours, say. */
#define REFUSED_REST_MS 1000U

/* Those on credit, in the lock's directory and in that of the leases. */
#define CREDITS (2U * UVZK__CREDITS_MAX)

#define GATHERING UVZK__SWEEP_GATHERING
#define UNDER_WAY UVZK__SWEEP_UNDER_WAY
#define SETTLED UVZK__SWEEP_SETTLED

static const struct uvzk__state table[] = {
    [GATHERING] = {"GATHERING", UVZK__BIT(UNDER_WAY)},
    [UNDER_WAY] = {"UNDER_WAY", UVZK__BIT(SETTLED)},
    [SETTLED] = {"SETTLED", 0},
};

const struct uvzk__machine uvzk__sweep_machine = UVZK__MACHINE("sweep", table);

struct sweep {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    struct uvzk__op *ops;
    struct uvzk__contender **contenders; /* of each op */
    struct uvzk__queue **guarded; /* whose holders and heir are checked, each once */
    size_t op_count, room, guarded_count;
    uint64_t stamp; /* of its submission */
    uint8_t state;  /* enum uvzk__sweep_state */
};

static bool sound(const struct sweep *sweep)
{
    return sweep->state == GATHERING ||
           (sweep->op_count > 0 && sweep->op_count <= sweep->room);
}

/* The only writer of state; a client has a few under way at most. */
static void move(struct sweep *sweep, enum uvzk__sweep_state state)
{
    uvzk__directories_swept(sweep->client->directories, sweep->state == UNDER_WAY,
                            state == UNDER_WAY);
    sweep->state = (uint8_t)uvzk__machine_move(&uvzk__sweep_machine, sweep->state, state);
    assert(sound(sweep));
}

static struct uvzk__contender *doomed_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, errand);
}

static void free_sweep(struct sweep *sweep)
{
    if (sweep != NULL) {
        uvzk__free(sweep->ops);
        uvzk__free(sweep->contenders);
        uvzk__free(sweep->guarded);
        uvzk__free(sweep);
    }
}

static struct sweep *new_sweep(struct uvzk__client *client, size_t deletes)
{
    struct sweep *sweep = uvzk__calloc(1, sizeof(*sweep));

    if (sweep == NULL) {
        return NULL;
    }
    sweep->client = client;
    sweep->room = 2 * deletes + CREDITS; /* each may have an heir to check */
    sweep->ops = uvzk__calloc(sweep->room, sizeof(sweep->ops[0]));
    sweep->contenders = uvzk__calloc(sweep->room, sizeof(struct uvzk__contender *));
    sweep->guarded = uvzk__calloc(2 * deletes, sizeof(struct uvzk__queue *));
    if (sweep->ops == NULL || sweep->contenders == NULL || sweep->guarded == NULL) {
        free_sweep(sweep);
        return NULL;
    }
    return sweep;
}

static void add(struct sweep *sweep, struct uvzk__contender *contender,
                enum uvzk__op_kind kind)
{
    struct uvzk__op *op = &sweep->ops[sweep->op_count];

    op->kind = kind;
    op->path = contender->path;
    op->version = -1;
    sweep->contenders[sweep->op_count++] = contender;
    uvzk__contender_pin(contender);
}

static bool is_guarded(const struct sweep *sweep, const struct uvzk__queue *queue)
{
    size_t i = 0;

    while (i < sweep->guarded_count && sweep->guarded[i] != queue) {
        i++;
    }
    return i < sweep->guarded_count;
}

/* Those that the queue's deletes must not leave unwatched: who was granted past a
 * node that still stands, and who is about to be granted. */
static void add_checks(struct sweep *sweep, struct uvzk__queue *queue)
{
    struct uvzk__contender *heir =
        queue->kind->discipline == UVZK__COUNTED ? NULL : uvzk__heir(queue);
    uint32_t credits = uvzk__credits(&queue->tallies);

    sweep->guarded[sweep->guarded_count++] = queue;
    for (struct uvzk__link *link = uvzk__ring_first(&queue->holders); credits > 0;
         link = uvzk__ring_next(&queue->holders, link)) {
        struct uvzk__contender *holder =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (holder->on_credit && !holder->unchecked) {
            add(sweep, holder, UVZK__OP_CHECK);
        }
        credits -= holder->on_credit;
    }
    if (heir != NULL && !heir->unchecked) {
        add(sweep, heir, UVZK__OP_CHECK);
    }
}

static void add_delete(struct sweep *sweep, struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    uint64_t stamp =
        uvzk__stamp(&sweep->client->submissions) + 1; /* of the request to come */

    uvzk__list_remove(&contender->errand);
    if ((uvzk__client_of(contender)->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
        !is_guarded(sweep, queue)) {
        add_checks(sweep, queue);
    }
    if (uvzk__contender_beside(contender) != NULL &&
        !is_guarded(sweep, uvzk__contender_beside(contender))) {
        add_checks(sweep, uvzk__contender_beside(contender));
    }
    uvzk__queue_deletes(contender, stamp);
    add(sweep, contender, UVZK__OP_DELETE);
    uvzk__node_sent(&contender->node);
}

static bool has_room(const struct sweep *sweep, const struct uvzk__contender *contender)
{
    uint32_t credits = uvzk__credits(&contender->queue->tallies);

    if (uvzk__contender_beside(contender) != NULL) {
        credits += uvzk__credits(&uvzk__contender_beside(contender)->tallies);
    }
    return sweep->op_count + credits + 2 <= sweep->room;
}

/* How many of the doomed may share the next request. */
static size_t batch_size(struct uvzk__client *client)
{
    struct uvzk__link *link = client->directories->doomed.next;
    size_t count = 0;

    if (!(client->tuning & UVZK__TUNE_BATCH) || doomed_at(link)->swept_alone) {
        return 1;
    }
    while (link != &client->directories->doomed && count < DELETES_A_SWEEP &&
           !doomed_at(link)->swept_alone) {
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

    if (uvzk__node_state(&contender->node) != UVZK__NODE_DOOMED) {
        return;
    }
    if (status == UVZK_ENOAUTH) {
        uvzk__undeletable(contender);
    }
    uvzk__node_delete_replied(&contender->node, status);
    if (uvzk__contender_is_adopted(contender) && gone) {
        uvzk__orphan_deleted(contender);
    }
    uvzk__contender_follow(contender);
    if (gone) {
        uvzk__undeletable_permitted(queue);
    }
}

/* What the failing operation says about its own node. */
static void delete_refused(struct uvzk__contender *contender, int status)
{
    if (status != UVZK_ENOAUTH && status != UVZK_ENONODE) {
        uvzk__contender_rest(contender, REFUSED_REST_MS);
        status = UVZK_ENOTSENT;
    }
    delete_replied(contender, status);
}

/* Of a directory in which one of the deletes was refused for lack of a right, so were the
 * others: the server would have said the same of each. */
static bool shares_refusal(const struct sweep *sweep, size_t index, size_t failed)
{
    const struct uvzk__contender *one = sweep->contenders[index];
    const struct uvzk__contender *culprit =
        failed < sweep->op_count ? sweep->contenders[failed] : NULL;

    return culprit != NULL && sweep->ops[failed].kind == UVZK__OP_DELETE &&
           !culprit->ended && !one->ended && culprit->queue == one->queue;
}

/* An op of a request that the server refused as a whole. */
static void op_refused(struct sweep *sweep, size_t index, size_t failed, int status)
{
    struct uvzk__contender *contender = sweep->contenders[index];
    bool culprit = index == failed;

    if (sweep->ops[index].kind == UVZK__OP_CHECK) {
        if (culprit && status == UVZK_ENONODE && !contender->ended) {
            uvzk__contender_missing(contender);
        } else if (status == UVZK_ENOAUTH && (culprit || failed >= sweep->op_count) &&
                   !contender->ended) {
            uvzk__contender_is_unchecked(contender);
            uvzk__queue_unreadable(contender->queue);
        }
        return;
    }
    uvzk__contender_swept_alone(contender, failed >= sweep->op_count);
    if (culprit || (status == UVZK_ENOAUTH && shares_refusal(sweep, index, failed))) {
        delete_refused(contender, status);
    } else {
        delete_replied(contender, UVZK_ENOTSENT);
    }
}

static void checked(struct uvzk__contender *contender, uint64_t stamp)
{
    if (!contender->ended) {
        uvzk__contender_off_credit(contender);
        uvzk__vouch(contender, stamp);
        uvzk__queue_touch(contender->queue);
    }
}

static void swept(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct sweep *sweep = UVZK__CONTAINER_OF(rpc, struct sweep, rpc);
    bool refused = reply->status != 0 && uvzk__is_answer(reply->status);
    size_t failed = rpc->kind == UVZK__RPC_DELETE ? 0 : reply->failed_op;

    move(sweep, SETTLED);
    uvzk__answered(sweep->client, rpc, reply->status, true);
    for (size_t i = 0; i < sweep->op_count; i++) {
        if (refused) {
            op_refused(sweep, i, failed, reply->status);
        } else if (sweep->ops[i].kind == UVZK__OP_DELETE) {
            delete_replied(sweep->contenders[i], reply->status);
        } else if (reply->status == 0) {
            checked(sweep->contenders[i], sweep->stamp);
        }
    }
    for (size_t i = 0; i < sweep->op_count; i++) {
        uvzk__contender_unpin(sweep->contenders[i]);
    }
    uvzk__wake(sweep->client);
    free_sweep(sweep);
}

static bool send_one(struct uvzk__client *client)
{
    size_t count = batch_size(client);
    struct sweep *sweep = new_sweep(client, count);

    if (sweep == NULL) {
        return false;
    }
    for (size_t i = 0;
         i < count && has_room(sweep, doomed_at(client->directories->doomed.next)); i++) {
        add_delete(sweep, doomed_at(client->directories->doomed.next));
    }
    if (sweep->op_count == 1 && !sweep->contenders[0]->unshown) {
        uvzk__rpc_prepare(&sweep->rpc, UVZK__RPC_DELETE, sweep->ops[0].path, swept);
    } else {
        uvzk__rpc_prepare(&sweep->rpc, UVZK__RPC_MULTI, NULL, swept);
        sweep->rpc.ops = sweep->ops;
        sweep->rpc.op_count = sweep->op_count;
    }
    move(sweep, UNDER_WAY);
    uvzk__submit(client, &sweep->rpc);
    sweep->stamp = uvzk__stamp(&client->submissions);
    return true;
}

static void try_again(struct uvzk__timed *timed)
{
    (void)timed; /* the turn that runs this sweeps at its end */
}

/* Readers hold on credit in its directory. */
static bool lets_readers_in(const struct uvzk__contender *doomed)
{
    const struct uvzk__tallies *tallies = &doomed->queue->tallies;

    return uvzk__credits(tallies) > 0 && uvzk__writers_held(tallies) == 0;
}

/* Once: what has been put off comes before what is doomed since. */
static void put_off(struct uvzk__client *client)
{
    struct uvzk__directories *directories = client->directories;
    bool puts_off = (client->tuning & UVZK__TUNE_READERS) != 0 &&
                    directories->readers_on_credit > 0 && uvzk__may_send(client) &&
                    !uvzk__list_empty(&client->tellings);
    struct uvzk__link due, *link, *next;

    uvzk__list_move(&directories->put_off, &due);
    for (link = directories->doomed.next; puts_off && link != &directories->doomed;
         link = next) {
        next = link->next;
        if (lets_readers_in(doomed_at(link))) {
            uvzk__list_remove(link);
            uvzk__list_append(&directories->put_off, link);
        }
    }
    while (!uvzk__list_empty(&due)) {
        link = due.prev;
        uvzk__list_remove(link);
        uvzk__list_insert_before(directories->doomed.next, link);
    }
}

bool uvzk__sweep_is_due(const struct uvzk__client *client)
{
    return !uvzk__list_empty(&client->directories->put_off);
}

void uvzk__sweep(struct uvzk__client *client)
{
    put_off(client);
    while (!uvzk__list_empty(&client->directories->doomed) && uvzk__may_send(client) &&
           client->directories->sweeps_under_way < SWEEPS_UNDER_WAY) {
        if (!send_one(client)) {
            client->directories->sweep_retry.due = try_again;
            uvzk__timed_set(client, &client->directories->sweep_retry,
                            uvzk__now(client) + RETRY_MS);
            return;
        }
    }
}
