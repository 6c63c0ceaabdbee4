/* SPDX-License-Identifier: Apache-2.0 */
/* Creates missing lock directories (parents.h). in_order.c, leases.c and
 * driver_lock.c call it for a directory that has a contender whose node is in
 * PARENTS. One create is in flight for a directory; its reply decides which path is tried
 * next. When many directories below one missing parent begin together, one of them goes
 * first and the others wait. */
#include "directory/parents.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/node_create.h"
#include "engine/submission.h"

void uvzk__parents_free(struct uvzk__queue *queue)
{
    if (queue->optional != NULL) {
        uvzk__free(queue->optional->parents.path);
        queue->optional->parents.path = NULL;
    }
}

/* The directory exists (status 0): the contenders that wait for it send their creates
 * again. Or it could not be created: a contender whose own create failed with
 * UVZK_ENONODE ends with this status. But a contender that only shared a multi with such
 * a create (suspect_no_directory) sends its create alone: its directory may exist in a
 * place where this client may not create directories. If that create fails with
 * UVZK_ENONODE too, the contender comes here again and ends. */
static void parents_done(struct uvzk__queue *queue, int status)
{
    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (each->node.state != UVZK__NODE_PARENTS) {
            continue;
        }
        if (status != 0 &&
            (!each->limits.suspect_no_directory || each->limits.create_alone)) {
            uvzk__contender_end(each, status);
            continue;
        }
        if (status != 0) {
            uvzk__contender_set_create_alone(each);
        }
        uvzk__node_parents(&each->node, 0);
        uvzk__contender_update(each);
    }
}

/* ---------------------------------------------------------------- the parents creator */

/* The creates of ten thousand locks below a new path fail at the same time because their
 * directories are missing, and the parent of these directories may be missing too. One of
 * the directories, the parents creator, goes first. The others below the same parent wait
 * until the parent exists. */

static bool same_parent(const struct uvzk__queue *one, const struct uvzk__queue *other)
{
    size_t length = uvzk__path_parent_length(one->path->text);

    return length == uvzk__path_parent_length(other->path->text) &&
           memcmp(one->path->text, other->path->text, length) == 0;
}

static bool make_parent(struct uvzk__queue *queue, size_t length);

static bool make_directory(struct uvzk__queue *queue)
{
    return make_parent(queue, strlen(queue->path->text));
}

/* Ends the wait of the other directories, if this directory is the parents creator.
 * parent_exists: the others create their own directories now. Otherwise they are settled,
 * and each tries for itself; the first of them becomes the next parents creator. */
static void creator_done(struct uvzk__queue *creator, bool parent_exists)
{
    struct uvzk__session *session = creator->session;
    struct uvzk__link waiting, *link;

    if (session->directories->parents_creator != creator) {
        return;
    }
    session->directories->parents_creator = NULL;
    uvzk__list_move(&session->directories->behind_creator, &waiting);
    while ((link = uvzk__list_take(&waiting)) != NULL) {
        struct uvzk__queue *queue =
            UVZK__CONTAINER_OF(link, struct uvzk__parents, behind_creator)->queue;
        uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_IDLE);
        if (!parent_exists || !uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS) ||
            !make_directory(queue)) {
            uvzk__queue_settle_later(queue);
        }
    }
}

/* ---------------------------------------------------------------- the requests */

/* UVZK_ENONODE: the next path is one level higher. Success: one level lower. */
static void parent_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    struct uvzk__session *session = queue->session;
    size_t length = strlen(rpc->path);
    int status = reply->status;
    size_t next = uvzk__node_create_next_length(session, queue->path->text, rpc, status);
    bool stands = status == 0 || status == UVZK_ENODEEXISTS;
    bool going_on = false;

    uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_IDLE);
    uvzk__inflight_done(session, rpc, status, true);
    if (stands && length >= uvzk__path_parent_length(queue->path->text)) {
        creator_done(queue, true); /* the parent that the others wait for exists */
    }
    if (next != 0) {
        going_on = make_parent(queue, next);
    } else if (stands) {
        uvzk__queue_set_just_created(queue, status == 0);
        parents_done(queue, 0);
    } else if (!uvzk__queue_is_transient(queue, status)) {
        parents_done(queue, status);
    }
    /* After a transient error the nodes are still in PARENTS, and settling starts
     * again. */
    if (!going_on) {
        creator_done(queue, false);
        uvzk__parents_free(queue);
    }
    uvzk__queue_settle_later(queue);
}

/* Sends the create of the ancestor that is the first `length` bytes of the directory's
 * path, or of the directory itself. */
static bool make_parent(struct uvzk__queue *queue, size_t length)
{
    struct uvzk__session *session = queue->session;
    char *path = queue->optional->parents.path;
    struct uvzk__rpc *rpc = NULL;

    if (uvzk__may_send(session)) {
        rpc = uvzk__inflight_new(session, queue, UVZK__RPC_CREATE, path, parent_replied);
    }
    if (rpc == NULL) {
        return false; /* settling starts again when requests may be sent */
    }
    memcpy(path, queue->path->text, length);
    path[length] = '\0';
    uvzk__node_create_as_ancestor(session, rpc, uvzk__inflight_acl(rpc));
    uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_CREATING_PARENTS);
    uvzk__submit(session, rpc);
    return true;
}

/* False: out of memory. */
static bool have_path(struct uvzk__queue *queue)
{
    if (!uvzk__queue_need_optional(queue)) {
        return false;
    }
    struct uvzk__parents *parents = &queue->optional->parents;
    if (parents->path == NULL) {
        parents->path = uvzk__malloc(strlen(queue->path->text) + 1);
    }
    parents->queue = queue;
    return parents->path != NULL;
}

void uvzk__parents_make(struct uvzk__queue *queue)
{
    struct uvzk__session *session = queue->session;

    if (!have_path(queue)) {
        uvzk__queue_back_off(queue);
        return;
    }
    if (session->directories->parents_creator != NULL &&
        same_parent(session->directories->parents_creator, queue)) {
        uvzk__move(queue->session, &uvzk__queue_machine, queue,
                   UVZK__QUEUE_CREATING_PARENTS);
        uvzk__list_append(&session->directories->behind_creator,
                          &queue->optional->parents.behind_creator);
        return;
    }
    if (make_directory(queue) && session->directories->parents_creator == NULL) {
        session->directories->parents_creator = queue;
    }
}
