/* The futures of calls on a lock: participants, run and close. Acquiring is in
 * of_acquire.c. */
#include <string.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "claim/lock.h"
#include "future/future.h"

/* --------------------------------------------------------------- participants */

struct participants_result {
    struct uvzk__future future;
    uvzk_req_t request;
    const char **paths; /* one allocation: the pointers, then the texts */
    size_t count, holding;
};

static struct participants_result *participants_result_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct participants_result, future);
}

static void free_paths(struct uvzk__future *future)
{
    uvzk__free(participants_result_of(future)->paths);
}

static const struct uvzk__future_kind participants = {.freed = free_paths};

/* Copies the paths, which the callback only borrows, into one allocation. NULL: out of
 * memory. */
static const char **copy_paths(const char *const *paths, size_t count)
{
    size_t size = count * sizeof(paths[0]) + 1; /* not 0 even without paths */

    for (size_t i = 0; i < count; i++) {
        size += strlen(paths[i]) + 1;
    }
    const char **copy = uvzk__malloc(size);
    char *text = copy == NULL ? NULL : (char *)(copy + count);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        size_t length = strlen(paths[i]) + 1;
        copy[i] = memcpy(text, paths[i], length);
        text += length;
    }
    return copy;
}

static void told(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct participants_result *result =
        UVZK__CONTAINER_OF(request, struct participants_result, request);

    if (status == 0) {
        result->paths = copy_paths(paths, count);
        result->count = count;
        result->holding = request->result->holding;
        status = result->paths == NULL ? UV_ENOMEM : 0;
    }
    uvzk__future_over(&result->future, status);
}

int uvzk_lock_participants_future(uvzk_lock_t *lock, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &participants,
                                  sizeof(struct participants_result), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_lock_participants(lock, &participants_result_of(future)->request, told);
    return uvzk__future_begun(future, uvzk__lock_session(lock), status);
}

int uvzk_future_participants(const uvzk_future_t *shell, const char *const **paths,
                             size_t *count, size_t *holding)
{
    struct uvzk__future *future = uvzk__future_done(shell, &participants);

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    if (future == NULL) {
        return uvzk__refuse(UVZK_ESTATE,
                            "future: not of a list of participants that has succeeded");
    }
    if (paths != NULL) {
        *paths = participants_result_of(future)->paths;
    }
    if (count != NULL) {
        *count = participants_result_of(future)->count;
    }
    if (holding != NULL) {
        *holding = participants_result_of(future)->holding;
    }
    return 0;
}

/* ------------------------------------------------------------------------ run */

struct run {
    struct uvzk__future future;
    uvzk_locker_t locker;
};

/* Cancels an acquire that is still pending. If the user's function is running, nothing is
 * done: the future is OVER when that function has finished and the lock is released. */
static bool withdraw(struct uvzk__future *future)
{
    (void)uvzk_hold_cancel(&UVZK__CONTAINER_OF(future, struct run, future)->locker.hold);
    return false;
}

static const struct uvzk__future_kind running = {.withdraw = withdraw};

static void unlocked(uvzk_locker_t *locker, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(locker, struct run, locker)->future, status);
}

int uvzk_lock_run_future(uvzk_lock_t *lock, uvzk_future_t *shell,
                         const uvzk_acquire_options_t *options,
                         uvzk_locker_locked_cb locked_cb)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &running, sizeof(struct run), &future);

    if (status != 0) {
        return status;
    }
    struct run *run = UVZK__CONTAINER_OF(future, struct run, future);
    /* locked_cb finds the future by it. */
    run->locker.data = shell;
    status = uvzk_lock_run(lock, &run->locker, options, locked_cb, unlocked);
    return uvzk__future_begun(future, uvzk__lock_session(lock), status);
}

/* ---------------------------------------------------------------------- close */

static void closed(uvzk_lock_t *lock)
{
    uvzk__future_over(lock->end_future, 0);
}

int uvzk_lock_close_future(uvzk_lock_t *lock, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_lock_close(lock, closed);
    if (status == 0) {
        lock->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__lock_session(lock), status);
}
