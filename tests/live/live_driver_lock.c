/* SPDX-License-Identifier: Apache-2.0 */
/* Lock drivers on the real server: those of the examples, contended for by two clients,
 * and Curator's persistent lock. */
#include "world.h"

#include <string.h>

#include "contention.h"
#include "drivers.h"

#define PATH "/drivers/lock"
#define CONTENDERS 10
#define ROUNDS 6
#define WORK_MS 3

static struct world world;
static struct process a;
static struct process b;

/* Ten contenders, half of them of each process, so many times each. Returns how many
 * held together at most. */
static unsigned contend(unsigned permits, uvzk_lock_t *locks[2])
{
    static struct contention contention;
    static struct contention_user contention_users[CONTENDERS];

    contention = (struct contention){.permits = permits, .hold_ms = WORK_MS};
    memset(contention_users, 0, sizeof(contention_users));
    for (int i = 0; i < CONTENDERS; i++) {
        contention_join(&contention, &contention_users[i], i % 2 == 0 ? &a : &b,
                        locks[i % 2]);
    }
    uint64_t since = world_now(&world);
    while (!contention_all_granted(&contention, ROUNDS)) {
        assert_true(world_turn(&world, since));
    }
    assert_true(contention_stop(&contention, &world));
    contention_assert_clean(&contention);
    return contention.most;
}

/* --------------------------------------------------------------------- the drivers */

static uvzk_lock_t mine, others;

static void open_locks(const char *path, const uvzk_lock_driver_t *driver)
{
    memset(&mine, 0, sizeof(mine));
    memset(&others, 0, sizeof(others));
    world_begin_two(&world, path, &a, &b);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &mine, path, driver), 0);
    assert_int_equal(uvzk_lock_init_with_driver(&b.client, &others, path, driver), 0);
}

static void test_one_znode_for_everybody(void **state)
{
    static struct hold first, second, third;
    uvzk_lock_driver_t driver;
    struct Stat stat;

    (void)state;
    exclusive_driver(&driver);
    open_locks("/exclusive_lock", &driver);
    hold_take_on(&first, &a, &mine, 1);
    assert_string_equal(first.path, "/exclusive_lock/lock");
    assert_int_equal(raw_exists(world.raw, "/exclusive_lock/lock", &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, uvzk_client_session_id(&a.client));
    assert_int_equal(stat.czxid, first.token);
    hold_begin_on(&second, &b, &others, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&third, &a, &mine, 1, UVZK_WAIT_FOREVER);
    hold_await_queued(&second);
    hold_await_queued(&third);
    assert_int_equal(world_children(&world, "/exclusive_lock"), 1);
    assert_int_equal(second.answered + third.answered, 0);
    hold_give_back(&first);
    struct hold *next = &second, *last = &third; /* whichever came first */
    assert_true(world_await_count(&world, &world.grants, 2, PATIENCE_MS));
    if (third.answered > 0) {
        next = &third;
        last = &second;
    }
    assert_true(next->token > first.token);
    hold_give_back(next);
    hold_await(last, PATIENCE_MS);
    assert_true(last->token > next->token);
    hold_give_back(last);
    world_end(&world);
}

static void test_ten_contend_for_one_znode(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t *locks[2] = {&mine, &others};

    (void)state;
    exclusive_driver(&driver);
    open_locks("/exclusive_lock", &driver);
    assert_int_equal(contend(1, locks), 1);
    world_end(&world);
}

static void test_ten_contend_for_three_leases(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t *locks[2] = {&mine, &others};

    (void)state;
    n_leases_driver(&driver, 3);
    open_locks(PATH, &driver);
    assert_int_equal(contend(3, locks), 3);
    world_end(&world);
}

/* InterProcessMutex, by the driver that has nothing of its own: one and the same lock. */
static void test_the_plain_driver_is_a_mutex(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_mutex_t mutex = {0};
    uvzk_lock_t *locks[2] = {&mine, &mutex};

    (void)state;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    open_locks(PATH, &driver);
    assert_int_equal(uvzk_mutex_init(&b.client, &mutex, PATH), 0);
    assert_int_equal(contend(1, locks), 1);
    world_end(&world);
}

/* ------------------------------------------------------------------ the durable one */

/* TestInterProcessMutex.testPersistentLock, and more: the hold survives too. */
static void test_persistent_lock(void **state)
{
    static struct hold holds, waits;
    uvzk_lock_driver_t driver;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    memset(&mine, 0, sizeof(mine));
    world_begin(&world, PATH);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &mine, PATH, &driver), 0);
    hold_take_on(&holds, &a, &mine, 1);
    hold_queue(&waits, &a, &mine);
    process_expire(&a);
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    assert_int_equal(raw_exists(world.raw, holds.path, NULL), ZOK);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_true(hold_holds(&holds) && uvzk_hold_is_valid(&holds.request));
    assert_int_equal(waits.answered, 0);
    hold_give_back(&holds);
    assert_int_equal(raw_exists(world.raw, holds.path, NULL), ZNONODE);
    hold_await(&waits, PATIENCE_MS); /* it kept its place */
    hold_give_back(&waits);
    world_end(&world);
}

static void test_durable_hold_is_lost_by_deletion(void **state)
{
    static struct hold holds;
    uvzk_lock_driver_t driver;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    open_locks(PATH, &driver);
    hold_take_on(&holds, &a, &mine, 1);
    assert_int_equal(raw_delete(world.raw, holds.path), ZOK);
    hold_await_lost(&holds, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    world_end(&world);
}

/* ------------------------------------------------------------------------ bad input */

static int says_nonsense(const uvzk_lock_driver_t *driver, const char *const *children,
                         size_t count, size_t own, size_t *watch)
{
    (void)driver;
    (void)children;
    (void)own;
    *watch = count;
    return 0;
}

static void test_bad_input(void **state)
{
    static struct hold hold;
    uvzk_lock_driver_t driver;
    uvzk_lock_t lock = {0};
    uvzk_acquire_options_t options;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.gets_the_lock = says_nonsense;
    open_locks(PATH, &driver);
    assert_int_equal(uvzk_lock_init_with_driver(NULL, &lock, PATH, &driver), UV_EINVAL);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, NULL, PATH, &driver),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &lock, NULL, &driver),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &lock, PATH, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &lock, "no/slash", &driver),
                     UVZK_EPATH);
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &mine, PATH, &driver),
                     UV_EBUSY);
    driver.name = "a/b";
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &lock, PATH, &driver),
                     UV_EINVAL);
    uvzk_acquire_options_init(&options);
    options.leases = 2;
    assert_int_equal(hold_ask(&hold, &a, &mine, &options), UV_EINVAL);
    hold_try(&hold, &a, &mine, UVZK_WAIT_FOREVER, UV_EINVAL);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_znode_for_everybody),
        cmocka_unit_test(test_ten_contend_for_one_znode),
        cmocka_unit_test(test_ten_contend_for_three_leases),
        cmocka_unit_test(test_the_plain_driver_is_a_mutex),
        cmocka_unit_test(test_persistent_lock),
        cmocka_unit_test(test_durable_hold_is_lost_by_deletion),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
