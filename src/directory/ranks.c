#include "directory/ranks.h"

#include "directory/contender.h"
#include "directory/queue.h"

static const struct uvzk__contender *contender_at(const struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__contender, in_queue);
}

/* Its create is about to leave, or to be answered. Not so of one that rests, or that is
 * searched for: that may last as long as its session. */
static bool is_coming(const struct uvzk__contender *contender)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);

    return state == UVZK__NODE_CREATING || state == UVZK__NODE_PARENTS;
}

/* When the first of those that are being made was asked for; UINT64_MAX: there is none. */
static uint64_t oldest_ms(const struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    while (link != NULL && !is_coming(contender_at(link))) {
        link = uvzk__ring_next(&queue->strangers, link);
    }
    return link == NULL ? UINT64_MAX : contender_at(link)->first_attempt_ms;
}

static struct uvzk__queue *in_session(struct uvzk__client *session,
                                      const struct uvzk__queue *queue)
{
    return uvzk__queue_find(session, queue->kind->discipline, queue->path->text);
}

static bool is_before(uint64_t oldest, uint64_t other)
{
    return oldest != UINT64_MAX && oldest <= other;
}

bool uvzk__rank_is_due(struct uvzk__queue *queue)
{
    const struct uvzk__client *client = queue->client;
    struct uvzk__client *before;
    uint32_t tried = 0;

    while (uvzk__has_sessions(client) &&
           (before = uvzk__next_in_rank(client, queue->path->text, &tried)) != client) {
        struct uvzk__queue *first = in_session(before, queue);
        if (first != NULL && uvzk__session_is_connected(&before->session) &&
            is_before(oldest_ms(first), oldest_ms(queue))) {
            uvzk__queue_followed(first, true);
            return false;
        }
    }
    return true;
}

void uvzk__rank_moved(struct uvzk__queue *queue)
{
    const struct uvzk__sessions *sessions = queue->client->sessions;

    if (!queue->followed) {
        return;
    }
    uvzk__queue_followed(queue, false);
    for (uint32_t i = 0; i < sessions->count; i++) {
        struct uvzk__queue *next = in_session(sessions->each[i], queue);
        if (next != NULL && next != queue && next->behind) {
            uvzk__queue_touch(next);
        }
    }
}

void uvzk__ranks_go_on(struct uvzk__client *client)
{
    const struct uvzk__sessions *sessions = client->sessions;

    for (uint32_t i = 0; i < sessions->count; i++) {
        if (sessions->each[i] != client) {
            uvzk__queues_touch(sessions->each[i]);
        }
    }
}
