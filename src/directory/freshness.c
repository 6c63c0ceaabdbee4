#include "directory/freshness.h"

#include "directory/queue.h"

void uvzk__freshness_wanted(struct uvzk__queue *queue, uint64_t stamp)
{
    queue->freshness.newest = stamp;
}

void uvzk__freshness_waived(struct uvzk__queue *queue)
{
    queue->freshness.again = false;
    queue->freshness.newest = queue->freshness.listed;
}

void uvzk__freshness_doubted(struct uvzk__queue *queue)
{
    queue->freshness.again = true;
}

void uvzk__freshness_asked(struct uvzk__queue *queue)
{
    queue->freshness.asked = uvzk__stamp(&queue->client->submissions);
}

void uvzk__freshness_seen(struct uvzk__queue *queue)
{
    queue->freshness.listed = queue->freshness.asked;
}

void uvzk__freshness_taken(struct uvzk__queue *queue, size_t children)
{
    uvzk__freshness_seen(queue);
    queue->freshness.again = false;
    queue->freshness.children = (uint32_t)children;
}
