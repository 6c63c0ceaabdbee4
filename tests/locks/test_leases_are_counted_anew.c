/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever has the first znode in P/locks counts the leases, and may go on with what it
 * has counted for as long as nobody else can have been the first. That ends with the
 * znode, and not when its client hears of it. */
#include "world.h"

#include <stdio.h>

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define OTHERS 300 /* more than are deleted at once, 4 times 64 */

/* Of A, and of B in between. */
static struct world world;
static struct process a, b;
static struct hold before, first, between, second;
static uvzk_mutex_t mutexes[OTHERS]; /* of A, with work for a while when it is back */
static struct hold others[OTHERS];

static void take_others(void)
{
    for (int i = 0; i < OTHERS; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/others/%d", i);
        assert_int_equal(uvzk_mutex_init(&a.client, &mutexes[i], path), 0);
        hold_begin_on(&others[i], &a, &mutexes[i], 1, UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < OTHERS; i++) {
        hold_await(&others[i], 5000);
    }
}

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    process_make_semaphore(&b, PATH, LEASES_MAX);
}

/* A, the first in line, has counted one lease and waits for three. It loses its
 * connection, gives up, and its znode in P/locks is deleted before it can do that. B takes
 * what is left; then A is back, and before it comes to delete that znode another of it
 * asks for as many as there were. */
static void after_a_ticket_was_deleted_unheard(void **state)
{
    begin(1, state);
    take_others();
    hold_take_on(&before, &b, &b.semaphore, 1);
    hold_begin_on(&first, &a, &a.semaphore, LEASES_MAX, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    sim_disconnect(a.port, SIM_RESET, 3000);
    world_run_for(&world, 100);
    for (int i = 0; i < OTHERS; i++) {
        hold_release(&others[i]);
    }
    hold_cancel(&first);
    assert_int_equal(world_children(&world, PATH "/locks"), 1);
    world_delete_child(&world, PATH "/locks", 0);
    hold_take_on(&between, &b, &b.semaphore, LEASES_MAX - 1);
    hold_begin_on(&second, &a, &a.semaphore, LEASES_MAX - 1, UVZK_WAIT_FOREVER);
    for (unsigned i = 0; i < 6000; i++) {
        world_run_for(&world, 1);
        assert_int_equal(second.answered, 0);
    }
    hold_give_back(&between);
    hold_await(&second, 1000);
    hold_give_back(&before);
    hold_give_back(&second);
    world_end(&world);
}

/* A has one lease and keeps it; whether there is another one to be had is not what it
 * was at the last try. */
static void at_every_try(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_take_on(&before, &a, &a.semaphore, 1);
    hold_take_on(&between, &b, &b.semaphore, LEASES_MAX - 1);
    hold_begin_on(&first, &a, &a.semaphore, 1, UVZK_TRY_ONCE);
    hold_await_status(&first, 1000, UV_ETIMEDOUT);
    world_run_for(&world, 500);
    hold_give_back(&between);
    hold_begin_on(&second, &a, &a.semaphore, 1, UVZK_TRY_ONCE);
    hold_acquire_release(&second, 1000);
    hold_give_back(&before);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(after_a_ticket_was_deleted_unheard),
        WORLD_SCENARIO(at_every_try, 1, 8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
