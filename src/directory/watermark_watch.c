/* Sends the request for a watermark's watch and receives its event (watermark_watch.h).
 * watermark.c keeps the state of the watch. in_order.c, and leases.c for leases, call
 * uvzk__watermark_send_watch before they send a listing, so the watch is older than the
 * mark that the listing gives. */
#include "directory/watermark_watch.h"

#include "directory/contender.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/watermark.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "value/node_cache.h"

/* Locks of other kinds may use the same path. */
static const enum uvzk__directory_order directory_orders[] = {
    UVZK__EXCLUSIVE, UVZK__READ_WRITE, UVZK__COUNTED, UVZK__DRIVER_DEFINED};
#define DIRECTORY_ORDERS (sizeof(directory_orders) / sizeof(directory_orders[0]))

void uvzk__watermarks_yield_watch(struct uvzk__session *session, const char *path)
{
    for (size_t i = 0; i < DIRECTORY_ORDERS; i++) {
        struct uvzk__queue *queue = uvzk__queue_find(session, directory_orders[i], path);
        if (queue != NULL) {
            uvzk__watermark_end(queue);
        }
    }
}

static bool is_watched_by_others(const struct uvzk__queue *queue)
{
    for (size_t i = 0; i < DIRECTORY_ORDERS; i++) {
        const struct uvzk__queue *other =
            uvzk__queue_find(queue->session, directory_orders[i], queue->path->text);
        if (other != NULL && (uvzk__watermark_watches(other) ||
                              uvzk__predecessor_is_on_children(
                                  &uvzk__queue_optional(other)->predecessor))) {
            return true;
        }
    }
    return uvzk__node_cache_exists(queue->session, queue->path->text);
}

/* Whatever the event is, the directory may have been removed and created again. */
static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(watch, struct uvzk__mark, watch);
    struct uvzk__queue *queue = mark->queue;

    (void)event;
    uvzk__watermark_fired(mark);
    uvzk__queue_settle_later(queue);
}

static void armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);

    uvzk__inflight_done(queue->session, rpc, reply->status, false);
    uvzk__watermark_armed(uvzk__watermark_mark(&uvzk__queue_optional(queue)->watermark),
                          reply->status);
    uvzk__queue_settle_later(queue);
}

static void arm(struct uvzk__queue *queue, struct uvzk__mark *mark)
{
    struct uvzk__session *session = queue->session;
    /* An exists would leave a watch on a missing directory; a get does not. */
    struct uvzk__rpc *rpc =
        uvzk__inflight_new(session, queue, UVZK__RPC_GET, queue->path->text, armed);

    if (rpc != NULL) {
        mark->watch.watch_cb = fired;
        rpc->watch = &mark->watch;
        uvzk__submit(session, rpc);
        uvzk__watermark_arming(mark, rpc);
    }
}

void uvzk__watermark_send_watch(struct uvzk__queue *queue)
{
    if (!uvzk__watermark_wants_watch(queue) || !uvzk__may_send(queue->session)) {
        return;
    }
    if (is_watched_by_others(queue) || !uvzk__watch_budget_is_ample(queue->session)) {
        uvzk__watermark_end(queue);
    } else {
        arm(queue, uvzk__watermark_mark(&uvzk__queue_optional(queue)->watermark));
    }
}

static void keep_time_over(struct uvzk__timer *timer)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(timer, struct uvzk__mark, keep_timer);
    struct uvzk__queue *queue = mark->queue;
    uint64_t until = uvzk__watermark_kept_until(mark);

    if (uvzk__contenders_in(&queue->counts) > 0) {
        return; /* the timer is set again when they have gone */
    }
    if (uvzk__now(queue->session) < until) {
        uvzk__timer_set(queue->session, timer, until);
    } else {
        uvzk__watermark_end(queue);
        uvzk__queue_settle_later(queue);
    }
}

bool uvzk__watermark_keeps_directory(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark =
        uvzk__watermark_mark(&uvzk__queue_optional(queue)->watermark);

    if (uvzk__watermark_wants_watch(queue)) {
        uvzk__watermark_end(queue);
        return false;
    }
    if (uvzk__watermark_watches(queue) &&
        !uvzk__deadline_is_armed(&mark->keep_timer.deadline)) {
        mark->keep_timer.due = keep_time_over;
        uvzk__timer_set(queue->session, &mark->keep_timer,
                        uvzk__watermark_kept_until(mark));
    }
    return mark != NULL;
}
