/* Receives requests for a release (revocation.h). The own watch of a revocable contender
 * reads the znode's data; this file compares them and informs the acquisitions. */
#include "claim/revocation.h"

#include <string.h>

#include "claim/acquisition.h"
#include "directory/contender_request.h"
#include "directory/own_watch.h"

int uvzk__revocation_enable(struct uvzk__claim *claim)
{
    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        if (uvzk__contender_make_revocable(contender) != 0) {
            return UV_ENOMEM;
        }
        uvzk__own_watch_arm(contender); /* if its znode exists already */
    }
    return 0;
}

void uvzk__revocation_read(struct uvzk__contender *contender,
                           const struct uvzk__reply *reply)
{
    struct uvzk__claim *claim = contender->claim;

    if (!contender->revocable || reply->data_length != UVZK__REVOKE_LENGTH ||
        memcmp(reply->data, UVZK__REVOKE, UVZK__REVOKE_LENGTH) != 0 ||
        /* The watch may read the same message several times. A message counts once, by
         * its mzxid. */
        !uvzk__contender_record_revocation(contender, reply->stat.mzxid)) {
        return;
    }
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_revoked(each);
    }
}
