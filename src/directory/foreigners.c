#include "directory/foreigners.h"

#include <inttypes.h>
#include <string.h>

#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/log.h"

void uvzk__foreigners_free(struct uvzk__foreigner *foreigners, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uvzk__free(foreigners[i].name);
    }
    uvzk__free(foreigners);
}

size_t uvzk__foreigners_before(const struct uvzk__queue *queue,
                               const struct uvzk__contender *contender)
{
    size_t low = 0, high = queue->foreigners.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queue->foreigners.list[middle].sequence <=
            uvzk__node_place(&contender->node).sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct uvzk__foreigner *
uvzk__foreigners_blocker(const struct uvzk__queue *queue,
                         const struct uvzk__contender *contender)
{
    size_t before = uvzk__contender_downgraded(contender)
                        ? 0
                        : uvzk__foreigners_before(queue, contender);

    while (before > 0 && contender->shared && queue->foreigners.list[before - 1].shared) {
        before--;
    }
    return before == 0 ? NULL : &queue->foreigners.list[before - 1];
}

bool uvzk__foreigners_block_once(const struct uvzk__queue *queue,
                                 const struct uvzk__contender *contender)
{
    const struct uvzk__foreigner *blocker = uvzk__foreigners_blocker(queue, contender);

    return blocker != NULL &&
           blocker->sequence == (contender->shared ? uvzk__foreigners_first_writer(queue)
                                                   : queue->foreigners.list[0].sequence);
}

int32_t uvzk__foreigners_first_writer(const struct uvzk__queue *queue)
{
    for (size_t i = 0; i < queue->foreigners.count; i++) {
        if (!queue->foreigners.list[i].shared) {
            return queue->foreigners.list[i].sequence;
        }
    }
    return INT32_MAX;
}

void uvzk__foreigners_forget(struct uvzk__queue *queue, const char *name)
{
    for (size_t i = queue->foreigners.count; i > 0; i--) {
        if (strcmp(queue->foreigners.list[i - 1].name, name) == 0) {
            uvzk__free(queue->foreigners.list[i - 1].name);
            memmove(&queue->foreigners.list[i - 1], &queue->foreigners.list[i],
                    (queue->foreigners.count - i) * sizeof(queue->foreigners.list[0]));
            queue->foreigners.count--;
            return;
        }
    }
}

void uvzk__foreigners_seen(struct uvzk__queue *queue, struct uvzk__foreigner *list,
                           size_t count, uint64_t leases)
{
    if (queue->client->observer != NULL &&
        (count < queue->foreigners.count || leases < queue->foreigners.leases)) {
        uvzk__queue_let_go(queue, uvzk__now(queue->client));
    }
    uvzk__foreigners_clear(queue);
    if (count > 0) {
        queue->foreigners.list = list;
    } else {
        uvzk__free(list);
    }
    queue->foreigners.count = (uint32_t)count;
    queue->foreigners.leases = (uint32_t)leases;
}

void uvzk__foreigners_behind(struct uvzk__queue *queue, bool behind)
{
    queue->foreigners.behind = behind;
}

void uvzk__foreigners_clear(struct uvzk__queue *queue)
{
    uvzk__foreigners_free(queue->foreigners.list, queue->foreigners.count);
    queue->foreigners.list = NULL;
    queue->foreigners.count = 0;
}

void uvzk__foreign_children(struct uvzk__queue *queue, uint64_t count)
{
    if (count != queue->foreigners.children && count > 0) {
        uvzk__log(queue->client, UVZK_LOG_WARN, "directory",
                  "%s has %" PRIu64 " children that are no contenders", queue->path->text,
                  count);
    }
    queue->foreigners.children = (uint32_t)count;
}
