/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_hold_wait_info: what an acquire waits for. It answers for a pending acquire, and inside
 * the acquire callback of one that failed by timeout_ms or UVZK_TRY_ONCE
 * (timed_out_wait.h). */
#include <string.h>

#include "base/refusal.h"
#include "base/struct_size.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/timed_out_wait.h"

void uvzk_wait_info_init_size(uvzk_wait_info_t *wait, size_t size)
{
    if (wait != NULL) {
        memset(wait, 0, size);
        wait->size = size;
    }
}

static int hold_wait_ask(const struct uvzk__claim *claim, uvzk_wait_info_t *wait)
{
    struct uvzk__wait_reason reason;

    uvzk__claim_wait_reason(claim, SIZE_MAX, &reason);
    char *path =
        uvzk__claims_user_text(claim->session, uvzk__wait_reason_text_size(&reason));
    if (path == NULL) {
        return UV_ENOMEM;
    }
    uvzk_wait_info_t now = uvzk__wait_reason_to_public(&reason, path);
    uvzk__answer_into(wait, &now, sizeof(now));
    return 0;
}

int uvzk_hold_wait_info(const uvzk_hold_t *hold, uvzk_wait_info_t *wait)
{
    const struct uvzk__acquisition *acquisition = hold == NULL ? NULL : hold->impl;

    if (hold == NULL) {
        return uvzk__refuse(UV_EINVAL, "hold is NULL");
    }
    if (wait == NULL || wait->size < UVZK__SIZE_UP_TO(uvzk_wait_info_t, since)) {
        return uvzk__refuse(UV_EINVAL, "wait is NULL, or its size not set by "
                                       "uvzk_wait_info_init");
    }
    /* In the callback of a timed-out acquire the hold is the caller's again, so it has no
     * acquisition. */
    if (acquisition == NULL && uvzk__timed_out_wait_of(hold) != NULL) {
        uvzk__answer_into(wait, uvzk__timed_out_wait_of(hold), sizeof(uvzk_wait_info_t));
        return 0;
    }
    if (acquisition == NULL || acquisition->handle != hold ||
        acquisition->claim == NULL || !uvzk__acquisition_is_pending(acquisition)) {
        return uvzk__refuse(UVZK_ESTATE, "the hold is not pending");
    }
    return hold_wait_ask(acquisition->claim, wait);
}
