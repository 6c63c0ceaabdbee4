/* SPDX-License-Identifier: Apache-2.0 */
/* A semaphore knows its shared count by its struct, which is the user's: once the count is
 * closed, the struct may be used for another one, or its memory for anything. The count
 * should be closed after the semaphore; who does not gets an answer. */
#include "world.h"

#include <string.h>

#define COUNT "/count"
#define OTHER "/other"
#define HOUR_MS 3600000U

static struct world world;
static struct process a, b;
static uvzk_shared_count_t count;
static uvzk_semaphore_t semaphore;
static struct hold held, waits;
static int closed;

static void on_closed(uvzk_shared_count_t *told)
{
    assert_ptr_equal(told, &count);
    closed++;
}

static void seed(const char *path, char value)
{
    const char bytes[4] = {0, 0, 0, value};

    assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
    assert_int_equal(sim_set_by_hand(world.sim, path, bytes, 4), 0);
}

/* There is one lease, somebody has it, and somebody waits for it. */
static void begin(struct process *counts)
{
    memset(&count, 0, sizeof(count));
    memset(&semaphore, 0, sizeof(semaphore));
    closed = 0;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 2, &a, &b);
    seed(COUNT, 1);
    seed(OTHER, 7);
    assert_int_equal(uvzk_shared_count_init(&counts->client, &count, COUNT, 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, "/s", 0, &count), 0);
    hold_take_on(&held, &a, &semaphore, 1);
    hold_begin_on(&waits, &a, &semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    assert_true(hold_pending(&waits));
}

static void close_count(void)
{
    assert_int_equal(uvzk_shared_count_close(&count, on_closed), 0);
    assert_true(world_await(&world, &closed, 1000));
    hold_await_status(&waits, 1000, UVZK_ECLOSED);
}

/* Who holds holds; nobody else will, and the semaphore is closed as always. */
static void end(void)
{
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&held) && uvzk_hold_is_valid(&held.request));
    assert_int_equal(hold_ask(&waits, &a, &semaphore, NULL), UVZK_ECLOSED);
    assert_non_null(strstr(uvzk_refusal(UVZK_ECLOSED), "count"));
    hold_give_back(&held);
    assert_int_equal(hold_ask(&waits, &a, &semaphore, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&semaphore, NULL), 0);
    world_run_for(&world, 500);
    assert_int_equal(world_children(&world, "/s/leases"), 0);
    assert_int_equal(world_children(&world, "/s/locks"), 0);
    world_release_and_end(&world);
}

static void whoever_waits_is_answered(void **state)
{
    (void)state;
    begin(&a);
    close_count();
    end();
}

/* It says how many leases another semaphore has. */
static void its_struct_becomes_another_count(void **state)
{
    (void)state;
    begin(&a);
    close_count();
    assert_int_equal(uvzk_shared_count_init(&a.client, &count, OTHER, 1, NULL), 0);
    world_run_for(&world, 1000);
    assert_int_equal(hold_ask(&waits, &a, &semaphore, NULL), UVZK_ECLOSED);
    closed = 0;
    assert_int_equal(uvzk_shared_count_close(&count, on_closed), 0);
    assert_true(world_await(&world, &closed, 1000));
    end();
}

static void its_memory_becomes_something_else(void **state)
{
    (void)state;
    begin(&a);
    close_count();
    memset(&count, 0x5a, sizeof(count));
    end();
}

/* It is of a client that goes. */
static void its_client_is_closed(void **state)
{
    (void)state;
    begin(&b);
    process_close(&b);
    assert_true(world_await(&world, &b.closed, HOUR_MS));
    hold_await_status(&waits, 1000, UVZK_ECLOSED);
    memset(&count, 0x5a, sizeof(count));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_waits_is_answered),
        cmocka_unit_test(its_struct_becomes_another_count),
        cmocka_unit_test(its_memory_becomes_something_else),
        cmocka_unit_test(its_client_is_closed),
    };

    return cmocka_run_group_tests_name("semaphore whose count is closed", tests, NULL,
                                       NULL);
}
