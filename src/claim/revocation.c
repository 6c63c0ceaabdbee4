#include "claim/revocation.h"

#include <string.h>

#include "claim/acquisition.h"
#include "directory/guard.h"

void uvzk__revocation_wanted(struct uvzk__claim *claim)
{
    for (struct uvzk__link *link = claim->contenders.next; link != &claim->contenders;
         link = link->next) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        uvzk__contender_is_revocable(contender);
        uvzk__guard(contender); /* if it stands already */
    }
}

void uvzk__revocation_read(struct uvzk__contender *contender,
                           const struct uvzk__reply *reply)
{
    struct uvzk__claim *claim = contender->claim;

    if (!contender->revocable || reply->stat.mzxid == contender->revoked_mzxid ||
        reply->data_length != UVZK__REVOKE_LENGTH ||
        memcmp(reply->data, UVZK__REVOKE, UVZK__REVOKE_LENGTH) != 0) {
        return;
    }
    uvzk__contender_revoked(contender, reply->stat.mzxid);
    for (struct uvzk__link *link = claim->acquisitions.next; link != &claim->acquisitions;
         link = link->next) {
        uvzk__acquisition_revoked(
            UVZK__CONTAINER_OF(link, struct uvzk__acquisition, siblings));
    }
}
