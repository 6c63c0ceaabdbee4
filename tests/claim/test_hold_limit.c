/* SPDX-License-Identifier: Apache-2.0 */
/* The longest hold: options.max_hold_ms, and the default of a lock.
 *
 *   granted ── warned ── lost, and told so ── the znode is deleted ── granted to another
 *
 * Nobody else is granted the lock before the lost callback has returned, and no copy of
 * valid_until outlives the limit. */
#include "world.h"

#include <string.h>

#define MAX_HOLD_MS 3000
#define WARNING_MS 1000U
#define GRANTED_WITHIN_MS 2000U
#define LATE_MS 5U /* of an alarm */
#define OWNER ((void *)&world_plain)
#define SEEDS 6U

/* What the warning callback of a hold has told. */
struct warning {
    int count;
    uint64_t at_ms, ends_at;
};

static struct world world;
static struct process a, b;
static struct hold held, other, again;
static struct warning warnings[2];

static void on_warning(uvzk_hold_t *request, uint64_t ends_at)
{
    const struct hold *hold = request->data;
    struct warning *warning = &warnings[hold == &again];

    assert_true(hold_holds(hold));
    warning->count++;
    warning->at_ms = world_now(&world);
    warning->ends_at = ends_at;
}

static uvzk_acquire_options_t limited(int64_t max_hold_ms, uint64_t warning_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = OWNER;
    options.max_hold_ms = max_hold_ms;
    options.max_hold_warning_ms = warning_ms;
    options.max_hold_cb = on_warning;
    return options;
}

static void take(struct hold *hold, int64_t max_hold_ms, uint64_t warning_ms)
{
    uvzk_acquire_options_t options = limited(max_hold_ms, warning_ms);

    assert_int_equal(hold_ask(hold, &a, NULL, &options), 0);
    hold_await(hold, GRANTED_WITHIN_MS);
}

static void begin(uint64_t seed, void *const *state)
{
    memset(warnings, 0, sizeof(warnings));
    world_begin_ready(&world, seed, state, &a, &b);
    take(&held, MAX_HOLD_MS, WARNING_MS);
}

static void lost_at_the_limit(struct hold *hold, uint64_t granted_ms)
{
    hold_await_lost(hold, 2 * MAX_HOLD_MS, UVZK_EMAXHOLD);
    assert_in_range(hold->lost_ms, granted_ms + MAX_HOLD_MS,
                    granted_ms + MAX_HOLD_MS + LATE_MS);
}

/* ------------------------------------------------------------- one after the other */

static uint64_t deletes; /* that the holder's client has sent before the end */

/* In the lost callback: no delete has been sent, and nobody has been granted the lock. */
static void nobody_else_yet(struct hold *hold)
{
    if (hold->lost > 0) {
        assert_true(sim_exists(world.sim, hold->path));
        assert_int_equal(process_metrics(&a).deletes, deletes);
        assert_int_equal(other.answered, 0);
        assert_false(uvzk_lock_is_held(&a.mutex));
        assert_false(uvzk_lock_is_held_by(&a.mutex, OWNER));
    }
}

/* a, then a waiter of another client, or of the same one. */
static void it_is_told_before_another_is_granted(uint64_t seed, void *const *state)
{
    for (int local = 0; local < 2; local++) {
        begin(seed, state);
        held.hook = nobody_else_yet;
        hold_begin(&other, local ? &a : &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, WARNING_MS);
        deletes = process_metrics(&a).deletes;
        lost_at_the_limit(&held, held.answered_ms);
        hold_await(&other, GRANTED_WITHIN_MS);
        assert_true(other.token > held.token);
        assert_int_equal(warnings[0].count, 1);
        assert_int_equal(warnings[0].ends_at, held.answered_ms + MAX_HOLD_MS);
        assert_in_range(warnings[0].at_ms, warnings[0].ends_at - WARNING_MS,
                        warnings[0].ends_at - WARNING_MS + LATE_MS);
        world_release_and_end(&world);
    }
}

/* A callback between the end of the limit and the lost callback takes its time; it asks
 * the server who is there. */
static void other_callbacks_do_not_come_between(uint64_t seed, void *const *state)
{
    begin(seed, state);
    take(&again, MAX_HOLD_MS, WARNING_MS);
    held.hook = again.hook = nobody_else_yet;
    hold_begin(&other, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, WARNING_MS);
    deletes = process_metrics(&a).deletes;
    lost_at_the_limit(&held, held.answered_ms);
    lost_at_the_limit(&again, held.answered_ms);
    hold_await(&other, GRANTED_WITHIN_MS);
    world_release_and_end(&world);
}

static void it_is_not_valid_beyond_the_limit(uint64_t seed, void *const *state)
{
    begin(seed, state);
    uint64_t end = held.answered_ms + MAX_HOLD_MS;

    while (held.lost == 0) {
        uint64_t now = world_now(&world);
        assert_true(uvzk_hold_valid_until(&held.request) <= end);
        assert_int_equal(uvzk_hold_is_valid(&held.request), now < end);
        assert_int_equal(uvzk_lock_is_held(&a.mutex), now < end);
        assert_int_equal(uvzk_lock_is_held_by(&a.mutex, OWNER), now < end);
        world_run_for(&world, 1);
    }
    world_end(&world);
}

/* --------------------------------------------------------------------- the owner */

static void a_re_entry_does_not_move_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, MAX_HOLD_MS / 2);
    take(&again, 10 * MAX_HOLD_MS, 1);
    lost_at_the_limit(&again, held.answered_ms);
    assert_int_equal(held.lost, 1);
    assert_int_equal(warnings[0].count + warnings[1].count, 2);
    world_end(&world);
}

static void a_late_re_entry_is_warned_at_once(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, MAX_HOLD_MS - WARNING_MS / 2);
    assert_int_equal(warnings[0].count, 1);
    take(&again, 0, 0);
    world_run_for(&world, 1);
    assert_int_equal(warnings[1].count, 1);
    assert_int_equal(warnings[1].ends_at, warnings[0].ends_at);
    lost_at_the_limit(&again, held.answered_ms);
    world_end(&world);
}

static void it_outlives_the_acquire_that_has_set_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    take(&again, 0, 0);
    hold_give_back(&held);
    lost_at_the_limit(&again, held.answered_ms);
    assert_int_equal(warnings[0].count, 0);
    assert_int_equal(warnings[1].count, 1);
    world_end(&world);
}

static void a_release_in_time_ends_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, MAX_HOLD_MS - WARNING_MS / 2);
    hold_give_back(&held);
    take(&again, 0, 0);
    world_run_for(&world, 2 * MAX_HOLD_MS);
    assert_true(uvzk_hold_is_valid(&again.request));
    assert_int_equal(warnings[0].count + warnings[1].count, 1);
    hold_give_back(&again);
    world_end(&world);
}

/* Another loss comes first: the limit has nothing more to say. */
static void a_loss_before_it_ends_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_expire(&a);
    hold_await_lost(&held, 2 * WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    world_run_for(&world, 2 * MAX_HOLD_MS);
    assert_int_equal(warnings[0].count, 0);
    world_end(&world);
}

/* ------------------------------------------------------------------ a loop that is late */

static uint64_t (*clock_of_the_port)(struct uvzk__port *);

static uint64_t clock_at_the_limit(struct uvzk__port *port)
{
    return clock_of_the_port(port) + MAX_HOLD_MS;
}

/* In a callback that began before the limit and is here after it. */
static void acquire_after_the_limit(struct hold *hold)
{
    struct uvzk__port *port = a.port;
    uvzk_acquire_options_t options = limited(0, 0);

    hold->hook = NULL;
    clock_of_the_port = port->now;
    port->now = clock_at_the_limit;
    assert_false(uvzk_hold_is_valid(&held.request));
    assert_int_equal(hold_ask(&again, &a, NULL, &options), 0);
    assert_int_equal(held.lost, 0); /* not from inside a call */
}

/* The owner's new acquire joins no hold whose time is over: it ends with that hold. */
static void a_hold_that_is_over_is_not_joined(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_begin(&other, &a, UVZK_TRY_ONCE); /* its refusal is the callback */
    other.hook = acquire_after_the_limit;
    hold_await_status(&other, 100, UV_ETIMEDOUT);
    hold_await_status(&again, 100, UVZK_EMAXHOLD);
    hold_await_lost(&held, 100, UVZK_EMAXHOLD);
    world_end(&world);
}

/* Two acquires of one owner are granted in one turn, and the callback of the first takes
 * longer than the limit. */
static void jump(struct hold *hold)
{
    hold->hook = NULL;
    clock_of_the_port = a.port->now;
    a.port->now = clock_at_the_limit;
}

static void a_grant_that_is_over_is_not_told(uint64_t seed, void *const *state)
{
    uvzk_acquire_options_t options = limited(MAX_HOLD_MS, 0);

    memset(warnings, 0, sizeof(warnings));
    world_begin_one(&world, seed, state, &a);
    assert_int_equal(hold_ask(&held, &a, NULL, &options), 0);
    held.hook = jump;
    assert_int_equal(hold_ask(&again, &a, NULL, &options), 0);
    hold_await(&held, GRANTED_WITHIN_MS);
    hold_await_status(&again, 100, UVZK_EMAXHOLD);
    hold_await_lost(&held, 100, UVZK_EMAXHOLD);
    world_end(&world);
}

/* --------------------------------------------------------------- the default of a lock */

static void the_lock_has_a_default(uint64_t seed, void *const *state)
{
    memset(warnings, 0, sizeof(warnings));
    world_begin_ready(&world, seed, state, &a, &b);
    assert_int_equal(uvzk_lock_set_max_hold(&a.mutex, MAX_HOLD_MS, WARNING_MS), 0);
    take(&held, 0, 0);
    lost_at_the_limit(&held, held.answered_ms);
    assert_in_range(warnings[0].at_ms, held.answered_ms + MAX_HOLD_MS - WARNING_MS,
                    held.answered_ms + MAX_HOLD_MS - WARNING_MS + LATE_MS);
    take(&held, UVZK_HOLD_UNLIMITED, 0);
    world_run_for(&world, 2 * MAX_HOLD_MS);
    assert_true(uvzk_hold_is_valid(&held.request));
    hold_give_back(&held);
    assert_int_equal(uvzk_lock_set_max_hold(&a.mutex, 0, 0), 0);
    take(&held, 0, 0);
    world_run_for(&world, 2 * MAX_HOLD_MS);
    assert_true(uvzk_hold_is_valid(&held.request));
    hold_give_back(&held);
    world_end(&world);
}

/* Without a time of its own, the warning comes when a quarter is left. With one that is
 * longer than the hold, it comes at once. */
static void the_warning_has_a_default(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    memset(warnings, 0, sizeof(warnings));
    take(&held, MAX_HOLD_MS, 0);
    lost_at_the_limit(&held, held.answered_ms);
    assert_in_range(warnings[0].at_ms, held.answered_ms + MAX_HOLD_MS * 3 / 4,
                    held.answered_ms + MAX_HOLD_MS * 3 / 4 + LATE_MS);
    take(&held, MAX_HOLD_MS, 2 * MAX_HOLD_MS);
    assert_in_range(warnings[0].at_ms, 0, held.answered_ms + LATE_MS);
    lost_at_the_limit(&held, held.answered_ms);
    assert_int_equal(warnings[0].count, 2);
    world_end(&world);
}

static void what_is_refused(uint64_t seed, void *const *state)
{
    uvzk_acquire_options_t options = limited(-2, 0);
    uvzk_lock_t none = {.impl = NULL};

    world_begin_one(&world, seed, state, &a);
    assert_int_equal(hold_ask(&held, &a, NULL, &options), UV_EINVAL);
    assert_int_equal(uvzk_lock_set_max_hold(NULL, 1, 0), UV_EINVAL);
    assert_int_equal(uvzk_lock_set_max_hold(&none, 1, 0), UVZK_ECLOSED);
    process_close_mutex(&a);
    assert_int_equal(uvzk_lock_set_max_hold(&a.mutex, 1, 0), UVZK_ECLOSED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(it_is_told_before_another_is_granted, 1, SEEDS),
        WORLD_SCENARIO(other_callbacks_do_not_come_between, 1, SEEDS),
        WORLD_SCENARIO(it_is_not_valid_beyond_the_limit, 1, SEEDS),
        WORLD_SCENARIO(a_re_entry_does_not_move_it, 1, SEEDS),
        WORLD_SCENARIO(a_late_re_entry_is_warned_at_once, 1, SEEDS),
        WORLD_SCENARIO(it_outlives_the_acquire_that_has_set_it, 1, SEEDS),
        WORLD_SCENARIO(a_release_in_time_ends_it, 1, SEEDS),
        WORLD_SCENARIO(a_loss_before_it_ends_it, 1, SEEDS),
        WORLD_SCENARIO(a_hold_that_is_over_is_not_joined, 1, SEEDS),
        WORLD_SCENARIO(a_grant_that_is_over_is_not_told, 1, SEEDS),
        WORLD_SCENARIO(the_lock_has_a_default, 1, SEEDS),
        WORLD_SCENARIO(the_warning_has_a_default, 1, SEEDS),
        WORLD_SCENARIO(what_is_refused, 1, 1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
