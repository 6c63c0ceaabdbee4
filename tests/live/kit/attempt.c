#include "attempt.h"
#include <stdatomic.h>

#include <string.h>

#include "run_loop.h"

static atomic_int grants, ends; /* of all loops of the process */

static struct attempt *attempt_of(uvzk_hold_t *hold)
{
    return hold->data;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct attempt *attempt = attempt_of(hold);
    attempt->released++;
    attempt->release_status = status;
    attempt->ended_turn = ++ends;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct attempt *attempt = attempt_of(hold);
    attempt->lost++;
    attempt->lost_reason = reason;
    attempt->ended_turn = ++ends;
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct attempt *attempt = attempt_of(hold);
    attempt->queued++;
    attempt->ahead = ahead;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct attempt *attempt = attempt_of(hold);
    attempt->acquired++;
    attempt->status = status;
    if (status != 0) {
        attempt->ended_turn = ++ends;
        return;
    }
    attempt->granted_turn = ++grants;
    attempt->token = uvzk_hold_token(hold);
    if (attempt->release_at_once) {
        attempt_release(attempt);
    }
}

int attempt_start(struct attempt *attempt, uvzk_mutex_t *mutex,
                  const uvzk_acquire_options_t *options)
{
    uvzk_acquire_options_t settings;
    bool release_at_once = attempt->release_at_once;
    if (options != NULL) {
        settings = *options;
    } else {
        uvzk_acquire_options_init(&settings);
    }
    settings.queued_cb = on_queued;
    memset(attempt, 0, sizeof(*attempt));
    attempt->release_at_once = release_at_once;
    attempt->status = ATTEMPT_UNTOLD;
    attempt->lost_reason = ATTEMPT_UNTOLD;
    attempt->release_status = ATTEMPT_UNTOLD;
    attempt->request.data = attempt;
    return uvzk_lock_acquire(mutex, &attempt->request, &settings, on_acquired, on_lost);
}

int attempt_start_for(struct attempt *attempt, uvzk_mutex_t *mutex, void *owner)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.owner = owner;
    return attempt_start(attempt, mutex, &options);
}

int attempt_start_within(struct attempt *attempt, uvzk_mutex_t *mutex, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_ms;
    return attempt_start(attempt, mutex, &options);
}

int attempt_release(struct attempt *attempt)
{
    return uvzk_hold_release(&attempt->request, on_released);
}

bool attempt_wait_granted(uv_loop_t *loop, struct attempt *attempt)
{
    return attempt_wait_told(loop, attempt) && attempt->status == 0;
}

bool attempt_wait_queued(uv_loop_t *loop, struct attempt *attempt)
{
    return run_until_count(loop, &attempt->queued, 1);
}

bool attempt_wait_told(uv_loop_t *loop, struct attempt *attempt)
{
    return run_until_count(loop, &attempt->acquired, 1);
}

bool attempt_wait_lost(uv_loop_t *loop, struct attempt *attempt)
{
    return run_until_count(loop, &attempt->lost, 1);
}

bool attempt_wait_released(uv_loop_t *loop, struct attempt *attempt)
{
    return run_until_count(loop, &attempt->released, 1);
}

bool attempt_release_and_wait(uv_loop_t *loop, struct attempt *attempt)
{
    return attempt_release(attempt) == 0 && attempt_wait_released(loop, attempt) &&
           attempt->release_status == 0;
}

bool attempt_holds(const struct attempt *attempt)
{
    return attempt->status == 0 && attempt->lost == 0 && attempt->released == 0;
}

bool attempt_is_over(const struct attempt *attempt)
{
    if (attempt->acquired != 1) {
        return false;
    }
    return attempt->lost + attempt->released == (attempt->status == 0 ? 1 : 0);
}
