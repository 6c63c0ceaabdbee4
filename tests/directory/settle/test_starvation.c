/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody waits for ever while others come and go. */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define LATENCY_MS 10U
#define ROUND_TRIP_MS (2U * LATENCY_MS)
#define SETTLED_MS 3000U
#define OTHERS 5
#define HELD_MS 50U

static struct world world;
static struct process processes[2];
static struct hold holds[2];
static struct hold others[OTHERS]; /* who come again as soon as they have gone */
static uint64_t let_go_ms[OTHERS];
static uvzk_lock_t *wanted; /* by the others */
static bool ending;

static uint64_t now(void)
{
    return world_now(&world);
}

static void begin(void)
{
    static const char *const paths[] = {WORLD_PATH, "/l/locks", "/l/leases", "/rw"};

    memset(others, 0, sizeof(others));
    ending = false;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, LATENCY_MS, &processes[0],
                          &processes[1]);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        world_make_path(&world, paths[i]);
    }
    for (int i = 0; i < 2; i++) {
        process_make_rwlock(&processes[i], "/rw");
        process_make_semaphore(&processes[i], "/l", 3);
    }
    world_run_for(&world, 1000);
}

/* ---------------------------------------------------- behind it, all in vain */

/* A reader is to be proved, the one that has no watch on its own znode, while writers
 * of its client ask behind it and give up every 5 ms. */
static void test_reader_before_writers_that_give_up(void **state)
{
    uvzk_rwlock_t *lock = &processes[0].rwlock;
    struct hold writer;

    (void)state;
    begin();
    struct world_path foreign_node = world_foreign_node(&world, "/rw", "__WRIT__");
    hold_begin_on(&holds[0], &processes[0], &lock->read, 0, UVZK_WAIT_FOREVER);
    hold_begin_on(&holds[1], &processes[0], &lock->read, 0, UVZK_WAIT_FOREVER);
    world_run_for(&world, SETTLED_MS);
    uint64_t gone_ms = now() + 500, by_ms = gone_ms + 5 * ROUND_TRIP_MS;
    while (now() < by_ms) {
        hold_begin_on(&writer, &processes[0], &lock->write, 0, UVZK_WAIT_FOREVER);
        world_run_for(&world, 5);
        hold_cancel(&writer);
        sim_run_for(world.sim, 0);
        assert_int_equal(writer.status, UV_ECANCELED);
        if (now() == gone_ms) {
            world_delete(&world, &foreign_node);
        }
    }
    assert_true(world_await_all(&world, holds, 2, by_ms));
    hold_release(&holds[0]);
    hold_release(&holds[1]);
    world_end(&world);
}

/* ------------------------------------------------------ others that come again */

static void come_and_go(struct process *process, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        for (int j = 0; j < OTHERS; j++) {
            if (hold_holds(&others[j]) && let_go_ms[j] == 0) {
                let_go_ms[j] = now() + HELD_MS;
            } else if (hold_holds(&others[j]) && now() == let_go_ms[j]) {
                hold_release(&others[j]);
            } else if (hold_over(&others[j]) && !ending) {
                let_go_ms[j] = 0;
                hold_begin_on(&others[j], process, wanted, 0, UVZK_WAIT_FOREVER);
            }
        }
        world_run_for(&world, 1);
    }
}

/* The first process asks for the one lock, the others of that process for the other one.
 * Nobody who asks later goes before it: it waits for the others once. */
static void check_among_others(uvzk_lock_t *lock, uint32_t leases,
                               struct process *of_others, uvzk_lock_t *other_lock)
{
    wanted = other_lock;
    come_and_go(of_others, SETTLED_MS);
    hold_begin_on(&holds[0], &processes[0], lock, leases, UVZK_WAIT_FOREVER);
    come_and_go(of_others, OTHERS * (HELD_MS + 5 * ROUND_TRIP_MS) + 5 * ROUND_TRIP_MS);
    assert_true(hold_holds(&holds[0]));
    hold_release(&holds[0]);
    ending = true;
    come_and_go(of_others, SETTLED_MS);
    world_end(&world);
}

/* The others' client hands over to its own where it may, or is the waiter's own. */
static void test_all_leases_among_single_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        check_among_others(&processes[0].semaphore, 3, &processes[i],
                           &processes[i].semaphore);
    }
}

static void test_writer_among_readers(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        check_among_others(&processes[0].rwlock.write, 0, &processes[i],
                           &processes[i].rwlock.read);
    }
}

static void test_reader_among_writers(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        check_among_others(&processes[0].rwlock.read, 0, &processes[i],
                           &processes[i].rwlock.write);
    }
}

static void test_mutex_among_others(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        check_among_others(&processes[0].mutex, 0, &processes[i], &processes[i].mutex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_before_writers_that_give_up),
        cmocka_unit_test(test_all_leases_among_single_ones),
        cmocka_unit_test(test_writer_among_readers),
        cmocka_unit_test(test_reader_among_writers),
        cmocka_unit_test(test_mutex_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
