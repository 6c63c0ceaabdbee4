#include "directory/making.h"

#include <assert.h>
#include <string.h>

#include "directory/contender.h"
#include "directory/ranks.h"
#include "engine/acl.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define CREATES_A_MAKING 64U

/* Enough to keep a server busy, few enough that creates gather meanwhile. */
#define MAKINGS_UNDER_WAY 4U

/* Two readers of one directory are as many requests in a multi, with its exists, as by
 * themselves, and a round trip later. */
#define READERS_A_MAKING_MIN 3U

/* Far below what a server reads; who does not fit in leaves with the next ones. */
#define BYTES_A_MAKING 262144U

/* Of an op, besides its path, data and ACL. */
#define OP_BYTES 60U

#define GATHERING UVZK__MAKING_GATHERING
#define UNDER_WAY UVZK__MAKING_UNDER_WAY
#define IDENTIFYING UVZK__MAKING_IDENTIFYING
#define SETTLED UVZK__MAKING_SETTLED

static const struct uvzk__state table[] = {
    [GATHERING] = {"GATHERING", UVZK__BIT(UNDER_WAY)},
    [UNDER_WAY] = {"UNDER_WAY", UVZK__BIT(IDENTIFYING) | UVZK__BIT(SETTLED)},
    [IDENTIFYING] = {"IDENTIFYING", UVZK__BIT(SETTLED)},
    [SETTLED] = {"SETTLED", 0},
};

const struct uvzk__machine uvzk__making_machine = UVZK__MACHINE("making", table);

struct making {
    struct uvzk__rpc rpc; /* the multi, then each exists */
    struct uvzk__client *client;
    size_t count, bytes;
    size_t asked;                     /* of whom the czxid is asked */
    const struct uvzk__queue *blamed; /* whose directory is missing; or NULL */
    uint8_t state;                    /* enum uvzk__making_state */
    struct uvzk__contender *contenders[CREATES_A_MAKING]; /* pinned; NULL: it has left */
    struct uvzk__op ops[CREATES_A_MAKING];
    struct uvzk__acl acls[CREATES_A_MAKING];
};

static bool sound(const struct making *making)
{
    return making->count <= CREATES_A_MAKING && making->asked <= making->count &&
           (making->state == GATHERING || making->count > 1);
}

/* The only writer of state. */
static void move(struct making *making, enum uvzk__making_state state)
{
    uvzk__directories_making(making->client->directories, making->state == UNDER_WAY,
                             state == UNDER_WAY);
    making->state =
        (uint8_t)uvzk__machine_move(&uvzk__making_machine, making->state, state);
    assert(sound(making));
}

static struct uvzk__contender *unmade_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, errand);
}

/* ------------------------------------------------------------------ who goes along */

static void create_alone(struct uvzk__contender *contender)
{
    uvzk__list_remove(&contender->errand);
    uvzk__contender_create(contender);
    if (contender->queue->behind) {
        uvzk__queue_touch(contender->queue); /* they may have waited for this one */
    }
}

static struct uvzk__contender *stranger_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* Somebody has come behind those that wait there. */
static void create_gathered(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    uvzk__queue_gathers(queue, false, false);
    while (link != NULL) {
        struct uvzk__contender *contender = stranger_at(link);
        link = uvzk__ring_next(&queue->strangers, link);
        if (!uvzk__list_empty(&contender->errand)) {
            create_alone(contender);
        }
    }
}

/* Whether so many wait there to be made with others. */
static bool has_gathered(const struct uvzk__queue *queue, size_t many)
{
    for (struct uvzk__link *link = uvzk__ring_first(&queue->strangers);
         queue->gathering && many > 0 && link != NULL;
         link = uvzk__ring_next(&queue->strangers, link)) {
        many -= !uvzk__list_empty(&stranger_at(link)->errand);
    }
    return many == 0;
}

/* Whether readers of its directory may share its czxid. */
static bool is_in_a_row(const struct uvzk__contender *contender)
{
    return (uvzk__client_of(contender)->tuning & UVZK__TUNE_READERS) != 0 &&
           contender->shared;
}

static bool goes_along(const struct uvzk__contender *contender)
{
    return is_in_a_row(contender) ||
           ((uvzk__client_of(contender)->tuning & UVZK__TUNE_MAKING) != 0 &&
            uvzk__contenders_in(&contender->queue->tallies) == 1);
}

/* Whether others are to be made before it: who has been sent before is one of these. */
static bool comes_behind(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (contender->made_alone && contender->create_stamp != 0) {
        return false;
    }
    return queue->making > 0 || (queue->behind && contender->create_stamp == 0);
}

/* Who gathers there and may not share a multi with it leaves at once. */
static void gather_at(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (queue->gathering && !queue->in_a_row) {
        create_gathered(queue);
    }
    uvzk__queue_gathers(queue, true, is_in_a_row(contender));
    uvzk__list_append(&uvzk__client_of(contender)->directories->unmade,
                      &contender->errand);
    uvzk__wake(uvzk__client_of(contender));
}

void uvzk__make(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (!uvzk__list_empty(&contender->errand) && !contender->made_alone) {
        return; /* it waits already */
    }
    if (comes_behind(contender) ||
        (contender->create_stamp == 0 && !uvzk__rank_is_due(queue))) {
        uvzk__queue_keeps(queue, true);
    } else if (contender->made_alone) {
        create_alone(contender);
    } else if (goes_along(contender)) {
        gather_at(contender);
    } else if (has_gathered(queue, READERS_A_MAKING_MIN)) {
        uvzk__queue_keeps(queue, true);
    } else {
        if (queue->gathering) {
            create_gathered(queue);
        }
        uvzk__contender_create(contender);
    }
}

void uvzk__make_alone(struct uvzk__contender *contender)
{
    uvzk__contender_made_alone(contender);
    if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE &&
        !uvzk__list_empty(&contender->errand) &&
        uvzk__may_send(uvzk__client_of(contender))) {
        create_alone(contender);
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
static bool take(struct making *making, struct uvzk__contender *contender)
{
    struct uvzk__op *op = &making->ops[making->count];

    uvzk__contender_create_op(contender, op, &making->acls[making->count]);
    if (contender->made_alone || !is_readable(op->acl)) {
        create_alone(contender);
        return true;
    }
    size_t bytes =
        OP_BYTES + strlen(op->path) + op->data_length + uvzk__acl_bytes(op->acl);
    if (making->count > 0 && making->bytes + bytes > BYTES_A_MAKING) {
        return false;
    }
    making->bytes += bytes;
    making->contenders[making->count++] = contender;
    uvzk__contender_pin(contender);
    uvzk__list_remove(&contender->errand);
    assert(contender->queue->making == 0 ||
           is_in_a_row(contender)); /* or two of one lock would have one token */
    uvzk__queue_makes(contender->queue);
    return true;
}

static void gather(struct making *making)
{
    struct uvzk__link *head = &making->client->directories->unmade;

    while (!uvzk__list_empty(head) && making->count < CREATES_A_MAKING &&
           take(making, unmade_at(head->next))) {
    }
}

/* ------------------------------------------------------------------- the outcome */

/* It has had its answer. */
static void leave(struct making *making, size_t i)
{
    struct uvzk__contender *contender = making->contenders[i];

    making->contenders[i] = NULL;
    uvzk__contender_unpin(contender);
}

static void settle(struct making *making)
{
    struct uvzk__client *client = making->client;

    move(making, SETTLED);
    uvzk__free(making);
    uvzk__wake(client);
}

/* Whether it stands, and waits for its czxid. */
static bool is_nameless(const struct uvzk__contender *contender)
{
    return contender != NULL && !contender->ended &&
           uvzk__node_state(&contender->node) == UVZK__NODE_IDENTIFYING;
}

/* Where nobody was before when it was made, as its number has said: whatever has gone since,
 * this one did not wait for it, so that it is enough to have been made. Of the others the
 * listing that covers them says whether they stand. */
static uint64_t shown_at(const struct making *making, size_t i)
{
    const struct uvzk__contender *contender = making->contenders[i];

    if (i == making->asked) {
        return contender->look_stamp;
    }
    return contender->covered && contender->clear_stamp == contender->create_stamp
               ? contender->create_stamp
               : 0;
}

static void identify(struct making *making, size_t i, int status, int64_t czxid,
                     bool ours)
{
    struct uvzk__contender *contender = making->contenders[i];

    if (!contender->ended) {
        uvzk__contender_identified(contender, status, czxid, ours, shown_at(making, i));
    }
    leave(making, i);
}

static void identify_all(struct making *making, int status, int64_t czxid)
{
    for (size_t i = 0; i < making->count; i++) {
        if (making->contenders[i] != NULL) {
            identify(making, i, status, czxid, true);
        }
    }
    settle(making);
}

static void ask(struct making *making);

/* One of them tells it for all, for one transaction has made them, and the reply that said
 * so was before: what the reading does not show is gone. Such a one, or one of its name
 * that is another's, tells nothing of the others; nor does one that may not be read, which
 * may hear of its czxid from the next. After all else each asks for itself, when it can. */
static void told(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct making *making = UVZK__CONTAINER_OF(rpc, struct making, rpc);
    struct uvzk__client *client = making->client;
    int status = reply->status;
    bool ours = reply->stat.ephemeral_owner == uvzk__session_id(&client->session);

    uvzk__answered(client, rpc, status, false);
    if (status == 0 && ours) {
        identify_all(making, 0, reply->stat.czxid);
        return;
    }
    if (status != UVZK_ENOAUTH) {
        identify(making, making->asked, status, 0, false);
    }
    making->asked++;
    if (status == 0 || status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        ask(making);
    } else {
        identify_all(making, UVZK_ENOTSENT, 0);
    }
}

/* Of the next one that still wants to be known. */
static void ask(struct making *making)
{
    struct uvzk__client *client = making->client;

    while (making->asked < making->count &&
           !is_nameless(making->contenders[making->asked])) {
        making->asked++;
    }
    if (making->asked == making->count || !uvzk__may_send(client)) {
        identify_all(making, UVZK_ENOTSENT, 0);
        return;
    }
    struct uvzk__contender *contender = making->contenders[making->asked];
    uvzk__rpc_prepare(&making->rpc, UVZK__RPC_EXISTS, contender->path, told);
    uvzk__submit(client, &making->rpc);
    uvzk__contender_looked_at(contender, uvzk__stamp(&client->submissions));
}

/* Why a member was not made. What the server says is about one of them; of those behind
 * that one it has not looked at any. */
static int reason_for(struct making *making, size_t i, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = making->contenders[i];
    int status = reply->status;
    bool looked_at = reply->failed_op < making->count;

    if (reply->failed_op == i || (uvzk__is_passing(status) && status != UV_ENOMEM)) {
        return status;
    }
    if (looked_at && status == UVZK_ENONODE && contender->queue == making->blamed) {
        return status; /* the same directory's */
    }
    if (looked_at && status == UVZK_ENONODE && i > reply->failed_op &&
        !contender->suspected && uvzk__contenders_in(&contender->queue->tallies) == 1) {
        uvzk__contender_suspected(contender);
        return status;
    }
    uvzk__contender_made_alone(contender);
    return looked_at || uvzk__create_certainly_failed(status) ? UVZK_ENOTSENT
                                                              : UVZK_ECONNLOSS;
}

/* Whoever has come behind them meanwhile comes behind them, however they go on. */
void uvzk__make_way(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    if (!queue->behind || queue->making > 0 || has_gathered(queue, 1) ||
        uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS) ||
        !uvzk__rank_is_due(queue)) {
        return; /* some of these are to be made before them */
    }
    uvzk__queue_keeps(queue, false);
    while (link != NULL) {
        struct uvzk__contender *contender = stranger_at(link);
        link = uvzk__ring_next(&queue->strangers, link);
        if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_CREATE) {
            uvzk__contender_pump(contender);
        }
    }
}

static void outcome(struct making *making, size_t i, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = making->contenders[i];

    uvzk__queue_made(contender->queue); /* touched below: who is behind goes on */
    if (reply->status == 0) {
        uvzk__contender_made_together(contender, reply->made[i]);
    } else {
        uvzk__contender_made(contender, reason_for(making, i, reply), NULL, 0);
    }
    if (reply->status != 0 || !is_nameless(contender)) {
        leave(making, i); /* it goes on by itself, or has been given up meanwhile */
    }
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct making *making = UVZK__CONTAINER_OF(rpc, struct making, rpc);

    uvzk__answered(making->client, rpc, reply->status, true);
    if (reply->failed_op < making->count) {
        making->blamed = making->contenders[reply->failed_op]->queue;
    }
    for (size_t i = 0; i < making->count; i++) {
        outcome(making, i, reply);
    }
    if (reply->status == 0) {
        move(making, IDENTIFYING);
        ask(making);
    } else {
        settle(making);
    }
}

/* ------------------------------------------------------------------------ sending */

static void submit(struct making *making)
{
    uvzk__rpc_prepare(&making->rpc, UVZK__RPC_MULTI, NULL, replied);
    making->rpc.ops = making->ops;
    making->rpc.op_count = making->count;
    move(making, UNDER_WAY);
    uvzk__submit(making->client, &making->rpc);
    for (size_t i = 0; i < making->count; i++) {
        uvzk__contender_sent_unlisted(making->contenders[i]);
    }
}

/* A multi of these saves nothing. */
static bool are_few(const struct making *making)
{
    return making->count == 1 ||
           (making->count < READERS_A_MAKING_MIN &&
            making->contenders[0]->queue == making->contenders[1]->queue);
}

static void submit_each(struct making *making)
{
    for (size_t i = 0; i < making->count; i++) {
        struct uvzk__contender *contender = making->contenders[i];
        uvzk__queue_made(contender->queue);
        leave(making, i);
        create_alone(contender);
    }
    uvzk__free(making);
}

/* Out of memory: one after the other, each with what it has. */
static void send_one(struct uvzk__client *client)
{
    struct uvzk__link *head = &client->directories->unmade;
    bool lone = head->next == head->prev;
    struct making *making = lone ? NULL : uvzk__calloc(1, sizeof(*making));

    if (making == NULL) {
        create_alone(unmade_at(head->next));
        return;
    }
    making->client = client;
    gather(making);
    if (making->count == 0) {
        uvzk__free(making);
    } else if (are_few(making)) {
        submit_each(making);
    } else {
        submit(making);
    }
}

bool uvzk__makings_due(const struct uvzk__client *client)
{
    return !uvzk__list_empty(&client->directories->unmade) && uvzk__may_send(client) &&
           client->directories->makings_under_way < MAKINGS_UNDER_WAY;
}

void uvzk__makings_send(struct uvzk__client *client)
{
    while (uvzk__makings_due(client)) {
        send_one(client);
    }
}
