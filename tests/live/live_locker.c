/* Locker on every kind of lock, against a real server (Curator's testLocker). */
#include "live.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct live live;
static uvzk_mutex_t mutex, second;
static uvzk_rwlock_t rwlock;
static uvzk_semaphore_t semaphore;
static uvzk_semaphore_mutex_t semaphore_mutex;
static uvzk_multilock_t multilock, mixed;

static uvzk_lock_t *const locks[] = {&mutex,     &rwlock.read,     &rwlock.write,
                                     &semaphore, &semaphore_mutex, &multilock,
                                     &mixed};

static struct {
    uvzk_locker_t locker;
    int locked, unlocked, status;
    bool was_held;
} work;

static void begin(void)
{
    uvzk_lock_t *const mutexes[] = {&second, &mutex};
    uvzk_lock_t *const two_kinds[] = {&semaphore, &rwlock.write};

    live_open(&live);
    mutex = second = semaphore = semaphore_mutex = multilock = mixed = (uvzk_lock_t){0};
    rwlock = (uvzk_rwlock_t){.read = {0}};
    uvzk_client_t *client = &live.client;
    assert_int_equal(uvzk_mutex_init(client, &mutex, "/locker/one"), 0);
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
    work.status = ATTEMPT_UNTOLD;
    assert_int_equal(uvzk_lock_run(lock, &work.locker, NULL, on_locked, on_unlocked), 0);
}

static void test_locker(void **state)
{
    struct attempt other;
    (void)state;

    begin();
    for (size_t i = 0; i < LENGTH(locks); i++) {
        run(locks[i]);
        assert_true(run_until_count(live.loop, &work.locked, 1));
        assert_true(work.was_held);
        assert_true(uvzk_lock_is_held(locks[i]));
        if (locks[i] != &rwlock.read) {
            memset(&other, 0, sizeof(other));
            assert_int_equal(attempt_start_within(&other, locks[i], UVZK_TRY_ONCE), 0);
            assert_true(attempt_wait_told(live.loop, &other));
            assert_int_equal(other.status, UV_ETIMEDOUT);
        }
        assert_int_equal(work.unlocked, 0);
        assert_int_equal(uvzk_locker_done(&work.locker), 0);
        assert_true(run_until_count(live.loop, &work.unlocked, 1));
        assert_int_equal(work.status, 0);
        assert_int_equal(work.locked, 1);
        assert_false(uvzk_lock_is_held(locks[i]));
    }
    live_end(&live);
}

static void test_a_deleted_znode_ends_the_work(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < LENGTH(locks); i++) {
        run(locks[i]);
        assert_true(run_until_count(live.loop, &work.locked, 1));
        assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&work.locker.hold)), ZOK);
        assert_true(run_until_count(live.loop, &work.unlocked, 1));
        assert_int_equal(work.status, UVZK_EDELETED);
        assert_int_equal(uvzk_locker_done(&work.locker), UVZK_ENOTHELD);
    }
    live_end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locker),
        cmocka_unit_test(test_a_deleted_znode_ends_the_work),
    };

    return cmocka_run_group_tests_name("locker", tests, live_server_start,
                                       live_server_stop);
}
