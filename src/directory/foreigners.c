#include "directory/foreigners.h"

#include <assert.h>
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
    const struct uvzk__foreigners *foreigners = &uvzk__aside(queue)->foreigners;
    size_t low = 0, high = foreigners->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (foreigners->list[middle].sequence <=
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
    const struct uvzk__foreigners *foreigners = &uvzk__aside(queue)->foreigners;
    size_t before = uvzk__contender_downgraded(contender)
                        ? 0
                        : uvzk__foreigners_before(queue, contender);

    while (before > 0 && contender->shared && foreigners->list[before - 1].shared) {
        before--;
    }
    return before == 0 ? NULL : &foreigners->list[before - 1];
}

bool uvzk__foreigners_block_once(const struct uvzk__queue *queue,
                                 const struct uvzk__contender *contender)
{
    const struct uvzk__foreigner *blocker = uvzk__foreigners_blocker(queue, contender);

    return blocker != NULL &&
           blocker->sequence == (contender->shared
                                     ? uvzk__foreigners_first_writer(queue)
                                     : uvzk__aside(queue)->foreigners.list[0].sequence);
}

int32_t uvzk__foreigners_first_writer(const struct uvzk__queue *queue)
{
    const struct uvzk__foreigners *foreigners = &uvzk__aside(queue)->foreigners;

    for (size_t i = 0; i < foreigners->count; i++) {
        if (!foreigners->list[i].shared) {
            return foreigners->list[i].sequence;
        }
    }
    return INT32_MAX;
}

void uvzk__foreigners_forget(struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__foreigners *foreigners = &uvzk__aside(queue)->foreigners;

    for (size_t i = foreigners->count; i > 0; i--) {
        if (strcmp(foreigners->list[i - 1].name, name) == 0) {
            uvzk__free(foreigners->list[i - 1].name);
            memmove(&foreigners->list[i - 1], &foreigners->list[i],
                    (foreigners->count - i) * sizeof(foreigners->list[0]));
            queue->aside->foreigners.count--;
            break;
        }
    }
    if (foreigners->count == 0) {
        uvzk__foreigners_clear(queue);
    }
}

void uvzk__foreigners_less(struct uvzk__queue *queue)
{
    queue->aside->foreigners.leases -= uvzk__aside(queue)->foreigners.leases > 0;
}

void uvzk__foreigners_seen(struct uvzk__queue *queue, struct uvzk__foreigner *list,
                           size_t count, uint64_t leases)
{
    const struct uvzk__foreigners *before = &uvzk__aside(queue)->foreigners;

    if (queue->client->observer != NULL &&
        (count < before->count || leases < before->leases)) {
        uvzk__queue_let_go(queue, uvzk__now(queue->client));
    }
    uvzk__foreigners_clear(queue);
    if (count == 0) {
        uvzk__free(list);
    }
    if (queue->aside != NULL) {
        queue->aside->foreigners.list = count == 0 ? NULL : list;
        queue->aside->foreigners.count = (uint32_t)count;
        queue->aside->foreigners.leases = (uint32_t)leases;
    }
    assert(queue->aside != NULL || (count == 0 && leases == 0));
}

void uvzk__foreigners_behind(struct uvzk__queue *queue, bool behind)
{
    assert(queue->aside != NULL || !behind);
    if (queue->aside != NULL) {
        queue->aside->foreigners.behind = behind;
    }
}

void uvzk__foreigners_clear(struct uvzk__queue *queue)
{
    if (queue->aside != NULL) {
        struct uvzk__foreigners *foreigners = &queue->aside->foreigners;

        uvzk__foreigners_free(foreigners->list, foreigners->count);
        foreigners->list = NULL;
        foreigners->count = 0;
    }
}

/* Out of memory they are told, and not counted. */
void uvzk__foreign_children(struct uvzk__queue *queue, uint64_t count)
{
    if (count != uvzk__aside(queue)->foreigners.children && count > 0) {
        uvzk__log(queue->client, UVZK_LOG_WARN, "directory",
                  "%s has %" PRIu64 " children that are not contenders",
                  queue->path->text, count);
    }
    if (queue->aside != NULL || (count > 0 && uvzk__aside_needed(queue))) {
        queue->aside->foreigners.children = (uint32_t)count;
    }
}
