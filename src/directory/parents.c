#include "directory/parents.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/acl.h"
#include "engine/inflight.h"
#include "engine/submission.h"

void uvzk__parents_free(struct uvzk__queue *queue)
{
    if (queue->optional != NULL) {
        uvzk__free(queue->optional->parents.path);
        queue->optional->parents.path = NULL;
    }
}

static void parents_made(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->unplaced, link);
        if (uvzk__node_state(&contender->node) == UVZK__NODE_PARENTS) {
            uvzk__node_parents(&contender->node, 0);
            uvzk__contender_update(contender);
        }
    }
}

/* Who was sure that it is missing ends so; of a suspect the next create says it, which it
 * has for itself: the directory may stand where we may make none. */
static void parents_refused(struct uvzk__queue *queue, int status)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->unplaced, link);
        if (uvzk__node_state(&contender->node) != UVZK__NODE_PARENTS) {
            continue;
        }
        if (contender->suspect_no_directory && !contender->create_alone) {
            uvzk__contender_set_create_alone(contender);
            uvzk__node_parents(&contender->node, 0);
            uvzk__contender_update(contender);
        } else {
            uvzk__contender_end(contender, status);
        }
    }
}

/* ----------------------------------------------------------------- the parents creator */

/* Ten thousand locks in a new place find out at once that their directories are
 * missing, and it may be that the place itself is missing too. One of them, the parents
 * creator, goes ahead; the others below the same parent wait until that one stands. */

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

/* The parents creator has done. paved: the parent stands; else the others see for
 * themselves, one of them first. */
static void creator_done(struct uvzk__queue *creator, bool parent_exists)
{
    struct uvzk__session *session = creator->session;
    struct uvzk__link waiting, *link;

    if (session->directories->parents_creator != creator) {
        return;
    }
    uvzk__directories_set_parents_creator(session->directories, NULL);
    uvzk__list_move(&session->directories->behind_creator, &waiting);
    while ((link = uvzk__list_take(&waiting)) != NULL) {
        struct uvzk__queue *queue =
            UVZK__CONTAINER_OF(link, struct uvzk__parents, behind_creator)->queue;
        uvzk__queue_set_state(queue, UVZK__QUEUE_IDLE);
        if (!parent_exists || !uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS) ||
            !make_directory(queue)) {
            uvzk__queue_settle_later(queue);
        }
    }
}

/* ---------------------------------------------------------------- the requests */

/* Up to the first ancestor whose parent exists, then down. */
static void parent_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    struct uvzk__session *session = queue->session;
    size_t length = strlen(rpc->path);
    size_t above = uvzk__path_parent_length(rpc->path);
    int status = reply->status;
    bool stands = status == 0 || status == UVZK_ENODEEXISTS;
    bool container = rpc->mode == UVZK__CONTAINER;
    bool going_on = false;

    uvzk__queue_set_state(queue, UVZK__QUEUE_IDLE);
    uvzk__inflight_done(session, rpc, status, true);
    if (stands && length >= uvzk__path_parent_length(queue->path->text)) {
        creator_done(queue, true);
    }
    if (stands && queue->path->text[length] == '\0') {
        uvzk__queue_set_just_created(queue, status == 0);
        parents_made(queue);
    } else if (stands) {
        going_on = make_parent(queue, uvzk__path_next_length(queue->path->text, length));
    } else if (status == UVZK_ENONODE && above > 1) {
        going_on = make_parent(queue, above);
    } else if (status == UVZK_EUNIMPLEMENTED && container) {
        uvzk__no_containers(session);
        going_on = make_parent(queue, length);
    } else if (!uvzk__queue_is_transient(queue, status)) {
        parents_refused(queue, status);
    }
    if (!going_on) {
        creator_done(queue, false);
        uvzk__parents_free(queue);
    }
    uvzk__queue_settle_later(queue);
}

static bool make_parent(struct uvzk__queue *queue, size_t length)
{
    struct uvzk__session *session = queue->session;
    char *path = queue->optional->parents.path;
    struct uvzk__rpc *rpc = NULL;

    if (uvzk__may_send(session)) {
        rpc = uvzk__inflight_new(session, queue, UVZK__RPC_CREATE, path, parent_replied);
    }
    if (rpc == NULL) {
        return false; /* settling begins anew */
    }
    memcpy(path, queue->path->text, length);
    path[length] = '\0';
    rpc->mode = session->containers ? UVZK__CONTAINER : UVZK__PERSISTENT;
    rpc->acl = uvzk__acl_of(session, path, uvzk__inflight_acl(rpc));
    rpc->data = "";
    uvzk__queue_set_state(queue, UVZK__QUEUE_CREATING_PARENTS);
    uvzk__submit(session, rpc);
    return true;
}

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
        uvzk__queue_set_state(queue, UVZK__QUEUE_CREATING_PARENTS);
        uvzk__list_append(&session->directories->behind_creator,
                          &queue->optional->parents.behind_creator);
        return;
    }
    if (make_directory(queue) && session->directories->parents_creator == NULL) {
        uvzk__directories_set_parents_creator(session->directories, queue);
    }
}
