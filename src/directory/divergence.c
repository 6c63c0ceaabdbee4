#include "directory/divergence.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "directory/orphans.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "engine/submission.h"

#define ASKING UVZK__DIVERGENCE_ASKING
#define CHECKING UVZK__DIVERGENCE_CHECKING
#define LOOKING UVZK__DIVERGENCE_LOOKING

static const struct uvzk__state table[] = {
    [ASKING] = {"ASKING", UVZK__BIT(CHECKING) | UVZK__BIT(LOOKING)},
    [CHECKING] = {"CHECKING", UVZK__BIT(LOOKING)},
    [LOOKING] = {"LOOKING", 0},
};

const struct uvzk__machine uvzk__divergence_machine = UVZK__MACHINE("divergence", table);

struct question {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    struct uvzk__op check;
    int64_t czxid; /* once it is known */
    uint8_t step;  /* enum uvzk__divergence_step */
    uint8_t discipline;
    char path[];
};

static bool sound(const struct question *question)
{
    return question->step == ASKING || question->czxid != 0;
}

/* The only writer of step. */
static void move(struct question *question, enum uvzk__divergence_step step)
{
    question->step =
        (uint8_t)uvzk__machine_move(&uvzk__divergence_machine, question->step, step);
    assert(sound(question));
}

/* The directory that it is asked of; NULL: nobody of ours is there any more. */
static struct uvzk__queue *directory_of(struct question *question)
{
    size_t length = uvzk__path_parent_length(question->path);
    struct uvzk__queue *queue;

    question->path[length] = '\0';
    queue = uvzk__queue_find(question->client,
                             (enum uvzk__discipline)question->discipline, question->path);
    question->path[length] = '/';
    return queue;
}

static void settle(struct question *question)
{
    struct uvzk__client *client = question->client;

    uvzk__free(question);
    uvzk__wake(client);
}

/* ------------------------------------------------------------- whether it is shown still */

/* Where no other server is to be had, the quorum's word is enough. */
static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct question *question = UVZK__CONTAINER_OF(rpc, struct question, rpc);

    uvzk__answered(question->client, rpc, reply->status, false);
    if (reply->status == 0 && reply->stat.czxid == question->czxid &&
        !uvzk__diverged(question->client, question->path, true)) {
        struct uvzk__queue *queue = directory_of(question);
        if (queue != NULL && queue->kind->in_order) {
            uvzk__predecessor_is_gone(queue, question->path);
        }
    }
    settle(question);
}

static void look(struct question *question)
{
    uvzk__rpc_prepare(&question->rpc, UVZK__RPC_EXISTS, question->path, looked);
    uvzk__submit(question->client, &question->rpc);
}

/* --------------------------------------------------------------- what the quorum says */

static void checked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct question *question = UVZK__CONTAINER_OF(rpc, struct question, rpc);

    uvzk__answered(question->client, rpc, reply->status, true);
    if (reply->status == UVZK_ENONODE && uvzk__may_send(question->client)) {
        move(question, LOOKING);
        look(question);
    } else {
        settle(question);
    }
}

static void check(struct question *question, int64_t czxid)
{
    question->czxid = czxid;
    move(question, CHECKING);
    question->check.kind = UVZK__OP_CHECK;
    question->check.path = question->path;
    question->check.version = -1;
    uvzk__rpc_prepare(&question->rpc, UVZK__RPC_MULTI, NULL, checked);
    question->rpc.ops = &question->check;
    question->rpc.op_count = 1;
    uvzk__submit(question->client, &question->rpc);
}

/* ------------------------------------------------------------------------ whose it is */

/* The first of a view that is old may have gone, and others with it: a listing shows who is
 * first now, of whom it is asked then. */
static void has_gone(struct uvzk__queue *queue)
{
    if (queue->waits_long && queue->kind->in_order) {
        uvzk__freshness_doubted(queue);
        uvzk__queue_touch(queue);
    }
}

static void told(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct question *question = UVZK__CONTAINER_OF(rpc, struct question, rpc);
    struct uvzk__queue *queue = directory_of(question);

    uvzk__answered(question->client, rpc, reply->status, false);
    if (queue != NULL && reply->status == UVZK_ENONODE) {
        has_gone(queue);
    }
    if (queue != NULL && reply->status == 0 && uvzk__may_send(question->client) &&
        !uvzk__orphan_found(queue, uvzk__path_name(question->path), &reply->stat)) {
        check(question, reply->stat.czxid);
    } else {
        settle(question);
    }
}

/* NULL: out of memory, or nothing can be asked; there is a next time. */
static struct question *new_question(struct uvzk__client *client, size_t size)
{
    struct question *question = NULL;

    if (uvzk__may_send(client)) {
        question = uvzk__calloc(1, sizeof(*question) + size);
    }
    if (question != NULL) {
        question->client = client;
    }
    return question;
}

void uvzk__divergence_look(struct uvzk__client *client, const char *path, int64_t czxid)
{
    size_t size = strlen(path) + 1;
    struct question *question = new_question(client, size);

    if (question != NULL) {
        memcpy(question->path, path, size);
        question->czxid = czxid;
        move(question, LOOKING);
        look(question);
    }
}

void uvzk__divergence_ask(struct uvzk__queue *queue, const char *name)
{
    struct question *question =
        new_question(queue->client, uvzk__path_join_into(NULL, queue->path->text, name));

    if (question != NULL) {
        question->discipline = (uint8_t)queue->kind->discipline;
        (void)uvzk__path_join_into(question->path, queue->path->text, name);
        uvzk__rpc_prepare(&question->rpc, UVZK__RPC_EXISTS, question->path, told);
        uvzk__submit(queue->client, &question->rpc);
    }
}
