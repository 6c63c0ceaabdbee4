/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes orphans and makes them contenders that are being deleted, and runs divergence
 * queries (divergence.h). predecessor.c, listing.c, driver_lock.c and node_watch.c start
 * a query for a node that blocks a contender or may be an orphan. predecessor.c passes the
 * stat of its predecessor, listing.c and driver_lock.c pass names of a listing, and
 * delete_batch.c reports that an orphan's delete has been answered.
 *
 * In doubt, the check keeps a znode: if any contender of the client might have created
 * the znode, the znode is not an orphan.
 *
 * A query allocates its own memory and frees it after its last reply, so any number of
 * queries may be in flight. It looks up its directory by path in each reply, because the
 * directory may have been freed meanwhile. */
#include "directory/divergence.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/foreign_nodes.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "engine/diverged.h"
#include "engine/log.h"
#include "engine/submission.h"

/* Digits of a sequence number that is not used up. */
#define DIGITS 10U

/* ------------------------------------------------------------- is it an orphan? */

/* The session of this client that owns the znode. NULL: the znode is another client's, or
 * is not ephemeral. */
static const struct uvzk__session *owner_of(const struct uvzk__session *session,
                                            const struct uvzk__stat *stat)
{
    uint32_t i = 0;

    while (stat->ephemeral_owner != 0 && i < session->client->count) {
        const struct uvzk__session *each = session->client->sessions[i];
        if (each->connection.session_id == stat->ephemeral_owner) {
            return each;
        }
        i++;
    }
    return NULL;
}

/* Contenders of one path may be in several sessions of the client (creates.h). */
bool uvzk__orphan_is_known(const struct uvzk__queue *queue, const char *name)
{
    for (uint32_t i = 0; i < queue->session->client->count; i++) {
        if (uvzk__directories_have_name(queue->session->client->sessions[i],
                                        queue->path->text, name, true)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the name has the format that contenders write (node_name.h), with any
 * name prefix. */
static bool has_our_format(const char *name, int32_t *sequence)
{
    struct uvzk__node_name parsed;
    char name_prefix[UVZK__NAME_PREFIX_MAX + 1] = "";
    size_t length = strlen(name), around = UVZK__PROTECTION_LENGTH + DIGITS;

    if (length < around || length - around > UVZK__NAME_PREFIX_MAX) {
        return false;
    }
    memcpy(name_prefix, name + UVZK__PROTECTION_LENGTH, length - around);
    uvzk__node_name_parse(&parsed, name, name_prefix);
    *sequence = parsed.sequence;
    return parsed.is_contender && parsed.has_uuid;
}

const char *uvzk__orphan_number(const char *name)
{
    int32_t sequence;

    return has_our_format(name, &sequence) ? name + strlen(name) - DIGITS : NULL;
}

/* Makes the znode a contender that is being deleted. False: out of memory. */
static bool new_orphan(struct uvzk__queue *queue, const char *name,
                       struct uvzk__place place)
{
    struct uvzk__queue *leaves = queue;
    struct uvzk__node_name parsed;
    bool shared;

    /* A lock driver's directory has no place for a contender without a driver. */
    if (queue->kind->orphan_kind != NULL) {
        leaves = uvzk__queue_of(queue->session, queue->kind->orphan_kind, queue->path);
    }
    uvzk__node_name_parse_any(&parsed, name, queue->kind->name_prefixes, &shared);
    return leaves != NULL &&
           uvzk__contender_new_orphan(leaves, name, place, shared, true) != NULL;
}

bool uvzk__orphan_found(struct uvzk__queue *queue, const char *name,
                        const struct uvzk__stat *stat)
{
    struct uvzk__place place = {0, stat->czxid};

    if (owner_of(queue->session, stat) == NULL ||
        !has_our_format(name, &place.sequence) || uvzk__orphan_is_known(queue, name) ||
        !new_orphan(queue, name, place)) {
        return false;
    }
    uvzk__log(queue->session, UVZK_LOG_WARN, "directory",
              "%s/%s belongs to this client's session %" PRIx64
              " but to none of its locks. It is an orphan and is deleted",
              queue->path->text, name, (uint64_t)stat->ephemeral_owner);
    /* The last listing counted it among the foreign nodes. */
    (void)uvzk__foreign_nodes_remove(queue, name);
    if (queue->kind->counted) {
        uvzk__foreign_nodes_lease_is_ours(queue);
    }
    return true;
}

/* ------------------------------------------------------------- a divergence query */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__DIVERGENCE_, ASKING, CHECKING, LOOKING),
    UVZK__STATE(UVZK__DIVERGENCE_, CHECKING, LOOKING),
    UVZK__FINAL(UVZK__DIVERGENCE_, LOOKING),
};

struct divergence_query {
    struct uvzk__rpc rpc;
    struct uvzk__session *session;
    const struct uvzk__directory_kind *kind; /* of the znode's directory */
    struct uvzk__op check;
    int64_t czxid; /* of the znode; 0: not known yet (ASKING) */
    uint8_t step;  /* enum uvzk__divergence_step */
    char path[];   /* of the znode */
};

static bool invariant_holds(const void *object)
{
    const struct divergence_query *query = object;

    return query->step == UVZK__DIVERGENCE_ASKING || query->czxid != 0;
}

const struct uvzk__machine uvzk__divergence_machine =
    UVZK__MACHINE("divergence", table, struct divergence_query, step, invariant_holds);

/* The directory of the znode; NULL: this session no longer has one there. */
static struct uvzk__queue *directory_of(struct divergence_query *query)
{
    size_t length = uvzk__path_parent_length(query->path);
    struct uvzk__queue *queue;

    /* Cuts the path at the znode's name for the lookup. */
    query->path[length] = '\0';
    queue = uvzk__queue_find(query->session, query->kind, query->path);
    query->path[length] = '/';
    return queue;
}

static void divergence_finish(struct divergence_query *query)
{
    struct uvzk__session *session = query->session;

    uvzk__free(query);
    uvzk__wake(session);
}

/* -------------------------------------------------------- LOOKING: is it still shown? */

/* If the server has diverged, the session leaves it (uvzk__diverged). If it stays,
 * because it has left a server not long ago, the view follows the quorum: the znode is
 * removed from it. */
static void look_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct divergence_query *query =
        UVZK__CONTAINER_OF(rpc, struct divergence_query, rpc);

    uvzk__answered(query->session, rpc, reply->status, false);
    if (reply->status == 0 && reply->stat.czxid == query->czxid &&
        !uvzk__diverged(query->session, query->path, true)) {
        struct uvzk__queue *queue = directory_of(query);
        if (queue != NULL && (queue->kind->in_order || queue->kind->counted)) {
            uvzk__predecessor_is_gone(queue, query->path);
        }
    }
    divergence_finish(query);
}

static void divergence_look(struct divergence_query *query)
{
    uvzk__rpc_prepare(&query->rpc, UVZK__RPC_EXISTS, query->path, look_replied);
    uvzk__submit(query->session, &query->rpc);
}

/* ----------------------------------------------- CHECKING: what does the quorum say? */

static void check_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct divergence_query *query =
        UVZK__CONTAINER_OF(rpc, struct divergence_query, rpc);

    uvzk__answered(query->session, rpc, reply->status, true);
    if (reply->status == UVZK_ENONODE && uvzk__may_send(query->session)) {
        uvzk__move(query->session, &uvzk__divergence_machine, query,
                   UVZK__DIVERGENCE_LOOKING);
        divergence_look(query);
    } else {
        divergence_finish(query);
    }
}

/* A multi with one check: a quorum must agree to it, so its result does not come from
 * this server's own data. */
static void divergence_check(struct divergence_query *query, int64_t czxid)
{
    query->czxid = czxid;
    uvzk__move(query->session, &uvzk__divergence_machine, query,
               UVZK__DIVERGENCE_CHECKING);
    query->check.kind = UVZK__OP_CHECK;
    query->check.path = query->path;
    query->check.version = -1;
    uvzk__rpc_prepare(&query->rpc, UVZK__RPC_MULTI, NULL, check_replied);
    query->rpc.ops = &query->check;
    query->rpc.op_count = 1;
    uvzk__submit(query->session, &query->rpc);
}

/* -------------------------------------------------------------- ASKING: whose is it? */

/* The node does not exist on this server. It was the first of a view that may be old, and
 * other nodes of the view may be gone too. A listing shows which node is first now, and
 * listing.c then asks about that one. */
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
    /* An orphan is deleted, and its delete asks the quorum. */
    if (queue != NULL && reply->status == 0 && uvzk__may_send(query->session) &&
        !uvzk__orphan_found(queue, uvzk__path_name(query->path), &reply->stat)) {
        divergence_check(query, reply->stat.czxid);
    } else {
        divergence_finish(query);
    }
}

/* size: of the path, with its NUL. NULL: out of memory, or nothing may be sent. The new
 * query is in ASKING. */
static struct divergence_query *new_query(struct uvzk__queue *queue, size_t size)
{
    struct divergence_query *query = NULL;

    if (uvzk__may_send(queue->session)) {
        query = uvzk__calloc(1, sizeof(*query) + size);
    }
    if (query != NULL) {
        query->session = queue->session;
        query->kind = queue->kind;
    }
    return query;
}

void uvzk__divergence_ask(struct uvzk__queue *queue, const char *name)
{
    struct divergence_query *query =
        new_query(queue, uvzk__path_join_into(NULL, queue->path->text, name));

    if (query != NULL) {
        (void)uvzk__path_join_into(query->path, queue->path->text, name);
        uvzk__rpc_prepare(&query->rpc, UVZK__RPC_EXISTS, query->path, stat_replied);
        uvzk__submit(queue->session, &query->rpc);
    }
}

/* According to the quorum this znode of the directory does not exist. Checks whether this
 * server still shows it, unless there is no memory or nothing may be sent. */
static void ask_after_delete(struct uvzk__queue *queue, const char *path, int64_t czxid)
{
    size_t size = strlen(path) + 1;
    struct divergence_query *query = new_query(queue, size);

    if (query != NULL) {
        memcpy(query->path, path, size);
        query->czxid = czxid;
        uvzk__move(query->session, &uvzk__divergence_machine, query,
                   UVZK__DIVERGENCE_LOOKING);
        divergence_look(query);
    }
}

void uvzk__orphan_deleted(const struct uvzk__contender *orphan)
{
    struct uvzk__session *session = uvzk__session_of(orphan);

    if (orphan->kind->not_shown) {
        /* This server did not show the znode, and yet the delete found it: the server has
         * diverged. create_stamp is the newest stamp at the time of that reading. It must
         * be of this connection; otherwise another server answered the reading. */
        if (orphan->node.deleted && !orphan->node.delete_unknown &&
            uvzk__is_of_this_connection(session, orphan->create_stamp)) {
            (void)uvzk__diverged(session, orphan->path, false);
        } else if (!orphan->node.deleted) {
            uvzk__contender_log_deleted(orphan);
        }
        return;
    }
    if (session->observer != NULL && orphan->node.deleted) {
        uvzk__count_orphan(session->observer);
    }
    ask_after_delete(orphan->queue, orphan->path, orphan->node.place.czxid);
}
