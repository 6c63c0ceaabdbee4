/* The times for the handover histogram (handover.h). They are kept in the queues of a
 * claim's directories, so that a grant in the same directory finds them. */
#include "claim/handover.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"

void uvzk__handover_started(const struct uvzk__claim *claim, uint64_t now)
{
    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        uvzk__queue_set_released(uvzk__contender_queue(each), now);
    }
}

void uvzk__handover_done(const struct uvzk__claim *claim, uint64_t now,
                         uint64_t waited_ms, uvzk_histogram_t *histogram)
{
    uint64_t least = UINT64_MAX;

    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        uint64_t ago = uvzk__queue_released_ago(uvzk__contender_queue(each), now);
        least = ago < least ? ago : least;
    }
    /* Only a release that this acquire has waited for is a handover. UINT64_MAX, no
     * release known, is never counted. */
    if (least <= waited_ms) {
        uvzk__histogram_add(histogram, least);
    }
}
