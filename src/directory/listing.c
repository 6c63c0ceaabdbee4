#include "directory/listing.h"

#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/flight.h"
#include "engine/submission.h"

/* Somebody's lease may go, or somebody may come for whom a ticket is let go: who cannot
 * see that takes it for granted. */
static void not_seen(struct uvzk__queue *queue, int status)
{
    if (queue->kind->refused != NULL) {
        queue->kind->refused(queue, status);
    } else if (queue->crowded && uvzk__aside_needed(queue)) {
        uvzk__foreigners_behind(queue, true);
        uvzk__queue_set_crowded(queue, false);
    }
}

static void list_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__flight_asker(rpc);
    bool watching = rpc->watch != NULL;
    int status = reply->status;

    uvzk__queue_does(queue, UVZK__QUEUE_IDLE);
    uvzk__flight_landed(queue->client, rpc, status, false);
    if (status != 0 && watching) {
        uvzk__predecessor_forget(queue); /* it has not been armed */
    } else if (watching) {
        uvzk__predecessor_armed(queue);
    }
    if (status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        uvzk__watermark_end(queue); /* its watch has told nothing of that */
    }
    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__unsearchable_no_more(queue);
    }
    if (queue->kind->listed != NULL) {
        queue->kind->listed(queue, reply);
        return;
    }
    if (status == 0) {
        status = uvzk__view_update(queue, reply->names, reply->name_count);
    } else if (status == UVZK_ENONODE) {
        status = uvzk__view_update(queue, NULL, 0);
    }
    if (status != 0 && !uvzk__queue_passing(queue, status)) {
        uvzk__end_members(queue, status);
        uvzk__end_strangers(queue, UVZK__NODE_UNKNOWN, status);
        not_seen(queue, status);
        uvzk__queue_waits_long(queue, false); /* who is in the way is not shown */
        uvzk__queue_rest(queue);
        uvzk__unsearchable(queue); /* what may stand still has to be searched for */
    }
    uvzk__queue_touch(queue);
}

/* Out of memory: there is a next time, after a rest. */
static void watch_children(struct uvzk__queue *queue, struct uvzk__rpc *rpc)
{
    int status = uvzk__predecessor_watch_children(queue, rpc);

    if (status == UV_ENOMEM) {
        uvzk__queue_rest(queue);
    } else if (status != 0) {
        not_seen(queue, status);
    }
}

void uvzk__listing_start(struct uvzk__queue *queue)
{
    struct uvzk__client *client = queue->client;
    struct uvzk__rpc *rpc = uvzk__flight_new(client, queue, UVZK__RPC_CHILDREN,
                                             queue->path->text, list_replied);

    if (rpc == NULL) {
        return;
    }
    if (queue->crowded &&
        uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) == NULL) {
        watch_children(queue, rpc);
    }
    uvzk__queue_does(queue, UVZK__QUEUE_LISTING);
    uvzk__submit(client, rpc);
    uvzk__freshness_asked(queue);
}
