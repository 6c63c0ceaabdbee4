#include "directory/unsearchable.h"

#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/slow_retry.h"
#include "engine/log.h"
#include "engine/turn.h"

/* Allocated for a directory from a refused listing until the next one that succeeds. */
struct uvzk__unsearchable {
    struct uvzk__timer retry; /* armed during a pause */
    struct uvzk__queue *queue;
    uint64_t pause_ms; /* length of the next pause */
};

static struct uvzk__unsearchable *those_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->unsearchables.those;
}

/* Whether a wanted contender has a create in flight or is searched for. One that is
 * BACKING_OFF does not count: it needs no listing until its pause is over. */
static bool anyone_comes(const struct uvzk__queue *queue)
{
    for (struct uvzk__link *link = uvzk__ring_first(&queue->unplaced); link != NULL;
         link = uvzk__ring_next(&queue->unplaced, link)) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (uvzk__node_is_wanted(&contender->node) &&
            (uvzk__node_is_in_flight(&contender->node) ||
             uvzk__node_state(&contender->node) == UVZK__NODE_UNKNOWN)) {
            return true;
        }
    }
    return false;
}

static void pause_over(struct uvzk__timer *timer)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(timer, struct uvzk__unsearchable, retry)->queue;

    if (!uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN)) {
        uvzk__unsearchable_no_more(queue); /* the session has ended meanwhile */
    }
    uvzk__queue_settle_later(queue);
}

static struct uvzk__unsearchable *begin(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those =
        uvzk__queue_need_optional(queue) ? uvzk__calloc(1, sizeof(*those)) : NULL;

    if (those == NULL) {
        return NULL; /* the directory is listed again soon, and is refused again */
    }
    those->queue = queue;
    those->pause_ms = UVZK__SLOW_RETRY_FIRST_MS;
    those->retry.due = pause_over;
    queue->optional->unsearchables.those = those;
    uvzk__log(
        queue->session, UVZK_LOG_WARN, "directory",
        "%s may not be listed: a znode of ours may stand there that nobody wants; it "
        "is searched for again until it is found or the session has gone",
        queue->path->text);
    return those;
}

void uvzk__unsearchable(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those = those_of(queue);

    if (those == NULL && uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN)) {
        those = begin(queue);
    }
    if (those != NULL && !uvzk__deadline_is_armed(&those->retry.deadline)) {
        uvzk__slow_retry(queue->session, &those->retry, &those->pause_ms);
    }
}

void uvzk__unsearchable_no_more(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those = those_of(queue);

    if (those != NULL) {
        uvzk__timer_clear(queue->session, &those->retry);
        queue->optional->unsearchables.those = NULL;
        uvzk__free(those);
    }
}

bool uvzk__unsearchable_may(const struct uvzk__queue *queue)
{
    const struct uvzk__unsearchable *those = those_of(queue);

    return those == NULL || !uvzk__deadline_is_armed(&those->retry.deadline) ||
           anyone_comes(queue);
}
