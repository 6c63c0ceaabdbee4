/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the one watch of a directory. in_order.c sets it on the nearest foreign node that
 * the first in line waits for, or on the one before it; listing.c sets it on the
 * directory's children, for leases and for a ticket that is kept.
 *
 * The idea: only the first in line watches, and only one node, so the end of a hold wakes
 * at most two clients: the next one, and the one after it, which prepares. Local
 * contenders behind the first in line need no watch. Because an event may be lost
 * (watch.h), the watch is removed and set again about once per session timeout. A
 * waiter that is still blocked then asks whether the node that blocks it really exists
 * (divergence.h). */
#include "directory/predecessor.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch.h"

/* Each 800 names add about the cost of one get to a listing (0.2 ms on loopback). */
#define NAMES_PER_GET 800U

/* Allocated for each watch, because most directories have none. */
struct predecessor_watch {
    struct uvzk__renewed_watcher renewed;
    struct uvzk__queue *queue;
    char traceparent[UVZK_TRACEPARENT_SIZE]; /* in the node's data; "": none */
    char path[]; /* of the watched node; queue->optional->predecessor.path points here */
};

static struct predecessor_watch *watch_of(const struct uvzk__queue *queue)
{
    return UVZK__CONTAINER_OF(queue->optional->predecessor.path, struct predecessor_watch,
                              path);
}

bool uvzk__predecessor_is_armed(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->predecessor.path != NULL &&
           uvzk__watcher_is_armed(&watch_of(queue)->renewed.watcher);
}

void uvzk__predecessor_watch_gone(struct uvzk__queue *queue)
{
    if (uvzk__queue_optional(queue)->predecessor.path != NULL) {
        struct predecessor_watch *watch = watch_of(queue);

        queue->optional->predecessor.path = NULL;
        uvzk__watch_leave(&watch->renewed.watcher);
        uvzk__free(watch);
    }
}

void uvzk__predecessor_unwatch(struct uvzk__queue *queue)
{
    if (uvzk__predecessor_is_armed(queue)) {
        uvzk__predecessor_watch_gone(queue);
    }
}

/* [P1] After a writer has gone, each writer with a greater number needs another listing
 * before it is granted: the owner of the writer that has gone may have left a downgraded
 * reader, which has the same number and which the view does not show. */
static void writer_gone(struct uvzk__queue *queue)
{
    for (struct uvzk__contender *member = uvzk__first_in(&queue->waiters); member != NULL;
         member = uvzk__next_in(&queue->waiters, member)) {
        if (!member->kind->shared &&
            member->node.place.sequence > queue->optional->predecessor.sequence) {
            member->predecessors_known = false;
        }
    }
}

/* The predecessor has gone, and the foreign nodes before it have probably gone too. One
 * listing shows all of them. But in a long directory a listing costs more than a few
 * gets. So if only a few foreign nodes are left, no listing is sent: settling watches the
 * next one backwards, and the get that arms that watch shows whether it exists. */
static void predecessor_gone(struct uvzk__queue *queue)
{
    const struct uvzk__predecessor *predecessor = &queue->optional->predecessor;
    const struct uvzk__foreign_nodes *foreign_nodes = &queue->optional->foreign_nodes;
    size_t walk_back = uvzk__listed_children(queue) / NAMES_PER_GET;

    uvzk__foreign_node_gone(queue);
    uvzk__foreign_nodes_released(queue);
    (void)uvzk__foreign_nodes_remove(queue, uvzk__path_name(predecessor->path));
    /* More than walk_back foreign nodes are before the one that has gone. */
    if (foreign_nodes->count > walk_back &&
        foreign_nodes->list[walk_back].sequence < predecessor->sequence) {
        uvzk__freshness_set_stale(queue);
    }
    if (queue->kind->has_readers && !predecessor->shared) {
        writer_gone(queue);
    }
}

void uvzk__predecessor_is_gone(struct uvzk__queue *queue, const char *path)
{
    const struct uvzk__predecessor *predecessor =
        &uvzk__queue_optional(queue)->predecessor;

    if (queue->kind->has_readers || queue->kind->counted) {
        /* Writers list again, and leases are counted again. Listings would show the node. */
        uvzk__foreign_nodes_deny(queue, uvzk__path_name(path));
        uvzk__freshness_set_stale(queue);
    }
    if (uvzk__predecessor_is_armed(queue) && !predecessor->on_children &&
        strcmp(predecessor->path, path) == 0) {
        predecessor_gone(queue);
        uvzk__predecessor_unwatch(queue);
    } else if (queue->kind->in_order && !queue->kind->has_readers) {
        /* The watch may have been removed for its renewal, or the first of the view was
         * asked about, which is not the predecessor. */
        uvzk__foreign_node_gone(queue);
        (void)uvzk__foreign_nodes_remove(queue, uvzk__path_name(path));
    }
    uvzk__queue_settle_later(queue);
}

/* Asks whether the nodes that block the first in line really exist: the predecessor, and
 * the first node of the view. When another leader has taken over, a deleted znode may
 * exist again, before all nodes that an older view shows. So a view of an earlier
 * connection is not used: a listing is sent, and listing.c asks about its first node. */
static void check_blockers(struct uvzk__queue *queue)
{
    const struct uvzk__foreign_nodes *foreign_nodes = &queue->optional->foreign_nodes;
    const char *name = uvzk__path_name(queue->optional->predecessor.path);

    uvzk__divergence_ask(queue, name);
    if (!uvzk__is_of_this_connection(queue->session, queue->freshness.view_stamp)) {
        uvzk__freshness_set_stale(queue);
    } else if (foreign_nodes->count > 0 &&
               strcmp(foreign_nodes->list[0].name, name) != 0) {
        uvzk__divergence_ask(queue, foreign_nodes->list[0].name);
    }
}

void uvzk__predecessor_check_leases(struct uvzk__queue *queue)
{
    const struct uvzk__contender *next = uvzk__first_in(&queue->waiters);
    struct uvzk__queue *leases = next == NULL ? NULL : uvzk__contender_admits_to(next);

    if (leases != NULL) {
        uvzk__queue_set_blocked_long(leases, true);
        uvzk__queue_settle_later(leases);
    }
}

/* The watch is a session timeout old, and the first in line is still blocked. Settling
 * arms the watch again: for leases by a listing, which also gives the new view, and
 * otherwise by a get, which shows whether the predecessor exists. */
static void predecessor_renew(struct uvzk__queue *queue)
{
    uvzk__queue_set_blocked_long(queue, true);
    if (queue->kind->counted) {
        uvzk__freshness_set_stale(queue);
    } else if (!queue->optional->predecessor.on_children) {
        check_blockers(queue);
        uvzk__predecessor_check_leases(queue);
    }
}

static void predecessor_fired(struct uvzk__queue *queue, enum uvzk__watch_news news)
{
    if (queue->kind->counted) {
        uvzk__freshness_set_stale(queue); /* this watch is always on the children */
    } else if (queue->optional->predecessor.on_children) {
        /* A kept ticket is the first in its directory: a new contender is behind it. */
        uvzk__foreign_nodes_set_behind(queue, true);
        uvzk__queue_want_children_watch(queue, false);
    } else if (news == UVZK__NEWS_DELETED) {
        predecessor_gone(queue);
    }
    /* If only the node's data changed, settling arms the watch again. */
}

static void predecessor_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(watcher, struct predecessor_watch, renewed.watcher)->queue;

    if (news == UVZK__NEWS_RENEWAL) {
        predecessor_renew(queue);
    } else {
        predecessor_fired(queue, news);
    }
    uvzk__predecessor_watch_gone(queue);
    uvzk__queue_settle_later(queue);
}

/* Prepares a watch for the request that arms it. name: of the child; "" for the directory
 * itself. Returns 0, UV_ENOMEM or UVZK_ELIMIT. */
static int predecessor_begin(struct uvzk__queue *queue, const char *name)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct predecessor_watch *watch = uvzk__calloc(1, sizeof(*watch) + size);

    if (watch == NULL || !uvzk__queue_need_optional(queue)) {
        uvzk__free(watch);
        return UV_ENOMEM;
    }
    (void)uvzk__path_join_into(watch->path, queue->path->text, name);
    uvzk__renewed_watcher_init(&watch->renewed, queue->session, predecessor_told);
    if (!uvzk__watch_join(&watch->renewed.watcher, watch->path,
                          name[0] == '\0' ? UVZK__WATCH_OF_CHILDREN
                                          : UVZK__WATCH_OF_DATA)) {
        uvzk__free(watch);
        return UVZK_ELIMIT;
    }
    watch->queue = queue;
    queue->optional->predecessor.path = watch->path;
    queue->optional->predecessor.on_children = name[0] == '\0';
    return 0;
}

const char *uvzk__predecessor_traceparent(const struct uvzk__queue *queue,
                                          const char *name)
{
    const struct uvzk__predecessor *predecessor =
        &uvzk__queue_optional(queue)->predecessor;

    if (!uvzk__predecessor_is_armed(queue) || predecessor->on_children ||
        strcmp(uvzk__path_name(predecessor->path), name) != 0 ||
        watch_of(queue)->traceparent[0] == '\0') {
        return NULL;
    }
    return watch_of(queue)->traceparent;
}

static void watch_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    int status = reply->status;

    uvzk__queue_get_answered(queue);
    uvzk__inflight_done(queue->session, rpc, status, false);
    if (status == 0) {
        (void)uvzk_traceparent_of(reply->data, reply->data_length,
                                  watch_of(queue)->traceparent);
        uvzk__predecessor_armed(queue);
        (void)uvzk__orphan_found(
            queue, uvzk__path_name(queue->optional->predecessor.path), &reply->stat);
    } else {
        queue->optional->predecessor.missing = status == UVZK_ENONODE;
        if (status == UVZK_ENONODE) {
            predecessor_gone(queue);
        }
        uvzk__predecessor_watch_gone(queue);
        if (status != UVZK_ENONODE && !uvzk__queue_is_transient(queue, status)) {
            uvzk__end_waiters(queue, status);
        }
    }
    uvzk__queue_settle_later(queue);
}

/* Returns true if the last get did not find this node, but a later listing shows it. */
static bool is_missing(const struct uvzk__predecessor *last,
                       const struct uvzk__foreign_node *predecessor)
{
    return last->missing && last->sequence == predecessor->sequence &&
           last->shared == predecessor->shared;
}

void uvzk__predecessor_watch(struct uvzk__queue *queue,
                             const struct uvzk__foreign_node *predecessor)
{
    struct uvzk__session *session = queue->session;
    struct uvzk__rpc *rpc;
    bool contradicted = is_missing(&queue->optional->predecessor, predecessor);

    queue->optional->predecessor.missing = false;
    if (contradicted) {
        /* Without a pause, get and listing would alternate as fast as the server
         * answers. */
        uvzk__queue_back_off(queue);
        return;
    }
    int status = predecessor_begin(queue, predecessor->name);
    if (status == UV_ENOMEM) {
        uvzk__queue_back_off(queue);
        return;
    }
    if (status != 0) {
        uvzk__end_waiters(queue, status);
        return;
    }
    /* An exists would leave a watch on a missing node; a get does not. */
    rpc = uvzk__inflight_new(session, queue, UVZK__RPC_GET,
                             queue->optional->predecessor.path, watch_replied);
    if (rpc == NULL) {
        uvzk__predecessor_watch_gone(queue);
        return;
    }
    queue->optional->predecessor.sequence = predecessor->sequence;
    queue->optional->predecessor.shared = predecessor->shared;
    rpc->watch = &watch_of(queue)->renewed.watcher.watch;
    uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_WATCHING);
    uvzk__submit(session, rpc);
}

int uvzk__predecessor_watch_children(struct uvzk__queue *queue, struct uvzk__rpc *listing)
{
    int status = predecessor_begin(queue, "");

    if (status == 0) {
        listing->watch = &watch_of(queue)->renewed.watcher.watch;
    }
    return status;
}

void uvzk__predecessor_armed(struct uvzk__queue *queue)
{
    uvzk__watch_answered(&watch_of(queue)->renewed.watcher, true);
}
