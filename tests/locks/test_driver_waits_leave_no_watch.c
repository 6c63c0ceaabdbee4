/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-14, 107 for lock drivers: a watch that is set by exists() stays on a znode
 * that has gone before, and one more of them with each wait. Here a wait sets its watch
 * by a get, all waits of a client for one znode share one watch, and it goes with the
 * last of them. */
#include "world.h"

#include "drivers.h"

#define STEPS 40U
#define WAITS 60U

enum kind { EXCLUSIVE, LEASES, KINDS };

static struct world world;
static struct process a, b;
static struct hold held, next;

static void begin(uint64_t seed, void *const *state, enum kind kind)
{
    uvzk_lock_driver_t driver;

    if (kind == EXCLUSIVE) {
        exclusive_driver(&driver);
    } else {
        n_leases_driver(&driver, 1);
    }
    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, &driver), 0);
    assert_int_equal(process_drive(&b, &driver), 0);
}

/* A holder of the fixed name watches its own znode. */
static size_t watches_of_a_holder(enum kind kind)
{
    return kind == EXCLUSIVE ? 1 : 0;
}

/* The holder goes at any moment of the waiter's way to its watch. */
static void no_watch_on_what_is_gone(void **state)
{
    for (enum kind kind = EXCLUSIVE; kind < KINDS; kind++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            begin(steps, state, kind);
            hold_take(&held, &a);
            hold_begin(&next, &b, UVZK_WAIT_FOREVER);
            world_steps(&world, steps);
            hold_give_back(&held);
            hold_await(&next, 3000);
            world_run_for(&world, 200);
            assert_int_equal(sim_watch_count(world.sim), watches_of_a_holder(kind));
            hold_give_back(&next);
            world_run_for(&world, 200);
            assert_int_equal(sim_watch_count(world.sim), 0);
            assert_int_equal(sim_armed(a.port) + sim_armed(b.port), 0);
            world_end(&world);
        }
    }
}

/* Waits come and go while the holder stays, and one of them stays. */
static void they_do_not_add_up(void **state)
{
    for (enum kind kind = EXCLUSIVE; kind < KINDS; kind++) {
        struct hold stays, goes[WAITS];

        begin(7, state, kind);
        hold_take(&held, &a);
        hold_begin(&stays, &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, 500);
        size_t usual = sim_watch_count(world.sim);
        assert_int_equal(usual, watches_of_a_holder(kind) + 1);
        for (size_t i = 0; i < WAITS; i++) {
            hold_begin(&goes[i], &b, i % 3 == 0 ? UVZK_TRY_ONCE : 1 + 5 * (int64_t)i);
            world_run_for(&world, i);
        }
        world_run_for(&world, 1000);
        assert_int_equal(sim_watch_count(world.sim), usual);
        assert_int_equal(stays.answered, 0);
        hold_cancel(&stays);
        world_run_for(&world, 1000);
        assert_int_equal(sim_watch_count(world.sim), watches_of_a_holder(kind));
        assert_int_equal(sim_armed(b.port), 0);
        hold_give_back(&held);
        world_end(&world);
    }
}

/* Handed round for long, the lock costs no more watches than at first. */
static void the_count_does_not_grow(void **state)
{
    for (enum kind kind = EXCLUSIVE; kind < KINDS; kind++) {
        struct hold holds[WAITS];

        begin(11, state, kind);
        hold_take(&holds[0], &a);
        for (size_t i = 1; i < WAITS; i++) {
            hold_begin(&holds[i], i % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
            world_run_for(&world, 300);
            assert_int_equal(sim_watch_count(world.sim), watches_of_a_holder(kind) + 1);
            hold_give_back(&holds[i - 1]);
            hold_await(&holds[i], 3000);
        }
        hold_give_back(&holds[WAITS - 1]);
        world_run_for(&world, 300);
        assert_int_equal(sim_watch_count(world.sim), 0);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(no_watch_on_what_is_gone),
        WORLD_TEST(they_do_not_add_up),
        WORLD_TEST(the_count_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
