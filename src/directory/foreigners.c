#include "directory/foreigners.h"

#include <inttypes.h>
#include <string.h>

#include "directory/contender.h"
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
    size_t low = 0, high = queue->foreigner_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queue->foreigners[middle].sequence <= contender->node.place.sequence) {
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

    while (before > 0 && contender->shared && queue->foreigners[before - 1].shared) {
        before--;
    }
    return before == 0 ? NULL : &queue->foreigners[before - 1];
}

int32_t uvzk__foreigners_first_writer(const struct uvzk__queue *queue)
{
    for (size_t i = 0; i < queue->foreigner_count; i++) {
        if (!queue->foreigners[i].shared) {
            return queue->foreigners[i].sequence;
        }
    }
    return INT32_MAX;
}

void uvzk__foreigners_forget(struct uvzk__queue *queue, const char *name)
{
    for (size_t i = queue->foreigner_count; i > 0; i--) {
        if (strcmp(queue->foreigners[i - 1].name, name) == 0) {
            uvzk__free(queue->foreigners[i - 1].name);
            memmove(&queue->foreigners[i - 1], &queue->foreigners[i],
                    (queue->foreigner_count - i) * sizeof(queue->foreigners[0]));
            queue->foreigner_count--;
            return;
        }
    }
}

void uvzk__foreigners_clear(struct uvzk__queue *queue)
{
    uvzk__foreigners_free(queue->foreigners, queue->foreigner_count);
    queue->foreigners = NULL;
    queue->foreigner_count = 0;
}

void uvzk__foreign_children(struct uvzk__queue *queue, uint64_t count)
{
    if (count != queue->foreign_children && count > 0) {
        uvzk__log(queue->client, UVZK_LOG_WARN,
                  "%s has %" PRIu64 " children that are no contenders", queue->path,
                  count);
    }
    queue->foreign_children = count;
}
