/* SPDX-License-Identifier: Apache-2.0 */
/* Locker on every kind of lock, against a real server (Curator's testLocker). */
#include "world.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct world world;
static struct process a;
static uvzk_mutex_t second;
static uvzk_rwlock_t rwlock;
static uvzk_semaphore_t semaphore;
static uvzk_semaphore_mutex_t semaphore_mutex;
static uvzk_multilock_t multilock, mixed;

static uvzk_lock_t *const locks[] = {&a.mutex,   &rwlock.read,     &rwlock.write,
                                     &semaphore, &semaphore_mutex, &multilock,
                                     &mixed};

static struct {
    uvzk_locker_t locker;
    int locked, unlocked, status;
    bool was_held;
} work;

static void begin(void)
{
    uvzk_lock_t *const mutexes[] = {&second, &a.mutex};
    uvzk_lock_t *const two_kinds[] = {&semaphore, &rwlock.write};

    world_begin_one(&world, NULL, &a);
    second = semaphore = semaphore_mutex = multilock = mixed = (uvzk_lock_t){0};
    rwlock = (uvzk_rwlock_t){.read = {0}};
    uvzk_client_t *client = &a.client;
    assert_int_equal(uvzk_mutex_init(client, &second, "/locker/two"), 0);
    assert_int_equal(uvzk_rwlock_init(client, &rwlock, "/locker/rwlock"), 0);
    assert_int_equal(uvzk_semaphore_init(client, &semaphore, "/locker/three", 1, NULL),
                     0);
    assert_int_equal(uvzk_semaphore_mutex_init(client, &semaphore_mutex, "/locker/four"),
                     0);
    assert_int_equal(uvzk_multilock_init(client, &multilock, mutexes, 2, 0, NULL), 0);
    assert_int_equal(uvzk_multilock_init(client, &mixed, two_kinds, 2, 0, NULL), 0);
}

static void on_locked(uvzk_locker_t *locker)
{
    work.locked++;
    work.was_held = uvzk_hold_is_valid(&locker->hold) && locker == &work.locker;
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    assert_null(locker->impl);
    work.unlocked++;
    work.status = status;
}

static void run(uvzk_lock_t *lock)
{
    memset(&work, 0, sizeof(work));
    work.status = HOLD_NO_STATUS;
    assert_int_equal(uvzk_lock_run(lock, &work.locker, NULL, on_locked, on_unlocked), 0);
}

static void test_locker(void **state)
{
    struct hold other;
    (void)state;

    begin();
    for (size_t i = 0; i < LENGTH(locks); i++) {
        run(locks[i]);
        assert_true(world_await(&world, &work.locked, PATIENCE_MS));
        assert_true(work.was_held);
        assert_true(uvzk_lock_is_held(locks[i]));
        if (locks[i] != &rwlock.read) {
            hold_try(&other, &a, locks[i], UVZK_TRY_ONCE, UV_ETIMEDOUT);
        }
        assert_int_equal(work.unlocked, 0);
        assert_int_equal(uvzk_locker_done(&work.locker), 0);
        assert_true(world_await(&world, &work.unlocked, PATIENCE_MS));
        assert_int_equal(work.status, 0);
        assert_int_equal(work.locked, 1);
        assert_false(uvzk_lock_is_held(locks[i]));
    }
    world_end(&world);
}

static void test_a_deleted_znode_ends_the_work(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < LENGTH(locks); i++) {
        run(locks[i]);
        assert_true(world_await(&world, &work.locked, PATIENCE_MS));
        assert_int_equal(raw_delete(world.raw, uvzk_hold_path(&work.locker.hold)), ZOK);
        assert_true(world_await(&world, &work.unlocked, PATIENCE_MS));
        assert_int_equal(work.status, UVZK_EDELETED);
        assert_int_equal(uvzk_locker_done(&work.locker), UVZK_ENOTHELD);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locker),
        cmocka_unit_test(test_a_deleted_znode_ends_the_work),
    };

    return cmocka_run_group_tests_name("locker", tests, servers_start_one, servers_stop);
}
