/* SPDX-License-Identifier: Apache-2.0 */
/* The futures of calls on barriers: their outcomes, what cancelling and dropping them
 * does, and combinations. */
#include "barrier_kit.h"

#include <string.h>

#define FUTURES 4

static struct world world;
static struct process a, b;
static uvzk_barrier_t barrier;
static uvzk_double_barrier_t ours, theirs;
static uvzk_future_t futures[FUTURES], whole;

static void begin(void)
{
    memset(&barrier, 0, sizeof(barrier));
    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    memset(futures, 0, sizeof(futures));
    memset(&whole, 0, sizeof(whole));
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    assert_int_equal(uvzk_barrier_init(&a.client, &barrier, "/app/gate"), 0);
    assert_int_equal(uvzk_double_barrier_init(&a.client, &ours, BARRIER_PATH, 2, NULL),
                     0);
    assert_int_equal(uvzk_double_barrier_init(&b.client, &theirs, BARRIER_PATH, 2, NULL),
                     0);
    assert_true(process_await_connected(&a, 5000));
    assert_true(process_await_connected(&b, 5000));
    world_run_for(&world, 100);
}

static void end(void)
{
    for (int i = 0; i < FUTURES; i++) {
        uvzk_future_drop(&futures[i]);
    }
    uvzk_future_drop(&whole);
    world_run_for(&world, 1000);
    assert_int_equal(sim_watch_count(world.sim), 0);
    world_end(&world);
}

static void await(uvzk_future_t *future, int status)
{
    uint64_t until = world_now(&world) + 60000;

    while (uvzk_future_status(future) == UV_EAGAIN && world_now(&world) < until) {
        world_run_for(&world, 1);
    }
    assert_int_equal(uvzk_future_status(future), status);
}

static void again(uvzk_future_t *future)
{
    uvzk_future_drop(future);
    assert_null(future->impl);
}

static void each_call_has_one(void **state)
{
    (void)state;
    begin();
    assert_int_equal(
        uvzk_barrier_set(&barrier, uvzk_future_req(&futures[0]), uvzk_future_complete),
        0);
    assert_int_equal(
        uvzk_barrier_set(&barrier, uvzk_future_req(&futures[0]), uvzk_future_complete),
        UV_EBUSY);
    await(&futures[0], 0);
    assert_int_equal(uvzk_barrier_wait(&barrier, uvzk_future_req(&futures[1]), 300,
                                       uvzk_future_complete),
                     0);
    await(&futures[1], UV_ETIMEDOUT);
    assert_int_equal(uvzk_barrier_wait(&barrier, uvzk_future_req(&futures[2]),
                                       UVZK_WAIT_FOREVER, uvzk_future_complete),
                     0);
    again(&futures[0]);
    assert_int_equal(
        uvzk_barrier_remove(&barrier, uvzk_future_req(&futures[0]), uvzk_future_complete),
        0);
    await(&futures[0], 0);
    await(&futures[2], 0);
    again(&futures[0]);
    assert_int_equal(uvzk_double_barrier_enter(&ours, uvzk_future_req(&futures[0]), 5000,
                                               uvzk_future_complete),
                     0);
    again(&futures[1]);
    assert_int_equal(uvzk_double_barrier_enter(&theirs, uvzk_future_req(&futures[1]),
                                               5000, uvzk_future_complete),
                     0);
    await(&futures[0], 0);
    await(&futures[1], 0);
    again(&futures[0]);
    again(&futures[1]);
    assert_int_equal(uvzk_double_barrier_leave(&ours, uvzk_future_req(&futures[0]), 5000,
                                               uvzk_future_complete),
                     0);
    assert_int_equal(uvzk_double_barrier_leave(&theirs, uvzk_future_req(&futures[1]),
                                               5000, uvzk_future_complete),
                     0);
    await(&futures[0], 0);
    await(&futures[1], 0);
    again(&futures[0]);
    again(&futures[1]);
    assert_int_equal(uvzk_double_barrier_close(&ours, NULL), 0);
    assert_int_equal(uvzk_future_end(&futures[0], &ours), 0);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    assert_int_equal(uvzk_future_end(&futures[1], &barrier), 0);
    await(&futures[0], 0);
    await(&futures[1], 0);
    assert_null(ours.impl);
    assert_null(barrier.impl);
    again(&futures[0]);
    assert_int_equal(uvzk_double_barrier_enter(&ours, uvzk_future_req(&futures[0]), 5000,
                                               uvzk_future_complete),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_barrier_wait(&barrier, uvzk_future_req(&futures[0]), 5000,
                                       uvzk_future_complete),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), UVZK_ESTATE);
    end();
}

/* Cancelled, dropped, or out of time: the enter is given up, and its member is gone. */
static void an_enter_goes_with_its_future(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        begin();
        assert_int_equal(uvzk_double_barrier_enter(&ours, uvzk_future_req(&futures[0]),
                                                   UVZK_WAIT_FOREVER,
                                                   uvzk_future_complete),
                         0);
        barrier_await_members(&world, 1);
        if (how == 0) {
            assert_int_equal(uvzk_future_cancel(&futures[0]), 0);
            assert_int_equal(uvzk_future_status(&futures[0]), UV_ECANCELED);
        } else if (how == 1) {
            uvzk_future_drop(&futures[0]);
        } else {
            assert_int_equal(uvzk_future_deadline(&futures[0], 500), 0);
            await(&futures[0], UV_ETIMEDOUT);
        }
        barrier_await_members(&world, 0);
        world_run_for(&world, 100);
        /* It may enter anew. */
        assert_int_equal(uvzk_double_barrier_enter(&ours, uvzk_future_req(&futures[1]),
                                                   5000, uvzk_future_complete),
                         0);
        assert_int_equal(uvzk_double_barrier_enter(&theirs, uvzk_future_req(&futures[2]),
                                                   5000, uvzk_future_complete),
                         0);
        await(&futures[1], 0);
        await(&futures[2], 0);
        end();
    }
}

static void a_wait_goes_with_its_future(void **state)
{
    (void)state;
    begin();
    assert_int_equal(
        uvzk_barrier_set(&barrier, uvzk_future_req(&futures[0]), uvzk_future_complete),
        0);
    await(&futures[0], 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(uvzk_barrier_wait(&barrier, uvzk_future_req(&futures[i]),
                                           UVZK_WAIT_FOREVER, uvzk_future_complete),
                         0);
    }
    world_run_for(&world, 100);
    assert_int_equal(sim_watch_count(world.sim), 1);
    uvzk_future_drop(&futures[1]);
    assert_int_equal(uvzk_future_cancel(&futures[2]), 0);
    world_run_for(&world, 100);
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

/* The first of several that ends decides; the others are given up. */
static void futures_of_barriers_are_combined(void **state)
{
    uvzk_future_t *parts[] = {&futures[0], &futures[1]};

    (void)state;
    begin();
    assert_int_equal(
        uvzk_barrier_set(&barrier, uvzk_future_req(&futures[2]), uvzk_future_complete),
        0);
    await(&futures[2], 0);
    assert_int_equal(uvzk_barrier_wait(&barrier, uvzk_future_req(&futures[0]),
                                       UVZK_WAIT_FOREVER, uvzk_future_complete),
                     0);
    assert_int_equal(uvzk_double_barrier_enter(&ours, uvzk_future_req(&futures[1]),
                                               UVZK_WAIT_FOREVER, uvzk_future_complete),
                     0);
    assert_int_equal(uvzk_future_any_of(&whole, parts, 2), 0);
    barrier_await_members(&world, 1);
    assert_int_equal(
        uvzk_barrier_remove(&barrier, uvzk_future_req(&futures[3]), uvzk_future_complete),
        0);
    await(&whole, 0);
    assert_int_equal(uvzk_future_status(&futures[1]), UV_ECANCELED);
    barrier_await_members(&world, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_has_one),
        cmocka_unit_test(an_enter_goes_with_its_future),
        cmocka_unit_test(a_wait_goes_with_its_future),
        cmocka_unit_test(futures_of_barriers_are_combined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
