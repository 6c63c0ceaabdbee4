/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's technical notes 10, 12 and 14: a process that was stopped for longer
 * than its session goes on believing that it holds. Here every hold says until when
 * it is valid, nobody else is granted before that, and the clock alone ends it. */
#include "world.h"

#define SEEDS 24U

static struct world world;
static struct process a, b;
static struct hold held, next;

static void stop(struct process *process, unsigned how)
{
    switch (how % 3) {
    case 0:
        sim_pause(process->port, UINT64_MAX);
        break;
    case 1:
        sim_stall(process->port, UINT64_MAX);
        sim_disconnect(process->port, SIM_SILENT, 3 * WORLD_TIMEOUT_MS);
        break;
    default:
        sim_pause(process->port, UINT64_MAX);
        sim_follower_cut(process->port, WORLD_TIMEOUT_MS / 2);
        break;
    }
}

static void a_stopped_holder_is_valid_no_longer(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &held, &b, &next);
    world_run_for(&world, 1000 + sim_random(world.sim, 5000));
    stop(&a, (unsigned)seed);
    uint64_t until = uvzk_hold_valid_until(&held.request);
    assert_true(until > world_now(&world));
    assert_true(until <= world_now(&world) + WORLD_TIMEOUT_MS);

    /* Nobody else before that moment, somebody else soon after. */
    hold_await(&next, 2 * WORLD_TIMEOUT_MS);
    assert_true(next.answered_ms >= until);
    assert_true(uvzk_hold_valid_until(&held.request) == until);
    assert_true(next.token > held.token);

    /* It wakes up, and knows before anything has reached it. */
    assert_int_equal(held.lost, 0);
    assert_false(uvzk_hold_is_valid(&held.request));
    assert_false(uvzk_lock_is_held(&a.mutex));
    sim_resume(a.port);
    assert_true(world_await(&world, &held.lost, 100));
    hold_give_back(&next);
    world_end(&world);
}

/* Cut off, but running: LOST comes by the clock, no later than the negotiated
 * timeout after the last acknowledged contact. */
static void loss_comes_by_the_clock(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &held, &b, &next);
    world_run_for(&world, 1000 + sim_random(world.sim, 5000));
    uint64_t cut_ms = world_now(&world);
    sim_disconnect(a.port, SIM_SILENT, 3 * WORLD_TIMEOUT_MS);
    hold_await_lost(&held, WORLD_TIMEOUT_MS, UVZK_EPROOF);
    assert_true(held.lost_ms <= cut_ms + WORLD_TIMEOUT_MS);
    hold_acquire_release(&next, 2 * WORLD_TIMEOUT_MS);
    assert_true(next.answered_ms >= held.lost_ms);
    world_end(&world);
}

/* Each grant comes with a number that is larger than all before it, over losses,
 * releases and a directory that is removed and made again. */
static void every_grant_has_a_larger_token(uint64_t seed, void *const *state)
{
    struct hold holds[8];
    int64_t last = 0;

    world_begin_two(&world, seed, state, &a, &b);
    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
        struct process *process = i % 2 == 0 ? &a : &b;
        hold_take(&holds[i], process);
        assert_true(holds[i].token > last);
        last = holds[i].token;
        if (i % 3 == 1) {
            process_expire(process);
            assert_true(world_await(&world, &holds[i].lost, 1000));
            process->killed = false;
        } else {
            hold_give_back(&holds[i]);
        }
        if (i == 4) {
            sim_check_containers(world.sim);
            assert_false(sim_exists(world.sim, WORLD_PATH));
        }
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_stopped_holder_is_valid_no_longer, 1, SEEDS),
        WORLD_SCENARIO(loss_comes_by_the_clock, 1, SEEDS),
        WORLD_SCENARIO(every_grant_has_a_larger_token, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
