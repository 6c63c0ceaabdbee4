/* CURATOR-14, 107, 654: each wait that is given up leaves a watch on its predecessor,
 * and they add up for as long as the predecessor stands. */
#include "scene.h"

#define SEEDS 4U

enum end { CANCEL, DEADLINE, CLOSE_MUTEX, ENDS };

/* At whatever moment a wait is given up, in quiet or in an interruption, no watch of
 * it is left at the client or the server. */
static void check(void *const *state, uint64_t seed, enum end end, uint64_t steps,
                  bool interrupted)
{
    struct scene scene;
    struct process a, b;
    struct claim held, waits;
    uvzk_client_stats_t stats;

    scene_begin_two(&scene, seed, state, &a, &b);
    sim_note(scene.sim, "end %d after %d steps", (int)end, (int)steps);
    claim_take(&held, &a);
    assert_true(process_await_connected(&b, 1000));
    size_t usual = sim_watch_count(scene.sim); /* the holder's own */
    claim_begin(&waits, &b, end == DEADLINE ? 1 + 3 * (int64_t)steps : UVZK_WAIT_FOREVER);
    scene_steps(&scene, steps);
    if (interrupted) {
        sim_disconnect(b.port, SIM_RESET, 500);
    }
    if (end == CANCEL) {
        assert_int_equal(uvzk_hold_cancel(&waits.request), 0);
    } else if (end == CLOSE_MUTEX) {
        assert_int_equal(uvzk_lock_close(&b.mutex, NULL), 0);
    }
    assert_true(scene_await(&scene, &waits.acquired, 500));
    assert_true(waits.status < 0);
    scene_run_for(&scene, 1500);
    uvzk_client_stats(&b.client, &stats);
    assert_int_equal(stats.watches, 0);
    assert_int_equal(sim_armed(b.port), 0);
    assert_int_equal(sim_watch_count(scene.sim), usual);
    assert_int_equal(held.lost, 0);
    claim_give_back(&held);
    scene_end(&scene);
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
static void they_do_not_add_up(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim held, stays, goes[60];

        scene_begin_queued(&scene, seed, state, &a, &held, &b, &goes[0]);
        scene_run_for(&scene, 200);
        claim_begin(&stays, &b, UVZK_WAIT_FOREVER);
        scene_run_for(&scene, 200);
        size_t usual = sim_watch_count(scene.sim);
        for (size_t i = 1; i < 60; i++) {
            claim_begin(&goes[i], &b, i % 3 == 0 ? UVZK_TRY_ONCE : (int64_t)(5 * i));
        }
        scene_run_for(&scene, 1000);
        assert_int_equal(uvzk_hold_cancel(&goes[0].request), 0); /* it set the watch */
        scene_run_for(&scene, 1000);
        assert_in_range(sim_watch_count(scene.sim), 1, usual);
        assert_int_equal(stays.acquired, 0);
        claim_give_back(&held);
        claim_await(&stays, 1000);
        claim_give_back(&stays);
        assert_int_equal(sim_watch_count(scene.sim), 0);
        scene_end(&scene);
    }
}

/* A predecessor that goes before it can be watched leaves no watch on a znode that
 * does not exist. */
static void no_watch_on_what_is_gone(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint64_t steps = 0; steps < 24; steps++) {
            struct scene scene;
            struct process a, b;
            struct claim held, next;

            scene_begin_queued(&scene, seed, state, &a, &held, &b, &next);
            scene_steps(&scene, steps);
            claim_give_back(&held);
            claim_await(&next, 3000);
            claim_give_back(&next);
            scene_run_for(&scene, 200);
            assert_int_equal(sim_watch_count(scene.sim), 0);
            assert_int_equal(sim_armed(a.port) + sim_armed(b.port), 0);
            scene_end(&scene);
        }
    }
}

/* A znode that may not be deleted stays until its session ends; no watch stays on it. */
static void no_watch_on_what_may_not_be_deleted(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim held, waits;

        scene_begin_two(&scene, seed, state, &a, &b);
        claim_take(&held, &a);
        size_t usual = sim_watch_count(scene.sim);
        claim_begin(&waits, &b, UVZK_WAIT_FOREVER);
        scene_run_for(&scene, 1000);
        sim_refuse(scene.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
        assert_int_equal(uvzk_hold_cancel(&waits.request), 0);
        scene_run_for(&scene, 1000);
        assert_int_equal(scene_queue_length(&scene), 2);
        assert_int_equal(sim_armed(b.port), 0);
        assert_int_equal(sim_watch_count(scene.sim), usual);
        claim_give_back(&held);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(no_watch_is_left),
        SCENE_TEST(they_do_not_add_up),
        SCENE_TEST(no_watch_on_what_is_gone),
        SCENE_TEST(no_watch_on_what_may_not_be_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
