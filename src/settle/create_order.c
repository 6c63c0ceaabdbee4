#include "settle/create_order.h"

#include "directory/contender.h"
#include "directory/queue.h"

static const struct uvzk__contender *contender_at(const struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__contender, in_queue);
}

/* Whether the create is about to be sent or answered. A contender that pauses or is
 * searched for does not count, because that may last as long as its session. */
static bool is_being_created(const struct uvzk__contender *contender)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);

    return state == UVZK__NODE_CREATING || state == UVZK__NODE_PARENTS;
}

/* When the first unplaced contender that is being created was requested, in ms.
 * UINT64_MAX: none is being created. */
static uint64_t oldest_ms(const struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    while (link != NULL && !is_being_created(contender_at(link))) {
        link = uvzk__ring_next(&queue->unplaced, link);
    }
    return link == NULL ? UINT64_MAX : contender_at(link)->first_attempt_ms;
}

static struct uvzk__queue *in_session(struct uvzk__session *session,
                                      const struct uvzk__queue *queue)
{
    return uvzk__queue_find(session, queue->kind->directory_order, queue->path->text);
}

/* At equal times the session that ranks first goes first. */
static bool is_before(uint64_t oldest, uint64_t other)
{
    return oldest != UINT64_MAX && oldest <= other;
}

bool uvzk__create_order_allows(struct uvzk__queue *queue)
{
    const struct uvzk__session *session = queue->session;
    struct uvzk__session *before;
    uint32_t tried = 0;

    /* Visits the sessions that rank before this one for the path. */
    while (uvzk__has_sessions(session) &&
           (before = uvzk__next_in_rank(session, queue->path->text, &tried)) != session) {
        struct uvzk__queue *first = in_session(before, queue);
        if (first != NULL && uvzk__connection_is_connected(&before->connection) &&
            is_before(oldest_ms(first), oldest_ms(queue))) {
            uvzk__queue_set_other_session_waits(first, true);
            return false;
        }
    }
    return true;
}

void uvzk__create_order_changed(struct uvzk__queue *queue)
{
    const struct uvzk__client *client = queue->session->client;

    if (!queue->other_session_waits) {
        return;
    }
    uvzk__queue_set_other_session_waits(queue, false);
    for (uint32_t i = 0; i < client->count; i++) {
        struct uvzk__queue *next = in_session(client->sessions[i], queue);
        if (next != NULL && next != queue && next->creates_postponed) {
            uvzk__queue_settle_later(next);
        }
    }
}

void uvzk__create_order_skip_session(struct uvzk__session *session)
{
    const struct uvzk__client *client = session->client;

    for (uint32_t i = 0; i < client->count; i++) {
        if (client->sessions[i] != session) {
            uvzk__queues_settle_later(client->sessions[i]);
        }
    }
}
