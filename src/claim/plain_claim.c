/* The plain kind of claims (plain_claim.h). */
#include "claim/plain_claim.h"

#include "claim/claim.h"
#include "directory/contender.h"

void uvzk__claim_plain_granted(struct uvzk__contender *contender)
{
    struct uvzk__claim *claim = uvzk__contender_claim(contender);
    int64_t token = 0;

    /* The claim is HELD already, is given up, or is being emptied; or another of its
     * contenders still waits. */
    if (claim->state != UVZK__CLAIM_ASKING ||
        claim->held_count < claim->contender_count) {
        return;
    }
    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        int64_t czxid = uvzk__contender_place(each).czxid;
        token = czxid > token ? czxid : token;
    }
    uvzk__claim_grant(claim, token);
}

void uvzk__claim_plain_ungranted(struct uvzk__contender *contender)
{
    uvzk__claim_ungrant(uvzk__contender_claim(contender));
}

void uvzk__claim_plain_ended(struct uvzk__contender *contender, int code)
{
    uvzk__claim_end(uvzk__contender_claim(contender), code);
}

const struct uvzk__claim_kind uvzk__claim_plain = {
    .granted = uvzk__claim_plain_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
};
