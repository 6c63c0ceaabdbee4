/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-14, 107, 654: each wait that is given up leaves a watch on its predecessor,
 * and they add up for as long as the predecessor stands. */
#include "world.h"

#define SEEDS 4U

static struct world world;
static struct process a, b;
static struct hold held, waits;

enum end { CANCEL, DEADLINE, CLOSE_MUTEX, ENDS };

/* At whatever moment a wait is given up, in quiet or in an interruption, no watch of
 * it is left at the client or the server. */
static void check(void *const *state, uint64_t seed, enum end end, uint64_t steps,
                  bool interrupted)
{
    world_begin_two(&world, seed, state, &a, &b);
    world_note(&world, "end %d after %d steps", (int)end, (int)steps);
    hold_take(&held, &a);
    assert_true(process_await_connected(&b, 1000));
    size_t usual = sim_watch_count(world.sim); /* the holder's own */
    hold_begin(&waits, &b, end == DEADLINE ? 1 + 3 * (int64_t)steps : UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    if (interrupted) {
        sim_disconnect(b.port, SIM_RESET, 500);
    }
    if (end == CANCEL) {
        hold_cancel(&waits);
    } else if (end == CLOSE_MUTEX) {
        process_close_mutex(&b);
    }
    assert_true(world_await(&world, &waits.answered, 500));
    assert_true(waits.status < 0);
    world_run_for(&world, 1500);
    assert_int_equal(process_watches(&b), 0);
    assert_int_equal(sim_armed(b.port), 0);
    assert_int_equal(sim_watch_count(world.sim), usual);
    assert_int_equal(held.lost, 0);
    hold_give_back(&held);
    world_end(&world);
}

static void no_watch_is_left(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (uint64_t steps = 0; steps < 30; steps++) {
            check(state, steps, end, steps, false);
            check(state, steps, end, steps, true);
        }
    }
}

/* Many come and go while the predecessor stays: nothing adds up, and the one who is
 * still there is woken all the same. */
static void they_do_not_add_up(uint64_t seed, void *const *state)
{
    struct hold stays, goes[60];

    world_begin_queued(&world, seed, state, &a, &held, &b, &goes[0]);
    world_run_for(&world, 200);
    hold_begin(&stays, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 200);
    size_t usual = sim_watch_count(world.sim);
    for (size_t i = 1; i < 60; i++) {
        hold_begin(&goes[i], &b, i % 3 == 0 ? UVZK_TRY_ONCE : (int64_t)(5 * i));
    }
    world_run_for(&world, 1000);
    hold_cancel(&goes[0]); /* it set the watch */
    world_run_for(&world, 1000);
    assert_in_range(sim_watch_count(world.sim), 1, usual);
    assert_int_equal(stays.answered, 0);
    hold_give_back(&held);
    hold_acquire_release(&stays, 1000);
    assert_int_equal(sim_watch_count(world.sim), 0);
    world_end(&world);
}

/* A predecessor that goes before it can be watched leaves no watch on a znode that
 * does not exist. */
static void no_watch_on_what_is_gone(uint64_t seed, void *const *state)
{
    for (uint64_t steps = 0; steps < 24; steps++) {
        world_begin_queued(&world, seed, state, &a, &held, &b, &waits);
        world_steps(&world, steps);
        hold_give_back(&held);
        hold_acquire_release(&waits, 3000);
        world_run_for(&world, 200);
        assert_int_equal(sim_watch_count(world.sim), 0);
        assert_int_equal(sim_armed(a.port) + sim_armed(b.port), 0);
        world_end(&world);
    }
}

/* A znode that may not be deleted stays for a while; no watch stays on it. */
static void no_watch_on_what_may_not_be_deleted(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    hold_take(&held, &a);
    size_t usual = sim_watch_count(world.sim);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    sim_refuse(world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
    hold_cancel(&waits);
    world_run_for(&world, 200);
    assert_int_equal(world_queue_length(&world), 2);
    assert_int_equal(sim_armed(b.port), 0);
    assert_int_equal(sim_watch_count(world.sim), usual);
    hold_give_back(&held);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(no_watch_is_left),
        WORLD_SCENARIO(they_do_not_add_up, 1, SEEDS),
        WORLD_SCENARIO(no_watch_on_what_is_gone, 1, SEEDS),
        WORLD_SCENARIO(no_watch_on_what_may_not_be_deleted, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
