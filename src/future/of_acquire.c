/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_lock_acquire_future. The future contains the hold. Dropping it cancels the acquire
 * or releases the hold. */
#include "base/refusal.h"
#include "claim/hold_calls.h"
#include "claim/lock.h"
#include "future/future.h"

struct acquiring {
    struct uvzk__future future;
    uvzk_hold_t hold;
    uvzk_hold_lost_cb lost_cb;
    /* Of a release that the user has begun, if it is intercepted; else NULL. */
    uvzk_hold_release_cb release_cb;
};

static struct acquiring *of_acquire_of(uvzk_hold_t *hold)
{
    return UVZK__CONTAINER_OF(hold, struct acquiring, hold);
}

static void of_acquire_acquired(uvzk_hold_t *hold, int status)
{
    if (status == 0) {
        uvzk__future_holding(&of_acquire_of(hold)->future);
    } else {
        uvzk__future_over(&of_acquire_of(hold)->future, status);
    }
}

static void of_acquire_lost(uvzk_hold_t *hold, int reason)
{
    struct acquiring *acquiring = of_acquire_of(hold);

    /* lost_cb uses the hold, which is in the future's memory. */
    uvzk__future_ref(&acquiring->future);
    uvzk__future_over(&acquiring->future, reason);
    acquiring->lost_cb(hold, reason);
    uvzk__future_unref(&acquiring->future);
}

static void of_acquire_released(uvzk_hold_t *hold, int status)
{
    uvzk__future_over(&of_acquire_of(hold)->future, status);
}

/* The user has begun the release and uses the hold until its own callback. So that
 * callback runs first, and the future is OVER after it. */
static void of_acquire_overheard(uvzk_hold_t *hold, int status)
{
    if (of_acquire_of(hold)->release_cb != NULL) {
        of_acquire_of(hold)->release_cb(hold, status);
    }
    of_acquire_released(hold, status);
}

static bool of_acquire_withdraw(struct uvzk__future *future)
{
    struct acquiring *acquiring = UVZK__CONTAINER_OF(future, struct acquiring, future);
    uvzk_hold_t *hold = &acquiring->hold;

    /* One of the two succeeds unless the hold is lost or is being released already. */
    if (uvzk_hold_cancel(hold) == 0 ||
        uvzk_hold_release(hold, of_acquire_released) == 0) {
        return false;
    }
    acquiring->release_cb = uvzk__hold_intercept_release(hold, of_acquire_overheard);
    /* True: the hold has ended. Otherwise a callback is still due, which ends the
     * future. */
    return hold->impl == NULL;
}

static bool of_acquire_holds(const struct uvzk__future *future)
{
    const struct acquiring *acquiring =
        UVZK__CONTAINER_OF((uintptr_t)future, struct acquiring, future);

    return future->state == UVZK__FUTURE_HOLDING &&
           uvzk__hold_of(&acquiring->hold) != NULL;
}

static const struct uvzk__future_kind kind = {.withdraw = of_acquire_withdraw,
                                              .holds = of_acquire_holds};

int uvzk_lock_acquire_future(uvzk_lock_t *lock, uvzk_future_t *handle,
                             const uvzk_acquire_options_t *options,
                             uvzk_hold_lost_cb lost_cb)
{
    struct uvzk__future *future;
    int status = lost_cb == NULL
                     ? uvzk__refuse(UV_EINVAL, "lost_cb is NULL")
                     : uvzk__future_new(handle, &kind, sizeof(struct acquiring), &future);

    if (status != 0) {
        return status;
    }
    struct acquiring *acquiring = UVZK__CONTAINER_OF(future, struct acquiring, future);
    acquiring->hold.data = handle;
    acquiring->lost_cb = lost_cb;
    status = uvzk_lock_acquire(lock, &acquiring->hold, options, of_acquire_acquired,
                               of_acquire_lost);
    return uvzk__future_begun(future, uvzk__lock_session(lock), status);
}

uvzk_hold_t *uvzk_future_hold(const uvzk_future_t *handle)
{
    struct uvzk__future *future = uvzk__future_done(handle, &kind);

    return future != NULL && of_acquire_holds(future)
               ? &UVZK__CONTAINER_OF(future, struct acquiring, future)->hold
               : NULL;
}
