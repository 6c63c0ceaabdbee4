#include "directory/parents.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/acl.h"
#include "engine/flight.h"
#include "engine/submission.h"

void uvzk__parents_free(struct uvzk__queue *queue)
{
    if (queue->aside != NULL) {
        uvzk__free(queue->aside->parents.path);
        queue->aside->parents.path = NULL;
    }
}

static void parents_made(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->strangers, link);
        if (uvzk__node_state(&contender->node) == UVZK__NODE_PARENTS) {
            uvzk__node_parents(&contender->node, 0);
            uvzk__contender_follow(contender);
        }
    }
}

/* Who was sure that it is missing ends so; of a suspect the next create says it, which it
 * has for itself: the directory may stand where we may make none. */
static void parents_refused(struct uvzk__queue *queue, int status)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->strangers, link);
        if (uvzk__node_state(&contender->node) != UVZK__NODE_PARENTS) {
            continue;
        }
        if (contender->suspected && !contender->made_alone) {
            uvzk__contender_made_alone(contender);
            uvzk__node_parents(&contender->node, 0);
            uvzk__contender_follow(contender);
        } else {
            uvzk__contender_end(contender, status);
        }
    }
}

/* ----------------------------------------------------------------- the scout */

/* Ten thousand locks in a new place find out at once that their directories are
 * missing, and it may be that the place itself is missing too. One of them, the
 * scout, goes ahead; the others below the same parent wait until that one stands. */

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

/* The scout has done. paved: the parent stands; else the others see for
 * themselves, one of them first. */
static void scout_back(struct uvzk__queue *scout, bool paved)
{
    struct uvzk__client *client = scout->client;
    struct uvzk__link waiting, *link;

    if (client->directories->scout != scout) {
        return;
    }
    uvzk__directories_scout(client->directories, NULL);
    uvzk__list_move(&client->directories->behind_scout, &waiting);
    while ((link = uvzk__list_take(&waiting)) != NULL) {
        struct uvzk__queue *queue =
            UVZK__CONTAINER_OF(link, struct uvzk__parents, behind_scout)->queue;
        uvzk__queue_does(queue, UVZK__QUEUE_IDLE);
        if (!paved || !uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS) ||
            !make_directory(queue)) {
            uvzk__queue_touch(queue);
        }
    }
}

/* ---------------------------------------------------------------- the requests */

/* Up to the first ancestor whose parent exists, then down. */
static void parent_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__flight_asker(rpc);
    struct uvzk__client *client = queue->client;
    size_t length = strlen(rpc->path);
    size_t above = uvzk__path_parent_length(rpc->path);
    int status = reply->status;
    bool stands = status == 0 || status == UVZK_ENODEEXISTS;
    bool container = rpc->mode == UVZK__CONTAINER;
    bool going_on = false;

    uvzk__queue_does(queue, UVZK__QUEUE_IDLE);
    uvzk__flight_landed(client, rpc, status, true);
    if (stands && length >= uvzk__path_parent_length(queue->path->text)) {
        scout_back(queue, true);
    }
    if (stands && queue->path->text[length] == '\0') {
        uvzk__queue_set_just_made(queue, status == 0);
        parents_made(queue);
    } else if (stands) {
        going_on = make_parent(queue, uvzk__path_next_length(queue->path->text, length));
    } else if (status == UVZK_ENONODE && above > 1) {
        going_on = make_parent(queue, above);
    } else if (status == UVZK_EUNIMPLEMENTED && container) {
        uvzk__no_containers(client);
        going_on = make_parent(queue, length);
    } else if (!uvzk__queue_passing(queue, status)) {
        parents_refused(queue, status);
    }
    if (!going_on) {
        scout_back(queue, false);
        uvzk__parents_free(queue);
    }
    uvzk__queue_touch(queue);
}

static bool make_parent(struct uvzk__queue *queue, size_t length)
{
    struct uvzk__client *client = queue->client;
    char *path = queue->aside->parents.path;
    struct uvzk__rpc *rpc = NULL;

    if (uvzk__may_send(client)) {
        rpc = uvzk__flight_new(client, queue, UVZK__RPC_CREATE, path, parent_replied);
    }
    if (rpc == NULL) {
        return false; /* settling begins anew */
    }
    memcpy(path, queue->path->text, length);
    path[length] = '\0';
    rpc->mode = client->containers ? UVZK__CONTAINER : UVZK__PERSISTENT;
    rpc->acl = uvzk__acl_of(client, path, uvzk__flight_acl(rpc));
    rpc->data = "";
    uvzk__queue_does(queue, UVZK__QUEUE_MAKING_PARENTS);
    uvzk__submit(client, rpc);
    return true;
}

static bool have_path(struct uvzk__queue *queue)
{
    if (!uvzk__aside_needed(queue)) {
        return false;
    }
    struct uvzk__parents *parents = &queue->aside->parents;
    if (parents->path == NULL) {
        parents->path = uvzk__malloc(strlen(queue->path->text) + 1);
    }
    parents->queue = queue;
    return parents->path != NULL;
}

void uvzk__parents_make(struct uvzk__queue *queue)
{
    struct uvzk__client *client = queue->client;

    if (!have_path(queue)) {
        uvzk__queue_rest(queue);
        return;
    }
    if (client->directories->scout != NULL &&
        same_parent(client->directories->scout, queue)) {
        uvzk__queue_does(queue, UVZK__QUEUE_MAKING_PARENTS);
        uvzk__list_append(&client->directories->behind_scout,
                          &queue->aside->parents.behind_scout);
        return;
    }
    if (make_directory(queue) && client->directories->scout == NULL) {
        uvzk__directories_scout(client->directories, queue);
    }
}
