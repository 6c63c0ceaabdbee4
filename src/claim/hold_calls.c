/* SPDX-License-Identifier: Apache-2.0 */
/* The calls on a uvzk_hold_t that send no request: release, cancel, and what is known of
 * the hold (hold_calls.h). Each one finds the acquisition of the struct, and refuses if
 * that is not in a state for this call. */
#include "claim/hold_calls.h"

#include <assert.h>

#include "base/refusal.h"
#include "claim/acquisition.h"
#include "claim/claim.h"

/* NULL: not pending, held or ending; or the struct is a copy, which is not the hold. */
static struct uvzk__acquisition *acquisition_of(const uvzk_hold_t *hold)
{
    struct uvzk__acquisition *acquisition = hold == NULL ? NULL : hold->impl;

    return acquisition != NULL && acquisition->handle == hold ? acquisition : NULL;
}

int uvzk_hold_release(uvzk_hold_t *hold, uvzk_hold_release_cb release_cb)
{
    if (hold == NULL) {
        return uvzk__refuse(UV_EINVAL, "hold is NULL");
    }
    struct uvzk__acquisition *acquisition = acquisition_of(hold);
    if (acquisition == NULL || (acquisition->state != UVZK__ACQUISITION_GRANTED &&
                                acquisition->state != UVZK__ACQUISITION_LOSING)) {
        return uvzk__refuse(UVZK_ENOTHELD, "hold is not held, or being released already");
    }
    uvzk__acquisition_release(acquisition, release_cb);
    return 0;
}

int uvzk_hold_cancel(uvzk_hold_t *hold)
{
    struct uvzk__acquisition *acquisition = acquisition_of(hold);

    if (hold == NULL) {
        return uvzk__refuse(UV_EINVAL, "hold is NULL");
    }
    if (acquisition == NULL || !uvzk__acquisition_is_pending(acquisition)) {
        return uvzk__refuse(UVZK_ESTATE, "hold is not pending");
    }
    uvzk__acquisition_end_alone(acquisition, UV_ECANCELED);
    return 0;
}

/* ------------------------------------------------------- for other files of src/ */

struct uvzk__claim *uvzk__hold_of(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = acquisition_of(hold);

    return acquisition != NULL && acquisition->state == UVZK__ACQUISITION_GRANTED
               ? acquisition->claim
               : NULL;
}

struct uvzk__session *uvzk__hold_session(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = hold == NULL ? NULL : hold->impl;

    return acquisition == NULL ? NULL : uvzk__acquisition_session(acquisition);
}

uvzk_hold_release_cb uvzk__hold_intercept_release(const uvzk_hold_t *hold,
                                                  uvzk_hold_release_cb cb)
{
    struct uvzk__acquisition *acquisition = hold->impl;

    if (acquisition == NULL || (acquisition->state != UVZK__ACQUISITION_RELEASING &&
                                acquisition->state != UVZK__ACQUISITION_RELEASED)) {
        return NULL;
    }
    uvzk_hold_release_cb before = acquisition->release_cb;
    acquisition->release_cb = cb;
    return before;
}

void uvzk__hold_intercept_loss(const uvzk_hold_t *hold, uvzk_hold_lost_cb losing)
{
    struct uvzk__acquisition *acquisition = hold->impl;

    /* acquire_cb will not be called again, so losing_cb may use its memory. */
    assert(acquisition->state == UVZK__ACQUISITION_GRANTED);
    acquisition->loss_intercepted = true;
    acquisition->losing_cb = losing;
}

/* ------------------------------------------------------------- what is known of it */

int uvzk_hold_is_valid(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim != NULL && uvzk__claim_holds(claim);
}

int64_t uvzk_hold_token(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? 0 : claim->fencing_token;
}

const char *uvzk_hold_path(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? NULL : uvzk__claim_node_path(claim, 0);
}

uint64_t uvzk_hold_valid_until(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? 0 : uvzk__claim_valid_until(claim);
}
