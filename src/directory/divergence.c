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

struct divergence_query {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    struct uvzk__op check;
    int64_t czxid; /* once it is known */
    uint8_t step;  /* enum uvzk__divergence_step */
    uint8_t directory_order;
    char path[];
};

static bool invariant_holds(const struct divergence_query *query)
{
    return query->step == ASKING || query->czxid != 0;
}

/* The only writer of step. */
static void move(struct divergence_query *query, enum uvzk__divergence_step step)
{
    query->step =
        (uint8_t)uvzk__machine_move(&uvzk__divergence_machine, query->step, step);
    assert(invariant_holds(query));
}

/* The directory that it is asked of; NULL: nobody of ours is there any more. */
static struct uvzk__queue *directory_of(struct divergence_query *query)
{
    size_t length = uvzk__path_parent_length(query->path);
    struct uvzk__queue *queue;

    query->path[length] = '\0';
    queue = uvzk__queue_find(
        query->session, (enum uvzk__directory_order)query->directory_order, query->path);
    query->path[length] = '/';
    return queue;
}

static void finish(struct divergence_query *query)
{
    struct uvzk__session *session = query->session;

    uvzk__free(query);
    uvzk__wake(session);
}

/* ------------------------------------------------------------- whether it is shown still */

/* Where no other server is to be had, the quorum's word is enough. */
static void look_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct divergence_query *query =
        UVZK__CONTAINER_OF(rpc, struct divergence_query, rpc);

    uvzk__answered(query->session, rpc, reply->status, false);
    if (reply->status == 0 && reply->stat.czxid == query->czxid &&
        !uvzk__diverged(query->session, query->path, true)) {
        struct uvzk__queue *queue = directory_of(query);
        if (queue != NULL && queue->kind->in_order) {
            uvzk__predecessor_is_gone(queue, query->path);
        }
    }
    finish(query);
}

static void look(struct divergence_query *query)
{
    uvzk__rpc_prepare(&query->rpc, UVZK__RPC_EXISTS, query->path, look_replied);
    uvzk__submit(query->session, &query->rpc);
}

/* --------------------------------------------------------------- what the quorum says */

static void check_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct divergence_query *query =
        UVZK__CONTAINER_OF(rpc, struct divergence_query, rpc);

    uvzk__answered(query->session, rpc, reply->status, true);
    if (reply->status == UVZK_ENONODE && uvzk__may_send(query->session)) {
        move(query, LOOKING);
        look(query);
    } else {
        finish(query);
    }
}

static void check(struct divergence_query *query, int64_t czxid)
{
    query->czxid = czxid;
    move(query, CHECKING);
    query->check.kind = UVZK__OP_CHECK;
    query->check.path = query->path;
    query->check.version = -1;
    uvzk__rpc_prepare(&query->rpc, UVZK__RPC_MULTI, NULL, check_replied);
    query->rpc.ops = &query->check;
    query->rpc.op_count = 1;
    uvzk__submit(query->session, &query->rpc);
}

/* ------------------------------------------------------------------------ whose it is */

/* The first of a view that is old may have gone, and others with it: a listing shows who is
 * first now, of whom it is asked then. */
static void blocker_gone(struct uvzk__queue *queue)
{
    if (queue->blocked_long && queue->kind->in_order) {
        uvzk__freshness_set_stale(queue);
        uvzk__queue_settle_later(queue);
    }
}

static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct divergence_query *query =
        UVZK__CONTAINER_OF(rpc, struct divergence_query, rpc);
    struct uvzk__queue *queue = directory_of(query);

    uvzk__answered(query->session, rpc, reply->status, false);
    if (queue != NULL && reply->status == UVZK_ENONODE) {
        blocker_gone(queue);
    }
    if (queue != NULL && reply->status == 0 && uvzk__may_send(query->session) &&
        !uvzk__orphan_found(queue, uvzk__path_name(query->path), &reply->stat)) {
        check(query, reply->stat.czxid);
    } else {
        finish(query);
    }
}

/* NULL: out of memory, or nothing can be asked; there is a next time. */
static struct divergence_query *new_query(struct uvzk__session *session, size_t size)
{
    struct divergence_query *query = NULL;

    if (uvzk__may_send(session)) {
        query = uvzk__calloc(1, sizeof(*query) + size);
    }
    if (query != NULL) {
        query->session = session;
    }
    return query;
}

void uvzk__divergence_look(struct uvzk__session *session, const char *path, int64_t czxid)
{
    size_t size = strlen(path) + 1;
    struct divergence_query *query = new_query(session, size);

    if (query != NULL) {
        memcpy(query->path, path, size);
        query->czxid = czxid;
        move(query, LOOKING);
        look(query);
    }
}

void uvzk__divergence_ask(struct uvzk__queue *queue, const char *name)
{
    struct divergence_query *query =
        new_query(queue->session, uvzk__path_join_into(NULL, queue->path->text, name));

    if (query != NULL) {
        query->directory_order = (uint8_t)queue->kind->directory_order;
        (void)uvzk__path_join_into(query->path, queue->path->text, name);
        uvzk__rpc_prepare(&query->rpc, UVZK__RPC_EXISTS, query->path, stat_replied);
        uvzk__submit(queue->session, &query->rpc);
    }
}
