/* CURATOR-14, 107 for lock drivers: a watch that is set by exists() stays on a znode
 * that has gone before, and one more of them with each wait. Here a wait sets its watch
 * by a get, all waits of a client for one znode share one watch, and it goes with the
 * last of them. */
#include "scene.h"

#include "drivers.h"

#define STEPS 40U
#define WAITS 60U

enum kind { EXCLUSIVE, LEASES, KINDS };

static void begin(struct scene *scene, uint64_t seed, void *const *state,
                  struct process *a, struct process *b, enum kind kind)
{
    uvzk_lock_driver_t driver;

    if (kind == EXCLUSIVE) {
        exclusive_driver(&driver);
    } else {
        n_leases_driver(&driver, 1);
    }
    scene_begin_two(scene, seed, state, a, b);
    process_drive(a, &driver);
    process_drive(b, &driver);
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
            struct scene scene;
            struct process a, b;
            struct claim held, next;

            begin(&scene, steps, state, &a, &b, kind);
            claim_take(&held, &a);
            claim_begin(&next, &b, UVZK_WAIT_FOREVER);
            scene_steps(&scene, steps);
            claim_give_back(&held);
            claim_await(&next, 3000);
            scene_run_for(&scene, 200);
            assert_int_equal(sim_watch_count(scene.sim), watches_of_a_holder(kind));
            claim_give_back(&next);
            scene_run_for(&scene, 200);
            assert_int_equal(sim_watch_count(scene.sim), 0);
            assert_int_equal(sim_armed(a.port) + sim_armed(b.port), 0);
            scene_end(&scene);
        }
    }
}

/* Waits come and go while the holder stays, and one of them stays. */
static void they_do_not_add_up(void **state)
{
    for (enum kind kind = EXCLUSIVE; kind < KINDS; kind++) {
        struct scene scene;
        struct process a, b;
        struct claim held, stays, goes[WAITS];

        begin(&scene, 7, state, &a, &b, kind);
        claim_take(&held, &a);
        claim_begin(&stays, &b, UVZK_WAIT_FOREVER);
        scene_run_for(&scene, 500);
        size_t usual = sim_watch_count(scene.sim);
        assert_int_equal(usual, watches_of_a_holder(kind) + 1);
        for (size_t i = 0; i < WAITS; i++) {
            claim_begin(&goes[i], &b, i % 3 == 0 ? UVZK_TRY_ONCE : 1 + 5 * (int64_t)i);
            scene_run_for(&scene, i);
        }
        scene_run_for(&scene, 1000);
        assert_int_equal(sim_watch_count(scene.sim), usual);
        assert_int_equal(stays.acquired, 0);
        assert_int_equal(uvzk_hold_cancel(&stays.request), 0);
        scene_run_for(&scene, 1000);
        assert_int_equal(sim_watch_count(scene.sim), watches_of_a_holder(kind));
        assert_int_equal(sim_armed(b.port), 0);
        claim_give_back(&held);
        scene_end(&scene);
    }
}

/* Handed round for long, the lock costs no more watches than at first. */
static void the_count_does_not_grow(void **state)
{
    for (enum kind kind = EXCLUSIVE; kind < KINDS; kind++) {
        struct scene scene;
        struct process a, b;
        struct claim claims[WAITS];

        begin(&scene, 11, state, &a, &b, kind);
        claim_take(&claims[0], &a);
        for (size_t i = 1; i < WAITS; i++) {
            claim_begin(&claims[i], i % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
            scene_run_for(&scene, 300);
            assert_int_equal(sim_watch_count(scene.sim), watches_of_a_holder(kind) + 1);
            claim_give_back(&claims[i - 1]);
            claim_await(&claims[i], 3000);
        }
        claim_give_back(&claims[WAITS - 1]);
        scene_run_for(&scene, 300);
        assert_int_equal(sim_watch_count(scene.sim), 0);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(no_watch_on_what_is_gone),
        SCENE_TEST(they_do_not_add_up),
        SCENE_TEST(the_count_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
