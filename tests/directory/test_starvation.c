/* Nobody waits for ever while others come and go. */
#include "cmocka_test.h"

#include <string.h>

#include "waiters.h"

#define SETTLED_MS 3000U
#define OTHERS 5
#define HELD_MS 50U

static const char *const paths[] = {"/l/locks", "/l/leases", "/m", "/rw", NULL};

static struct world world;
static struct waiter waiters[2];
static struct waiter others[OTHERS]; /* who come again as soon as they have gone */
static uint64_t let_go_ms[OTHERS];
static uvzk_lock_t *wanted; /* by the others */
static bool ending;

static uint64_t now(void)
{
    return sim_now(world.sim);
}

static void begin(void)
{
    memset(waiters, 0, sizeof(waiters));
    memset(others, 0, sizeof(others));
    ending = false;
    world_begin(&world, UVZK__TUNE_ALL, paths);
}

/* ---------------------------------------------------- behind it, all in vain */

/* A reader is to be proved, the one that has no watch on its own znode, while writers
 * of its client ask behind it and give up every 5 ms. */
static void test_reader_before_writers_that_give_up(void **state)
{
    uvzk_rwlock_t lock = {0};
    struct waiter writer = {0};

    (void)state;
    begin();
    const char *foreigner = foreign_writer(&world, "/rw");
    assert_int_equal(uvzk_rwlock_init(&world.clients[0], &lock, "/rw"), 0);
    waiter_ask(&waiters[0], &world, &lock.read, 0, NULL);
    waiter_ask(&waiters[1], &world, &lock.read, 0, NULL);
    sim_run_for(world.sim, SETTLED_MS);
    uint64_t gone_ms = now() + 500, by_ms = gone_ms + 5 * ROUND_TRIP_MS;
    while (now() < by_ms) {
        waiter_ask(&writer, &world, &lock.write, 0, NULL);
        sim_run_for(world.sim, 5);
        waiter_let_go(&writer);
        sim_run_for(world.sim, 0);
        assert_true(writer.told);
        if (now() == gone_ms) {
            foreigner_goes(&world, foreigner);
        }
    }
    assert_true(all_hold_by(&world, waiters, 2, by_ms));
    waiter_let_go(&waiters[0]);
    waiter_let_go(&waiters[1]);
    world_end(&world);
}

/* ------------------------------------------------------ others that come again */

static void come_and_go(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        for (int j = 0; j < OTHERS; j++) {
            if (others[j].holds && let_go_ms[j] == 0) {
                let_go_ms[j] = now() + HELD_MS;
            } else if (others[j].holds && now() == let_go_ms[j]) {
                waiter_let_go(&others[j]);
            } else if (!others[j].holds && others[j].request.impl == NULL && !ending) {
                let_go_ms[j] = 0;
                waiter_ask(&others[j], &world, wanted, 0, NULL);
            }
        }
        sim_run_for(world.sim, 1);
    }
}

/* Nobody who asks later goes before it: it waits for the others once. */
static void check_among_others(uvzk_lock_t *lock, uint32_t leases, uvzk_lock_t *of_others)
{
    wanted = of_others;
    come_and_go(SETTLED_MS);
    waiter_ask(&waiters[0], &world, lock, leases, NULL);
    come_and_go(OTHERS * (HELD_MS + 5 * ROUND_TRIP_MS) + 5 * ROUND_TRIP_MS);
    assert_true(waiters[0].holds);
    waiter_let_go(&waiters[0]);
    ending = true;
    come_and_go(SETTLED_MS);
    world_end(&world);
}

/* The others' client hands over to its own where it may, or is the waiter's own. */
static void check_semaphore(int of_others)
{
    uvzk_semaphore_t semaphores[CLIENTS] = {0};

    begin();
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(
            uvzk_semaphore_init(&world.clients[i], &semaphores[i], "/l", 3, NULL), 0);
    }
    check_among_others(&semaphores[0], 3, &semaphores[of_others]);
}

static void test_all_leases_among_single_ones(void **state)
{
    (void)state;
    check_semaphore(0);
    check_semaphore(1);
}

static void check_rwlock(int of_others, bool writes)
{
    uvzk_rwlock_t rwlocks[CLIENTS] = {0};

    begin();
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(uvzk_rwlock_init(&world.clients[i], &rwlocks[i], "/rw"), 0);
    }
    check_among_others(writes ? &rwlocks[0].write : &rwlocks[0].read, 0,
                       writes ? &rwlocks[of_others].read : &rwlocks[of_others].write);
}

static void test_writer_among_readers(void **state)
{
    (void)state;
    check_rwlock(0, true);
    check_rwlock(1, true);
}

static void test_reader_among_writers(void **state)
{
    (void)state;
    check_rwlock(0, false);
    check_rwlock(1, false);
}

static void test_mutex_among_others(void **state)
{
    (void)state;
    for (int of_others = 0; of_others < CLIENTS; of_others++) {
        uvzk_mutex_t mutexes[CLIENTS] = {0};
        begin();
        for (int i = 0; i < CLIENTS; i++) {
            assert_int_equal(uvzk_mutex_init(&world.clients[i], &mutexes[i], "/m"), 0);
        }
        check_among_others(&mutexes[0], 0, &mutexes[of_others]);
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
