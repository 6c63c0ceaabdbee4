/* SPDX-License-Identifier: Apache-2.0 */
/* Actors who acquire by futures: they wait for the acquire itself, or for a combination of
 * it; they release, give up or only drop what they have. */
#include <stdlib.h>

#include "history_parts.h"

struct by_future {
    uvzk_future_t acquired, whole, released;
    bool combined;
};

static uvzk_future_t *awaited(struct by_future *by)
{
    return by->combined ? &by->whole : &by->acquired;
}

static void on_acquired(uvzk_future_t *future, int status, void *context)
{
    struct acquisition *acquisition = context;

    if (future != awaited(acquisition->by_future) ||
        uvzk_future_status(future) != status) {
        history_fail(acquisition->worker->history, "told of another future");
    }
    acquisition->request = uvzk_future_hold(&acquisition->by_future->acquired);
    acquisition_answered(acquisition, status);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    uvzk_future_t *future = hold->data;

    acquisition_lost(future->data, reason);
}

static void on_released(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    acquisition_released(context, status);
}

int by_future_acquire(struct acquisition *acquisition,
                      const uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    struct by_future *by = calloc(1, sizeof(*by));
    uvzk_future_t *const parts[] = {&by->acquired};
    int status =
        uvzk_lock_acquire_future(lock_of(acquisition), &by->acquired, options, on_lost);

    acquisition->by_future = by;
    by->acquired.data = acquisition;
    if (status != 0) {
        return status;
    }
    if (chance(history, 3) == 0) {
        by->combined = true;
        if (uvzk_future_any_of(&by->whole, parts, 1) != 0) {
            history_fail(history, "a combination is refused");
        }
    }
    if (uvzk_future_then(awaited(by), on_acquired, acquisition) != 0) {
        history_fail(history, "nobody may wait for a future");
    }
    return 0;
}

bool by_future_give_up(struct acquisition *acquisition)
{
    struct by_future *by = acquisition->by_future;

    switch (chance(acquisition->worker->history, 4)) {
    case 0:
        acquisition_over(acquisition); /* drops them */
        return true;
    case 1: /* the combination fails with its part */
        return uvzk_future_cancel(&by->acquired) == 0;
    default:
        return uvzk_future_cancel(awaited(by)) == 0;
    }
}

void by_future_release(struct acquisition *acquisition)
{
    struct by_future *by = acquisition->by_future;

    if (chance(acquisition->worker->history, 3) == 0) {
        acquisition_over(acquisition);
        return;
    }
    acquisition->state = RELEASING;
    if (uvzk_hold_release(acquisition->request, NULL) != 0 ||
        uvzk_future_end(&by->released, acquisition->request) != 0 ||
        uvzk_future_then(&by->released, on_released, acquisition) != 0) {
        history_fail(acquisition->worker->history, "release refused");
    }
}

void by_future_free(struct acquisition *acquisition)
{
    struct by_future *by = acquisition->by_future;

    uvzk_future_drop(&by->acquired);
    uvzk_future_drop(&by->whole);
    uvzk_future_drop(&by->released);
    free(by);
    acquisition->by_future = NULL;
}
