/* The times of handovers (handover.h). They are kept in the queues of a claim's
 * directories, so that a grant in the same directory finds them. */
#include "claim/handover.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"

static struct uvzk__queue *queue_at(const struct uvzk__link *link)
{
    return uvzk__contender_of_link(link)->queue;
}

void uvzk__handover_started(const struct uvzk__claim *claim, uint64_t now)
{
    const struct uvzk__ring *ring = &claim->contenders;

    for (const struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        uvzk__queue_set_released(queue_at(link), now);
    }
}

uint64_t uvzk__handover_done(const struct uvzk__claim *claim, uint64_t now,
                             uint64_t waited_ms)
{
    const struct uvzk__ring *ring = &claim->contenders;
    uint64_t least = UVZK__NO_HANDOVER;

    for (const struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        uint64_t ago = uvzk__queue_released_ago(queue_at(link), now);
        least = ago < least ? ago : least;
    }
    /* Only a release that this acquire has waited for is a handover. */
    return least <= waited_ms ? least : UVZK__NO_HANDOVER;
}
