/* SPDX-License-Identifier: Apache-2.0 */
/* Watches on single children of driver-defined directories (node_watch.h).
 * driver_claim.c and driver_lock.c let claims join watches, and the latter arms them
 * when it settles the directory. The watches of a directory are in a hash table by name,
 * which is the directory's uvzk__queue_extra.
 *
 * A watch reports once and is freed. A claim that is still interested decides again, by a
 * new listing or create, and may join a new watch. */
#include "locks/node_watch.h"

#include <string.h>

#include "base/path.h"
#include "base/table.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/queue.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch.h"
#include "locks/driver_claim.h"
#include "locks/fixed_name.h"

struct uvzk__node_watch {
    UT_hash_handle hh; /* in the directory's table, by name */
    struct uvzk__queue *queue;
    struct uvzk__link watchers; /* struct uvzk__driver_claim, by in_node_watch */
    struct uvzk__rpc rpc;       /* the get, in ARMING */
    struct uvzk__renewed_watcher renewed;
    int64_t mzxid;    /* of the child, by the last get; 0: no get yet */
    char *path;       /* owned */
    const char *name; /* the last part of path */
};

static struct uvzk__driver_claim *watcher_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__driver_claim, in_node_watch);
}

/* The directory's table of node watches (uthash, by name). */
static struct uvzk__node_watch **node_watches_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

static struct uvzk__node_watch *node_watch_find(const struct uvzk__queue *queue,
                                                const char *name)
{
    struct uvzk__node_watch *node_watch;

    HASH_FIND_STR(*node_watches_of(queue), name, node_watch);
    return node_watch;
}

bool uvzk__node_watch_exists(const struct uvzk__queue *queue, const char *name)
{
    return node_watch_find(queue, name) != NULL;
}

const char *uvzk__node_watch_name(const struct uvzk__node_watch *node_watch)
{
    return node_watch->name;
}

bool uvzk__node_watches_any(const struct uvzk__queue *queue)
{
    return *node_watches_of(queue) != NULL;
}

/* ------------------------------------------------------------------ ending a watch */

/* No get is in flight. */
static void free_watch(struct uvzk__node_watch *node_watch)
{
    struct uvzk__queue *queue = node_watch->queue;

    uvzk__watch_leave(&node_watch->renewed.watcher);
    HASH_DEL(*node_watches_of(queue), node_watch);
    uvzk__queue_settle_later(queue);
    uvzk__free(node_watch->path);
    uvzk__free(node_watch);
}

/* Frees the watch and reports the news to all watchers (uvzk__driver_claim_node_changed).
 * The watch is freed first, because a watcher may at once join a new watch on the same
 * child. The watchers are taken from the list one by one, because each may end and free
 * others. */
static void end_watch(struct uvzk__node_watch *node_watch, int news)
{
    struct uvzk__link watchers, *link;

    uvzk__list_move(&node_watch->watchers, &watchers);
    for (link = watchers.next; link != &watchers; link = link->next) {
        watcher_at(link)->node_watch = NULL;
    }
    free_watch(node_watch);
    while ((link = uvzk__list_take(&watchers)) != NULL) {
        uvzk__driver_claim_node_changed(watcher_at(link), news);
    }
}

/* The watch has been silent for about a session timeout. Settling arms it again. A znode
 * that exists for this long may be one that should not exist, so uvzk asks the quorum about
 * it (divergence.h). */
static void node_watch_renew(struct uvzk__node_watch *node_watch)
{
    if (uvzk__orphan_number(node_watch->name) != NULL) {
        uvzk__queue_set_blocked_long(node_watch->queue, true);
    }
    uvzk__divergence_ask(node_watch->queue, node_watch->name);
    uvzk__queue_settle_later(node_watch->queue);
}

/* The data of the child may have changed too; then the watchers' drivers decide again. */
static void node_watch_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__node_watch *node_watch =
        UVZK__CONTAINER_OF(watcher, struct uvzk__node_watch, renewed.watcher);

    if (news == UVZK__NEWS_RENEWAL) {
        node_watch_renew(node_watch);
    } else {
        end_watch(node_watch, news == UVZK__NEWS_DELETED ? UVZK_ENONODE : 0);
    }
}

void uvzk__node_watch_leave(struct uvzk__driver_claim *driver_claim)
{
    struct uvzk__node_watch *node_watch = driver_claim->node_watch;

    driver_claim->node_watch = NULL;
    uvzk__list_remove(&driver_claim->in_node_watch);
    if (node_watch == NULL || !uvzk__list_empty(&node_watch->watchers) ||
        (uvzk__watcher_is_set(&node_watch->renewed.watcher) &&
         !uvzk__watcher_is_armed(&node_watch->renewed.watcher))) {
        return; /* the reply to the get ends a watch without watchers */
    }
    free_watch(node_watch);
}

void uvzk__node_watches_lost(struct uvzk__queue *queue)
{
    struct uvzk__node_watch *node_watch, *next;

    HASH_ITER(hh, *node_watches_of(queue), node_watch, next)
    {
        end_watch(node_watch, 0);
    }
}

/* -------------------------------------------------------------- joining and arming */

bool uvzk__node_watch_join(struct uvzk__driver_claim *driver_claim, const char *name)
{
    struct uvzk__queue *queue = uvzk__claim_first_contender(driver_claim->claim)->queue;
    struct uvzk__node_watch *node_watch = node_watch_find(queue, name);

    if (node_watch == NULL) {
        node_watch = uvzk__calloc(1, sizeof(*node_watch));
        if (node_watch == NULL) {
            return false;
        }
        node_watch->path = uvzk__path_join(queue->path->text, name);
        if (node_watch->path != NULL) {
            node_watch->name = uvzk__path_name(node_watch->path);
            HASH_ADD_KEYPTR(hh, *node_watches_of(queue), node_watch->name,
                            strlen(node_watch->name), node_watch);
        }
        /* Either allocation has failed: of the path or of the table. */
        if (node_watch->hh.tbl == NULL) {
            uvzk__free(node_watch->path);
            uvzk__free(node_watch);
            return false;
        }
        node_watch->queue = queue;
        uvzk__renewed_watcher_init(&node_watch->renewed, queue->session, node_watch_told);
        uvzk__list_init(&node_watch->watchers);
    }
    driver_claim->node_watch = node_watch;
    uvzk__list_append(&node_watch->watchers, &driver_claim->in_node_watch);
    uvzk__queue_settle_later(queue);
    return true;
}

/* The child is the znode with this czxid. A watcher that watches its own znode of a fixed
 * name may find another client's znode there: its own has been deleted. */
static void check_owners(struct uvzk__node_watch *node_watch, int64_t czxid)
{
    struct uvzk__link *link = node_watch->watchers.next;

    while (link != &node_watch->watchers) {
        struct uvzk__driver_claim *driver_claim = watcher_at(link);
        link = link->next;
        if (!uvzk__driver_claim_owns(driver_claim, czxid)) {
            driver_claim->node_watch = NULL;
            uvzk__list_remove(&driver_claim->in_node_watch);
            uvzk__driver_claim_node_changed(driver_claim, UVZK_ENONODE);
        }
    }
}

/* If the child is a znode of this session, the first watcher may have created it without
 * knowing, because a server answered the create with an error (fixed_name.h). Then that
 * watcher no longer waits for it. */
static void tell_who_may_have_made_it(struct uvzk__node_watch *node_watch,
                                      const struct uvzk__stat *stat)
{
    if (uvzk__list_empty(&node_watch->watchers)) {
        return;
    }
    struct uvzk__driver_claim *driver_claim = watcher_at(node_watch->watchers.next);
    if (uvzk__fixed_name_may_be_ours(uvzk__claim_first_contender(driver_claim->claim),
                                     stat)) {
        driver_claim->node_watch = NULL;
        uvzk__list_remove(&driver_claim->in_node_watch);
    }
}

/* The watch is armed, and the child has this stat. A child that was modified since the
 * last get, while the watch was not armed, is reported like an event. */
static void node_watch_stands(struct uvzk__node_watch *node_watch,
                              const struct uvzk__stat *stat)
{
    bool changed = node_watch->mzxid != 0 && node_watch->mzxid != stat->mzxid;

    uvzk__watch_answered(&node_watch->renewed.watcher, true);
    node_watch->mzxid = stat->mzxid;
    check_owners(node_watch, stat->czxid);
    tell_who_may_have_made_it(node_watch, stat);
    if (changed || uvzk__list_empty(&node_watch->watchers)) {
        end_watch(node_watch, 0);
    }
}

static void node_watch_armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__node_watch *node_watch =
        UVZK__CONTAINER_OF(rpc, struct uvzk__node_watch, rpc);
    struct uvzk__queue *queue = node_watch->queue;
    struct uvzk__session *session = queue->session;
    int status = reply->status;

    uvzk__answered(session, rpc, status, false);
    if (status == 0) {
        node_watch_stands(node_watch, &reply->stat);
    } else {
        end_watch(node_watch,
                  status == UVZK_ENONODE || !uvzk__queue_is_transient(queue, status)
                      ? status
                      : 0);
    }
}

/* If the watch budget has no room, the watchers end with UVZK_ELIMIT. */
static void node_watch_arm(struct uvzk__node_watch *node_watch)
{
    struct uvzk__session *session = node_watch->queue->session;

    uvzk__rpc_prepare(&node_watch->rpc, UVZK__RPC_GET, node_watch->path,
                      node_watch_armed);
    if (uvzk__watch_join_with(&node_watch->renewed.watcher, &node_watch->rpc)) {
        uvzk__submit(session, &node_watch->rpc);
    } else {
        end_watch(node_watch, UVZK_ELIMIT);
    }
}

void uvzk__node_watches_arm(struct uvzk__queue *queue)
{
    struct uvzk__node_watch *node_watch, *next;

    if (uvzk__queue_is_backing_off(queue) || !uvzk__may_send(queue->session)) {
        return;
    }
    HASH_ITER(hh, *node_watches_of(queue), node_watch, next)
    {
        if (!uvzk__watcher_is_set(&node_watch->renewed.watcher)) {
            node_watch_arm(node_watch);
        }
    }
}
