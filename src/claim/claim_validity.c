/* Until when the hold of a claim is valid (claim_validity.h). proof/validity.c knows it
 * for one session; this file adds the holds that depend on no session, or on several. */
#include "claim/claim_validity.h"

#include "claim/claim.h"
#include "engine/invariant.h"
#include "proof/validity.h"

/* [P2] A multi lock is valid as long as each of its members is. The members' claims may
 * be in other sessions than this claim, each with its own proof, or may be persistent. So
 * only the members' proofs count, and the earliest one decides. */
static uint64_t members_valid_until(const struct uvzk__claim *claim)
{
    uint64_t until = UINT64_MAX;
    const struct uvzk__claim *member;

    for (uint32_t i = 0; (member = claim->kind->member(claim, i)) != NULL; i++) {
        uint64_t one = uvzk__claim_valid_until(member);
        until = one < until ? one : until;
    }
    return until;
}

/* [P2] A hold is not valid beyond its max_hold_ms, so code that has copied the end of the
 * validity stops before the lock is released. */
uint64_t uvzk__claim_valid_until(const struct uvzk__claim *claim)
{
    uint64_t limit =
        claim->limited ? uvzk__hold_limit_end(uvzk__claim_hold_limit(claim)) : UINT64_MAX;

    if (uvzk__is_broken(claim->session)) {
        return 0;
    }
    uint64_t proved = claim->kind->member != NULL ? members_valid_until(claim)
                      : claim->persistent         ? UINT64_MAX
                                                  : uvzk__validity_end(claim->session);
    return proved < limit ? proved : limit;
}

bool uvzk__claim_holds(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_HELD &&
           uvzk__validity_lasts(claim->session, uvzk__claim_valid_until(claim));
}
