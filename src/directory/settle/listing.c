/* Sends one getChildren and hands the names to the view (listing.h). in_order.c, leases.c
 * and driver_lock.c decide when one is needed. */
#include "directory/settle/listing.h"

#include "directory/contender.h"
#include "directory/contender_proof.h"
#include "directory/foreign_nodes.h"
#include "directory/mirror.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/inflight.h"
#include "engine/submission.h"

/* The directory cannot be listed, or its children cannot be watched. In a lease directory
 * the claims that wait for leases end. Where a ticket is kept, the arrival of another
 * contender cannot be seen, so one is assumed to be there, and the ticket will be given
 * up. */
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

    uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_IDLE);
    uvzk__inflight_done(queue->session, rpc, status, false);
    if (status != 0 && watching) {
        uvzk__predecessor_watch_gone(queue); /* the request has not armed it */
    } else if (watching) {
        uvzk__predecessor_armed(queue);
    }
    if (status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        uvzk__watermark_end(queue); /* its watch has not reported that */
    }
    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__unsearchable_no_more(queue);
    }
    /* A driver-defined directory has no view. */
    if (queue->kind->listed != NULL) {
        queue->kind->listed(queue, reply);
        return;
    }
    if (status == 0) {
        status = uvzk__view_update(queue, reply->names, reply->name_count);
    } else if (status == UVZK_ENONODE) {
        /* No directory: no node exists in it. */
        status = uvzk__view_update(queue, NULL, 0);
    }
    if (status != 0 && !uvzk__queue_is_transient(queue, status)) {
        uvzk__end_waiters(queue, status);
        uvzk__end_unplaced(queue, UVZK__NODE_UNKNOWN, status);
        not_seen(queue, status);
        uvzk__queue_set_blocked_long(queue, false); /* who is in the way is not shown */
        uvzk__queue_back_off(queue);
        uvzk__unsearchable(queue); /* nodes that may exist are searched for later */
    }
    uvzk__queue_settle_later(queue);
}

/* Makes the listing arm a watch on the children. Without memory the listing is sent
 * without a watch, and the directory tries again after a pause. */
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
    if (uvzk__needs_children_watch(queue)) {
        watch_children(queue, rpc);
    }
    uvzk__queue_listing_sent(queue);
    uvzk__submit(session, rpc);
    uvzk__freshness_listing_sent(queue);
}
