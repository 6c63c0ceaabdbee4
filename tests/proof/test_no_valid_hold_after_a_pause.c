/* Curator's technical notes 10, 12 and 14: a process that was stopped for longer
 * than its session goes on believing that it holds. Here every hold says until when
 * it is valid, nobody else is granted before that, and the clock alone ends it. */
#include "scene.h"

#define SEEDS 24U

static void stop(struct process *process, unsigned how)
{
    switch (how % 3) {
    case 0:
        sim_pause(process->port, UINT64_MAX);
        break;
    case 1:
        sim_stall(process->port, UINT64_MAX);
        sim_disconnect(process->port, SIM_SILENT, 3 * SCENE_TIMEOUT_MS);
        break;
    default:
        sim_pause(process->port, UINT64_MAX);
        sim_follower_cut(process->port, SCENE_TIMEOUT_MS / 2);
        break;
    }
}

static void a_stopped_holder_is_valid_no_longer(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim stopped, next;

        scene_begin_queued(&scene, seed, state, &a, &stopped, &b, &next);
        scene_run_for(&scene, 1000 + sim_random(scene.sim, 5000));
        stop(&a, (unsigned)seed);
        uint64_t until = uvzk_hold_valid_until(&stopped.request);
        assert_true(until > sim_now(scene.sim));
        assert_true(until <= sim_now(scene.sim) + SCENE_TIMEOUT_MS);

        /* Nobody else before that moment, somebody else soon after. */
        claim_await(&next, 2 * SCENE_TIMEOUT_MS);
        assert_true(next.acquired_ms >= until);
        assert_true(uvzk_hold_valid_until(&stopped.request) == until);
        assert_true(next.token > stopped.token);

        /* It wakes up, and knows before anything has reached it. */
        assert_int_equal(stopped.lost, 0);
        assert_false(uvzk_hold_is_valid(&stopped.request));
        assert_false(uvzk_lock_is_held(&a.mutex));
        sim_resume(a.port);
        assert_true(scene_await(&scene, &stopped.lost, 100));
        claim_give_back(&next);
        scene_end(&scene);
    }
}

/* Cut off, but running: LOST comes by the clock, no later than the negotiated
 * timeout after the last acknowledged contact. */
static void loss_comes_by_the_clock(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim held, next;

        scene_begin_queued(&scene, seed, state, &a, &held, &b, &next);
        scene_run_for(&scene, 1000 + sim_random(scene.sim, 5000));
        uint64_t cut_ms = sim_now(scene.sim);
        sim_disconnect(a.port, SIM_SILENT, 3 * SCENE_TIMEOUT_MS);
        assert_true(scene_await(&scene, &held.lost, SCENE_TIMEOUT_MS));
        assert_true(held.lost_ms <= cut_ms + SCENE_TIMEOUT_MS);
        assert_int_equal(held.reason, UVZK_EPROOF);
        assert_true(scene_await(&scene, &next.acquired, 2 * SCENE_TIMEOUT_MS));
        assert_true(next.acquired_ms >= held.lost_ms);
        claim_give_back(&next);
        scene_end(&scene);
    }
}

/* Each grant comes with a number that is larger than all before it, over losses,
 * releases and a directory that is removed and made again. */
static void every_grant_has_a_larger_token(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim claims[8];
        int64_t last = 0;

        scene_begin_two(&scene, seed, state, &a, &b);
        for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
            struct process *process = i % 2 == 0 ? &a : &b;
            claim_take(&claims[i], process);
            assert_true(claims[i].token > last);
            last = claims[i].token;
            if (i % 3 == 1) {
                process_expire(process);
                assert_true(scene_await(&scene, &claims[i].lost, 1000));
                process->killed = false;
            } else {
                claim_give_back(&claims[i]);
            }
            if (i == 4) {
                sim_check_containers(scene.sim);
                assert_false(sim_exists(scene.sim, SCENE_PATH));
            }
        }
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_stopped_holder_is_valid_no_longer),
        SCENE_TEST(loss_comes_by_the_clock),
        SCENE_TEST(every_grant_has_a_larger_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
