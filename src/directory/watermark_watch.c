#include "directory/watermark_watch.h"

#include "directory/contender.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/watermark.h"
#include "engine/flight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "value/replica.h"

/* Locks of other kinds may be at the same path. */
static const enum uvzk__discipline disciplines[] = {UVZK__EXCLUSIVE, UVZK__READ_WRITE,
                                                    UVZK__COUNTED, UVZK__DRIVEN};
#define DISCIPLINES (sizeof(disciplines) / sizeof(disciplines[0]))

void uvzk__watermarks_give_way(struct uvzk__client *client, const char *path)
{
    for (size_t i = 0; i < DISCIPLINES; i++) {
        struct uvzk__queue *queue = uvzk__queue_find(client, disciplines[i], path);
        if (queue != NULL) {
            uvzk__watermark_end(queue);
        }
    }
}

static bool is_watched_by_others(const struct uvzk__queue *queue)
{
    for (size_t i = 0; i < DISCIPLINES; i++) {
        const struct uvzk__queue *other =
            uvzk__queue_find(queue->client, disciplines[i], queue->path->text);
        if (other != NULL &&
            (uvzk__watermark_watches(other) ||
             uvzk__predecessor_is_children(&uvzk__aside(other)->predecessor))) {
            return true;
        }
    }
    return uvzk__replica_exists(queue->client, queue->path->text);
}

/* Whatever has happened to the directory, it may be another one. */
static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(watch, struct uvzk__mark, watch);
    struct uvzk__queue *queue = mark->queue;

    (void)event;
    uvzk__watermark_fired(mark);
    uvzk__queue_touch(queue);
}

static void armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__flight_asker(rpc);

    uvzk__flight_landed(queue->client, rpc, reply->status, false);
    uvzk__watermark_armed(uvzk__watermark_mark(&uvzk__aside(queue)->watermark),
                          reply->status);
    uvzk__queue_touch(queue);
}

static void arm(struct uvzk__queue *queue, struct uvzk__mark *mark)
{
    struct uvzk__client *client = queue->client;
    /* get, not exists: on a missing directory it leaves no watch behind. */
    struct uvzk__rpc *rpc =
        uvzk__flight_new(client, queue, UVZK__RPC_GET, queue->path->text, armed);

    if (rpc != NULL) {
        mark->watch.watch_cb = fired;
        rpc->watch = &mark->watch;
        uvzk__submit(client, rpc);
        uvzk__watermark_arming(mark, rpc);
    }
}

void uvzk__watermark_ask(struct uvzk__queue *queue)
{
    if (!uvzk__watermark_wants_watch(queue) || !uvzk__may_send(queue->client)) {
        return;
    }
    if (is_watched_by_others(queue) || !uvzk__watch_budget_is_ample(queue->client)) {
        uvzk__watermark_end(queue);
    } else {
        arm(queue, uvzk__watermark_mark(&uvzk__aside(queue)->watermark));
    }
}

static void rested(struct uvzk__timed *timed)
{
    struct uvzk__mark *mark = UVZK__CONTAINER_OF(timed, struct uvzk__mark, rest);
    struct uvzk__queue *queue = mark->queue;
    uint64_t until = uvzk__watermark_rests_until(mark);

    if (uvzk__contenders_in(&queue->tallies) > 0) {
        return; /* it rests again when they have gone */
    }
    if (uvzk__now(queue->client) < until) {
        uvzk__timed_set(queue->client, timed, until);
    } else {
        uvzk__watermark_end(queue);
        uvzk__queue_touch(queue);
    }
}

bool uvzk__watermark_keeps(struct uvzk__queue *queue)
{
    struct uvzk__mark *mark = uvzk__watermark_mark(&uvzk__aside(queue)->watermark);

    if (uvzk__watermark_wants_watch(queue)) {
        uvzk__watermark_end(queue);
        return false;
    }
    if (uvzk__watermark_watches(queue) &&
        !uvzk__deadline_is_armed(&mark->rest.deadline)) {
        mark->rest.due = rested;
        uvzk__timed_set(queue->client, &mark->rest, uvzk__watermark_rests_until(mark));
    }
    return mark != NULL;
}
