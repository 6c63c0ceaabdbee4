/* What the acquisitions of a claim are told while the claim continues
 * (claim_acquisitions.h). claim.c reports the grant and the end of the claim itself. */
#include "claim/claim_acquisitions.h"

#include "claim/acquisition.h"
#include "claim/claim.h"

void uvzk__claim_queued(struct uvzk__claim *claim, uint64_t ahead)
{
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_queued(each, ahead);
    }
}

bool uvzk__claim_grant_notified(const struct uvzk__claim *claim)
{
    for (const struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        if (each->state == UVZK__ACQUISITION_GRANTED) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ its limit */

void uvzk__claim_warn(struct uvzk__claim *claim)
{
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_warn(each);
    }
}

/* [P2] At the end of its max_hold_ms a hold's contenders are withdrawn only after its lost
 * callbacks have returned; until then no other contender can be granted. If the claim
 * ended as others do, the delete would be sent before a lost callback that waits for
 * other callbacks. A multi lock may be in another session than the member whose limit
 * ends it, and so may be the notification of its loss. */
void uvzk__claim_give_back(struct uvzk__claim *claim)
{
    const struct uvzk__session *session = claim->session;

    if (uvzk__claim_is_given_up(claim)) {
        return;
    }
    /* A lost callback may close the client. */
    uvzk__claim_ref(claim);
    uvzk__claim_give_up(claim, UVZK_EMAXHOLD);
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__notify_those(session->client->sessions[i], uvzk__acquisition_is_loss);
    }
    uvzk__claim_withdraw_given_up(claim);
    uvzk__claim_unref(claim);
}

/* ------------------------------------------------------------------ its ends */

/* In the functions below, the next acquisition is read before one ends, because that one
 * leaves the claim. */

void uvzk__claim_end_try_once(struct uvzk__claim *claim)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (uvzk__acquisition_is_try_once(acquisition)) {
            uvzk__acquisition_try_failed(acquisition);
        }
    }
    /* Acquisitions without UVZK_TRY_ONCE keep the claim waiting. */
    if (uvzk__ring_empty(&claim->acquisitions)) {
        uvzk__claim_end(claim, 0);
    }
}

/* Of several acquisitions of one owner, one may hold and another one wait. A member's hold
 * is not the user's: the multi lock has an acquisition of its own. */
void uvzk__claim_end_holds(struct uvzk__claim *claim, int code)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (acquisition->state == UVZK__ACQUISITION_GRANTED &&
            !acquisition->loss_intercepted) {
            uvzk__acquisition_end(acquisition, code);
        }
    }
}

void uvzk__claim_fail_releases(struct uvzk__claim *claim, int code)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    if (claim->persistent && code == UVZK_EEXPIRED) {
        return; /* the znodes still exist, and their deletes continue */
    }
    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        each = uvzk__claim_next_acquisition(each);
        if (acquisition->state == UVZK__ACQUISITION_RELEASING) {
            uvzk__acquisition_released(acquisition, code);
        }
    }
}
