/* SPDX-License-Identifier: Apache-2.0 */
/* In some histories, holds have a max_hold_ms. Its choices come from random numbers of
 * their own, so that the other histories are what they were. Checked:
 *
 *   early    nobody loses a hold by its limit before that is over, or without one
 *   warned   once at most, while it holds, and the hold is not valid beyond */
#include <inttypes.h>

#include "history_parts.h"

#define MAX_HOLD_MS 4000U
#define WARNING_MS 1500U

static bool is_first(const struct acquisition *acquisition)
{
    return acquisition == &acquisition->worker->acquisitions[0];
}

static uint64_t clock_of(const struct acquisition *acquisition)
{
    return history_transport.clock(acquisition->worker->slot->port);
}

void hold_limits_begin(struct history *history, uint64_t seed)
{
    history->limit_random.state = ~seed;
    history->hold_limits = seeded_below(&history->limit_random, 4) == 0;
}

static void on_max_hold(uvzk_hold_t *hold, uint64_t ends_at)
{
    struct acquisition *acquisition = hold->data;
    struct history *history = acquisition->worker->history;

    if (hold != acquisition->request || acquisition->state != HOLDING ||
        acquisition->warned) {
        history_fail(history, "warned of the end of what it does not hold, or again");
    }
    acquisition->warned = true;
    if (uvzk_hold_valid_until(hold) > ends_at) {
        history_fail(history, "valid for longer than its limit");
    }
}

/* One in three has a limit. The re-entry of a hold has one in vain. */
void hold_limit_choose(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;

    acquisition->max_hold_ms = 0;
    acquisition->warned = false;
    if (!history->hold_limits || seeded_below(&history->limit_random, 3) != 0) {
        return;
    }
    acquisition->max_hold_ms = 1 + seeded_below(&history->limit_random, MAX_HOLD_MS);
    options->max_hold_ms = (int64_t)acquisition->max_hold_ms;
    options->max_hold_warning_ms = seeded_below(&history->limit_random, WARNING_MS);
    options->max_hold_cb = on_max_hold;
}

void hold_limit_granted(struct acquisition *acquisition)
{
    acquisition->granted_ms = clock_of(acquisition);
}

void hold_limit_lost(const struct acquisition *acquisition, int reason)
{
    struct history *history = acquisition->worker->history;
    uint64_t held_ms = clock_of(acquisition) - acquisition->granted_ms;

    if (reason != UVZK_EMAXHOLD) {
        return;
    }
    history->result->given_back++;
    if (!history->hold_limits ||
        (is_first(acquisition) && acquisition->max_hold_ms == 0)) {
        history_fail(history, "given back without a limit");
    }
    if (is_first(acquisition) && held_ms < acquisition->max_hold_ms) {
        history_fail(history, "given back after %" PRIu64 " of %" PRIu64 " ms", held_ms,
                     acquisition->max_hold_ms);
    }
}

/* The owner's hold, which it was to re-enter, or has re-entered in part, was given back. */
bool hold_limit_may_refuse(const struct acquisition *acquisition)
{
    return acquisition->worker->history->hold_limits && !is_first(acquisition);
}
