/* Keeps, for each contender, its last sighting and the last deletes before it
 * (last_seen.h). Stamps only grow, so the greatest one is enough. A reader does not wait
 * for readers, so it compares its sighting with the deletes of writers' nodes only. */
#include "directory/last_seen.h"

#include "directory/queue.h"
#include "engine/turn.h"

void uvzk__last_seen_set(struct uvzk__contender *contender, uint64_t stamp)
{
    contender->last_seen.settle_count =
        uvzk__session_of(contender)->directories->settle_count + 1;
    contender->last_seen.stamp = stamp;
    contender->last_seen.foreign_deletes = contender->queue->deletions.foreign_deletes;
    uvzk__wake(
        uvzk__session_of(contender)); /* the sighting counts in one settling only */
}

bool uvzk__is_just_seen(const struct uvzk__contender *contender)
{
    return contender->last_seen.settle_count ==
           uvzk__session_of(contender)->directories->settle_count;
}

bool uvzk__is_known_to_exist(const struct uvzk__contender *front)
{
    const struct uvzk__last_seen *seen = &front->last_seen;

    return uvzk__is_just_seen(front) &&
           seen->foreign_deletes == front->queue->deletions.foreign_deletes &&
           seen->stamp >= (uvzk__contender_is_shared(front) ? seen->exclusive_delete_stamp
                                                            : seen->delete_stamp);
}

void uvzk__foreign_node_gone(struct uvzk__queue *queue)
{
    queue->deletions.foreign_deletes++;
}

static void raise_delete_stamps(struct uvzk__contender *contender, uint64_t last,
                                uint64_t last_exclusive)
{
    struct uvzk__last_seen *last_seen = &contender->last_seen;

    if (last_seen->delete_stamp < last) {
        last_seen->delete_stamp = last;
    }
    if (last_seen->exclusive_delete_stamp < last_exclusive) {
        last_seen->exclusive_delete_stamp = last_exclusive;
    }
}

void uvzk__delete_sent(const struct uvzk__contender *deleting,
                       struct uvzk__contender *behind, uint64_t stamp)
{
    struct uvzk__deletions *deletions = &deleting->queue->deletions;

    deletions->delete_stamp = stamp;
    if (!uvzk__contender_is_shared(deleting)) {
        deletions->exclusive_delete_stamp = stamp;
    }
    if (behind != NULL) {
        raise_delete_stamps(behind, stamp,
                            uvzk__contender_is_shared(deleting) ? 0 : stamp);
    }
}

void uvzk__deletes_inherited(struct uvzk__contender *behind,
                             const struct uvzk__contender *deleting)
{
    raise_delete_stamps(behind, deleting->last_seen.delete_stamp,
                        deleting->last_seen.exclusive_delete_stamp);
}

void uvzk__deletes_so_far(struct uvzk__contender *contender)
{
    const struct uvzk__deletions *deletions = &contender->queue->deletions;

    raise_delete_stamps(contender, deletions->delete_stamp,
                        deletions->exclusive_delete_stamp);
}
