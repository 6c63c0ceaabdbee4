/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers while the n-th allocation of the library fails, once or for three seconds,
 * for n = 1, 2, 3, ... until a whole scenario runs through. Each call is refused with
 * UV_ENOMEM or answered once, nothing stays allocated, and nothing is left behind on
 * the server. */
#include "barrier_kit.h"

#include <string.h>

#include "failing_allocator.h"

#define SCARCE_MS 3000U

static struct world world;
static struct process a, b;
static uvzk_double_barrier_t doubles[2];
static uvzk_barrier_t barrier;
static struct recorded_call calls[4];

/* Refused for want of memory nothing is done, and it may be done again. */
#define MADE(call)                                    \
    do {                                              \
        int made_status = (call);                     \
        if (made_status != 0) {                       \
            assert_int_equal(made_status, UV_ENOMEM); \
            failing_allocator_stop();                 \
            assert_int_equal((call), 0);              \
        }                                             \
    } while (0)

static void each_ms(struct world *of)
{
    failing_allocator_stop_after(SCARCE_MS, world_now(of));
}

static void double_barrier(void)
{
    call_prepare(&calls[0], &world);
    call_prepare(&calls[1], &world);
    MADE(uvzk_double_barrier_init(&a.client, &doubles[0], BARRIER_PATH, 2, NULL));
    MADE(uvzk_double_barrier_init(&b.client, &doubles[1], BARRIER_PATH, 2, NULL));
    for (int i = 0; i < 2; i++) {
        MADE(uvzk_double_barrier_enter(&doubles[i], &calls[i].call, UVZK_WAIT_FOREVER,
                                       call_told));
    }
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
    call_prepare(&calls[0], &world);
    call_prepare(&calls[1], &world);
    for (int i = 0; i < 2; i++) {
        MADE(uvzk_double_barrier_leave(&doubles[i], &calls[i].call, UVZK_WAIT_FOREVER,
                                       call_told));
    }
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
}

static void plain_barrier(void)
{
    for (int i = 0; i < 4; i++) {
        call_prepare(&calls[i], &world);
    }
    MADE(uvzk_barrier_init(&a.client, &barrier, BARRIER_PATH));
    MADE(uvzk_barrier_set(&barrier, &calls[0].call, call_told));
    call_await(&calls[0], 0);
    MADE(uvzk_barrier_wait(&barrier, &calls[1].call, 500, call_told));
    MADE(uvzk_barrier_wait(&barrier, &calls[2].call, UVZK_WAIT_FOREVER, call_told));
    call_await(&calls[1], UV_ETIMEDOUT);
    MADE(uvzk_barrier_remove(&barrier, &calls[3].call, call_told));
    call_await(&calls[3], 0);
    call_await(&calls[2], 0);
}

/* Returns whether an allocation has failed. */
static bool run(void (*scenario)(void), uint64_t first, uint64_t count)
{
    memset(doubles, 0, sizeof(doubles));
    memset(&barrier, 0, sizeof(barrier));
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    a.may_log_errors = b.may_log_errors = true;
    assert_true(process_await_connected(&a, 5000));
    assert_true(process_await_connected(&b, 5000));
    world_run_for(&world, 100);
    world.each_ms = each_ms;
    failing_allocator_arm(first, count);
    scenario();
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_stop();
    world_run_for(&world, 1000);
    assert_int_equal(barrier_members(&world), 0);
    assert_false(barrier_is_ready(&world));
    world_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void each_allocation_fails(void (*scenario)(void), uint64_t count)
{
    uint64_t first = 1;

    while (run(scenario, first, count)) {
        first++;
    }
    print_message("%llu allocations\n", (unsigned long long)first - 1);
    assert_true(first > 10);
}

static void each_allocation_of_a_double_barrier_fails(void **state)
{
    (void)state;
    each_allocation_fails(double_barrier, 1);
    each_allocation_fails(double_barrier, FAILING_ALLOCATOR_FOREVER);
}

static void each_allocation_of_a_barrier_fails(void **state)
{
    (void)state;
    each_allocation_fails(plain_barrier, 1);
    each_allocation_fails(plain_barrier, FAILING_ALLOCATOR_FOREVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_a_double_barrier_fails),
        cmocka_unit_test(each_allocation_of_a_barrier_fails),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
