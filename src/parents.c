#include "parents.h"

#include <string.h>

#include "contender.h"
#include "driver.h"
#include "path.h"
#include "queue.h"

static void parents_made(struct uvzk__queue *queue)
{
    struct uvzk__link *link = queue->strangers.next;

    while (link != &queue->strangers) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = link->next;
        if (contender->node.state == UVZK__NODE_PARENTS) {
            uvzk__node_parents(&contender->node, 0);
            uvzk__contender_follow(contender);
        }
    }
}

static void make_parent(struct uvzk__queue *queue, size_t length);

/* Up to the first ancestor whose parent exists, then down again. */
static void parent_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = UVZK__CONTAINER_OF(rpc, struct uvzk__queue, rpc);
    struct uvzk__client *client = queue->client;
    size_t length = strlen(queue->parent);
    size_t above = uvzk__path_parent_length(queue->parent);

    queue->doing = UVZK__QUEUE_IDLE;
    uvzk__answered(client, rpc, reply->status, true);
    if (reply->status == 0 || reply->status == UVZK_ENODEEXISTS) {
        if (queue->path[length] != '\0') {
            const char *next = strchr(queue->path + length + 1, '/');
            make_parent(queue, next != NULL ? (size_t)(next - queue->path)
                                            : strlen(queue->path));
        } else {
            queue->fresh = reply->status == 0;
            parents_made(queue);
        }
    } else if (reply->status == UVZK_ENONODE && above > 1) {
        make_parent(queue, above);
    } else if (reply->status == UVZK_EUNIMPLEMENTED && rpc->mode == UVZK__CONTAINER) {
        client->containers = false;
        make_parent(queue, length);
    } else if (!uvzk__queue_passing(queue, reply->status)) {
        uvzk__queue_end_strangers(queue, UVZK__NODE_PARENTS, reply->status);
    }
    uvzk__queue_touch(queue);
}

static void make_parent(struct uvzk__queue *queue, size_t length)
{
    struct uvzk__client *client = queue->client;

    if (!uvzk__may_send(client)) {
        return; /* settle() begins anew */
    }
    memcpy(queue->parent, queue->path, length);
    queue->parent[length] = '\0';
    uvzk__rpc_prepare(&queue->rpc, UVZK__RPC_CREATE, queue->parent, parent_replied);
    queue->rpc.mode = client->containers ? UVZK__CONTAINER : UVZK__PERSISTENT;
    queue->rpc.acl = &client->acl;
    queue->rpc.data = "";
    queue->doing = UVZK__QUEUE_MAKING_PARENTS;
    uvzk__submit(client, &queue->rpc);
}

void uvzk__parents_make(struct uvzk__queue *queue)
{
    if (queue->parent == NULL) {
        queue->parent = uvzk__malloc(strlen(queue->path) + 1);
    }
    if (queue->parent == NULL) {
        uvzk__queue_rest(queue);
        return;
    }
    make_parent(queue, strlen(queue->path));
}
