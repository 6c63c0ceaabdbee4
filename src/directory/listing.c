#include "directory/listing.h"

#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/inflight.h"
#include "engine/submission.h"

/* Somebody's lease may go, or somebody may come for whom a ticket is let go: who cannot
 * see that takes it for granted. */
static void not_seen(struct uvzk__queue *queue, int status)
{
    if (queue->kind->refused != NULL) {
        queue->kind->refused(queue, status);
    } else if (queue->wants_children_watch && uvzk__queue_need_optional(queue)) {
        uvzk__foreign_nodes_set_behind(queue, true);
        uvzk__queue_want_children_watch(queue, false);
    }
}

static void list_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    bool watching = rpc->watch != NULL;
    int status = reply->status;

    uvzk__queue_set_state(queue, UVZK__QUEUE_IDLE);
    uvzk__inflight_done(queue->session, rpc, status, false);
    if (status != 0 && watching) {
        uvzk__predecessor_watch_gone(queue); /* it has not been armed */
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
    if (status != 0 && !uvzk__queue_is_transient(queue, status)) {
        uvzk__end_waiters(queue, status);
        uvzk__end_unplaced(queue, UVZK__NODE_UNKNOWN, status);
        not_seen(queue, status);
        uvzk__queue_set_blocked_long(queue, false); /* who is in the way is not shown */
        uvzk__queue_back_off(queue);
        uvzk__unsearchable(queue); /* what may stand still has to be searched for */
    }
    uvzk__queue_settle_later(queue);
}

/* Out of memory: there is a next time, after a rest. */
static void watch_children(struct uvzk__queue *queue, struct uvzk__rpc *rpc)
{
    int status = uvzk__predecessor_watch_children(queue, rpc);

    if (status == UV_ENOMEM) {
        uvzk__queue_back_off(queue);
    } else if (status != 0) {
        not_seen(queue, status);
    }
}

void uvzk__listing_start(struct uvzk__queue *queue)
{
    struct uvzk__session *session = queue->session;
    struct uvzk__rpc *rpc = uvzk__inflight_new(session, queue, UVZK__RPC_CHILDREN,
                                               queue->path->text, list_replied);

    if (rpc == NULL) {
        return;
    }
    if (queue->wants_children_watch &&
        uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor) == NULL) {
        watch_children(queue, rpc);
    }
    uvzk__queue_set_state(queue, UVZK__QUEUE_LISTING);
    uvzk__submit(session, rpc);
    uvzk__freshness_listing_sent(queue);
}
