/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's Locker: acquire the lock, run the user's function, release the lock. It uses
 * only public functions, so it works with every recipe. unlocked_cb runs once in any
 * case.
 *
 *   pending --> locked_cb --> uvzk_locker_done --> released --> unlocked_cb
 *      |            |                                               ^
 *      `- refused --+- lost ----------------------------------------' */
#include "base/list.h"
#include "base/memory.h"
#include "base/refusal.h"
#include "uvzk.h"

struct locker {
    uvzk_locker_locked_cb locked_cb;
    uvzk_locker_unlocked_cb unlocked_cb;
};

/* The last callback: refused, lost or released. */
static void locker_over(uvzk_hold_t *hold, int status)
{
    uvzk_locker_t *handle = UVZK__CONTAINER_OF(hold, uvzk_locker_t, hold);
    struct locker *locker = handle->impl;
    uvzk_locker_unlocked_cb unlocked_cb = locker->unlocked_cb;

    handle->impl = NULL;
    /* Before the callback, which may use the handle again. */
    uvzk__free(locker);
    unlocked_cb(handle, status);
}

static void locker_acquired(uvzk_hold_t *hold, int status)
{
    uvzk_locker_t *handle = UVZK__CONTAINER_OF(hold, uvzk_locker_t, hold);
    const struct locker *locker = handle->impl;

    if (status == 0) {
        locker->locked_cb(handle);
    } else {
        locker_over(hold, status);
    }
}

int uvzk_lock_run(uvzk_lock_t *lock, uvzk_locker_t *handle,
                  const uvzk_acquire_options_t *options, uvzk_locker_locked_cb locked_cb,
                  uvzk_locker_unlocked_cb unlocked_cb)
{
    if (lock == NULL || handle == NULL || locked_cb == NULL || unlocked_cb == NULL) {
        return uvzk__refuse(UV_EINVAL, lock == NULL        ? "lock is NULL"
                                       : handle == NULL    ? "locker is NULL"
                                       : locked_cb == NULL ? "locked_cb is NULL"
                                                           : "unlocked_cb is NULL");
    }
    struct locker *locker = uvzk__calloc(1, sizeof(*locker));
    if (locker == NULL) {
        return UV_ENOMEM;
    }
    locker->locked_cb = locked_cb;
    locker->unlocked_cb = unlocked_cb;
    int status =
        uvzk_lock_acquire(lock, &handle->hold, options, locker_acquired, locker_over);
    if (status != 0) {
        uvzk__free(locker);
        return status;
    }
    /* No callback runs inside uvzk_lock_acquire, so this is early enough. */
    handle->impl = locker;
    return 0;
}

int uvzk_locker_done(uvzk_locker_t *handle)
{
    return handle == NULL ? uvzk__refuse(UV_EINVAL, "locker is NULL")
                          : uvzk_hold_release(&handle->hold, locker_over);
}
