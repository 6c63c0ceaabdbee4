#include "directory/vouching.h"

#include "directory/queue.h"
#include "engine/turn.h"

void uvzk__vouch(struct uvzk__contender *contender, uint64_t stamp)
{
    contender->vouching.settling = uvzk__client_of(contender)->directories->settlings + 1;
    contender->vouching.stamp = stamp;
    contender->vouching.unasked = contender->queue->departures.unasked;
    uvzk__wake(uvzk__client_of(contender)); /* what is seen counts in one settling only */
}

bool uvzk__is_just_seen(const struct uvzk__contender *contender)
{
    return contender->vouching.settling ==
           uvzk__client_of(contender)->directories->settlings;
}

bool uvzk__is_vouched_for(const struct uvzk__contender *front)
{
    const struct uvzk__vouching *seen = &front->vouching;

    return uvzk__is_just_seen(front) &&
           seen->unasked == front->queue->departures.unasked &&
           seen->stamp >=
               (front->shared ? seen->exclusive_delete_stamp : seen->delete_stamp);
}

void uvzk__departed(struct uvzk__queue *queue)
{
    queue->departures.unasked++;
}

static void matter(struct uvzk__contender *contender, uint64_t last,
                   uint64_t last_exclusive)
{
    struct uvzk__vouching *vouching = &contender->vouching;

    if (vouching->delete_stamp < last) {
        vouching->delete_stamp = last;
    }
    if (vouching->exclusive_delete_stamp < last_exclusive) {
        vouching->exclusive_delete_stamp = last_exclusive;
    }
}

void uvzk__deleting(const struct uvzk__contender *leaving, struct uvzk__contender *behind,
                    uint64_t stamp)
{
    struct uvzk__departures *departures = &leaving->queue->departures;

    departures->delete_stamp = stamp;
    if (!leaving->shared) {
        departures->exclusive_delete_stamp = stamp;
    }
    if (behind != NULL) {
        matter(behind, stamp, leaving->shared ? 0 : stamp);
    }
}

void uvzk__deletes_inherited(struct uvzk__contender *behind,
                             const struct uvzk__contender *leaving)
{
    matter(behind, leaving->vouching.delete_stamp,
           leaving->vouching.exclusive_delete_stamp);
}

void uvzk__deletes_so_far(struct uvzk__contender *contender)
{
    const struct uvzk__departures *departures = &contender->queue->departures;

    matter(contender, departures->delete_stamp, departures->exclusive_delete_stamp);
}
