/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_lock_run_future. The future contains the locker. */
#include "claim/lock.h"
#include "future/future.h"

struct run {
    struct uvzk__future future;
    uvzk_locker_t locker;
};

/* Cancels an acquire that is still pending. If the user's function is running, nothing is
 * done: the future is OVER when that function has finished and the lock is released. */
static bool of_run_withdraw(struct uvzk__future *future)
{
    (void)uvzk_hold_cancel(&UVZK__CONTAINER_OF(future, struct run, future)->locker.hold);
    return false;
}

static const struct uvzk__future_kind running = {.withdraw = of_run_withdraw};

static void of_run_unlocked(uvzk_locker_t *locker, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(locker, struct run, locker)->future, status);
}

int uvzk_lock_run_future(uvzk_lock_t *lock, uvzk_future_t *handle,
                         const uvzk_acquire_options_t *options,
                         uvzk_locker_locked_cb locked_cb)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(handle, &running, sizeof(struct run), &future);

    if (status != 0) {
        return status;
    }
    struct run *run = UVZK__CONTAINER_OF(future, struct run, future);
    /* locked_cb finds the future by it. */
    run->locker.data = handle;
    status = uvzk_lock_run(lock, &run->locker, options, locked_cb, of_run_unlocked);
    return uvzk__future_begun(future, uvzk__lock_session(lock), status);
}
