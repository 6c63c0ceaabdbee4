/* SPDX-License-Identifier: Apache-2.0 */
/* Lockers over the simulator, on locks of every kind: whatever happens while one is
 * asked for, works or lets go, its callback comes once, with the right status, and
 * nothing is left. */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct worker {
    uvzk_locker_t locker;
    int locked, unlocked, status;
    bool done;    /* uvzk_locker_done has been called, and said 0 */
    bool at_once; /* it is done as soon as it is locked */
};

static struct world world;
static struct process process;
static uvzk_mutex_t second;
static uvzk_semaphore_mutex_t semaphore_mutex;
static uvzk_multilock_t at_once, in_turn;

static uvzk_lock_t *const locks[] = {&process.mutex,
                                     &process.rwlock.read,
                                     &process.rwlock.write,
                                     &process.semaphore,
                                     &semaphore_mutex,
                                     &at_once,
                                     &in_turn};

static void begin(void)
{
    uvzk_client_t *client = &process.client;
    uvzk_lock_t *const mutexes[] = {&process.mutex, &second};
    uvzk_lock_t *const mixed[] = {&process.mutex, &process.rwlock.write};

    memset(&second, 0, sizeof(second));
    memset(&semaphore_mutex, 0, sizeof(semaphore_mutex));
    memset(&at_once, 0, sizeof(at_once));
    memset(&in_turn, 0, sizeof(in_turn));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_make(&process, &world, "a", NULL);
    process_make_rwlock(&process, "/a/rwlock");
    process_make_semaphore(&process, "/a/semaphore", 1);
    assert_int_equal(uvzk_mutex_init(client, &second, "/a/second"), 0);
    assert_int_equal(uvzk_semaphore_mutex_init(client, &semaphore_mutex, "/a/sm"), 0);
    assert_int_equal(uvzk_multilock_init(client, &at_once, mutexes, 2, 0, NULL), 0);
    assert_int_equal(uvzk_multilock_init(client, &in_turn, mixed, 2, 0, NULL), 0);
    process_start(&process);
}

static void finish(struct worker *worker)
{
    if (!worker->done) {
        worker->done = uvzk_locker_done(&worker->locker) == 0;
    }
}

static void on_locked(uvzk_locker_t *locker)
{
    struct worker *worker = locker->data;

    if (worker->locked++ > 0 || worker->unlocked > 0 ||
        !uvzk_hold_is_valid(&locker->hold)) {
        world_fail(&world, "locked out of order");
    }
    if (worker->at_once) {
        finish(worker);
        assert_true(worker->done);
    }
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    struct worker *worker = locker->data;

    if (worker->unlocked++ > 0 || locker->impl != NULL || locker->hold.impl != NULL ||
        (status == 0 && !worker->done)) {
        world_fail(&world, "unlocked out of order");
    }
    worker->status = status;
}

static int run(struct worker *worker, uvzk_lock_t *lock,
               const uvzk_acquire_options_t *options)
{
    memset(worker, 0, sizeof(*worker));
    worker->locker.data = worker;
    worker->status = HOLD_NO_STATUS;
    return uvzk_lock_run(lock, &worker->locker, options, on_locked, on_unlocked);
}

static void await_locked(struct worker *worker)
{
    assert_true(world_await(&world, &worker->locked, 60000));
}

static void await_unlocked(struct worker *worker, int status)
{
    assert_true(world_await(&world, &worker->unlocked, 60000));
    assert_int_equal(worker->status, status);
}

/* --------------------------------------------------------------------- what it does */

static void test_locker(void **state)
{
    struct worker worker, next;
    (void)state;

    begin();
    for (size_t i = 0; i < LENGTH(locks); i++) {
        assert_int_equal(run(&worker, locks[i], NULL), 0);
        assert_int_equal(worker.locked, 0);
        assert_int_equal(uvzk_locker_done(&worker.locker), UVZK_ENOTHELD); /* not yet */
        await_locked(&worker);
        assert_true(uvzk_lock_is_held(locks[i]));
        assert_true(uvzk_hold_token(&worker.locker.hold) > 0);
        assert_int_equal(run(&next, locks[i], NULL), 0);
        next.at_once = true;
        world_run_for(&world, 200);
        assert_int_equal(next.locked, locks[i] == &process.rwlock.read);
        assert_int_equal(worker.unlocked, 0);
        finish(&worker);
        assert_true(worker.done);
        assert_int_equal(worker.unlocked, 0); /* never from inside the call */
        assert_int_equal(uvzk_locker_done(&worker.locker), UVZK_ENOTHELD); /* before */
        await_unlocked(&worker, 0);
        await_unlocked(&next, 0);
        assert_int_equal(next.locked, 1);
        assert_false(uvzk_lock_is_held(locks[i]));
        assert_int_equal(uvzk_locker_done(&worker.locker), UVZK_ENOTHELD);
    }
    world_release_and_end(&world);
}

static void test_who_is_not_granted_never_works(void **state)
{
    uvzk_acquire_options_t options;
    struct worker worker, late;
    (void)state;

    begin();
    uvzk_acquire_options_init(&options);
    options.timeout_ms = 100;
    assert_int_equal(run(&worker, &process.mutex, NULL), 0);
    await_locked(&worker);
    assert_int_equal(run(&late, &process.mutex, &options), 0);
    await_unlocked(&late, UV_ETIMEDOUT);
    assert_int_equal(run(&late, &process.mutex, NULL), 0);
    assert_int_equal(uvzk_hold_cancel(&late.locker.hold), 0);
    await_unlocked(&late, UV_ECANCELED);
    assert_int_equal(late.locked, 0);
    finish(&worker);
    await_unlocked(&worker, 0);
    world_release_and_end(&world);
}

static void test_a_lost_hold_ends_the_work(void **state)
{
    struct worker worker;
    (void)state;

    begin();
    world.holder_deleted = true;
    assert_int_equal(run(&worker, &process.mutex, NULL), 0);
    await_locked(&worker);
    assert_int_equal(sim_delete_by_hand(world.sim, uvzk_hold_path(&worker.locker.hold)),
                     0);
    await_unlocked(&worker, UVZK_EDELETED);
    assert_int_equal(uvzk_locker_done(&worker.locker), UVZK_ENOTHELD);
    world_release_and_end(&world);
}

static void test_refuses_bad_input(void **state)
{
    uvzk_acquire_options_t options;
    struct worker worker;
    uvzk_lock_t closed = {0};
    uvzk_locker_t copy;
    (void)state;

    begin();
    assert_int_equal(run(&worker, NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_run(&process.mutex, NULL, NULL, on_locked, on_unlocked),
                     UV_EINVAL);
    assert_int_equal(
        uvzk_lock_run(&process.mutex, &worker.locker, NULL, NULL, on_unlocked),
        UV_EINVAL);
    assert_int_equal(uvzk_lock_run(&process.mutex, &worker.locker, NULL, on_locked, NULL),
                     UV_EINVAL);
    assert_int_equal(run(&worker, &closed, NULL), UVZK_ECLOSED);
    uvzk_acquire_options_init(&options);
    options.timeout_ms = -2;
    assert_int_equal(run(&worker, &process.mutex, &options), UV_EINVAL);
    assert_null(worker.locker.impl);
    assert_int_equal(uvzk_locker_done(NULL), UV_EINVAL);
    assert_int_equal(uvzk_locker_done(&worker.locker), UVZK_ENOTHELD);
    assert_int_equal(run(&worker, &process.mutex, NULL), 0);
    assert_int_equal(
        uvzk_lock_run(&process.mutex, &worker.locker, NULL, on_locked, on_unlocked),
        UV_EBUSY);
    await_locked(&worker);
    copy = worker.locker;
    assert_int_equal(uvzk_locker_done(&copy), UVZK_ENOTHELD); /* a copy is no locker */
    finish(&worker);
    await_unlocked(&worker, 0);
    world_release_and_end(&world);
}

/* ---------------------------------------------------------- disturbed at every step */

static struct worker workers[2];

static void close_client(uvzk_lock_t *lock)
{
    (void)lock;
    process_close(&process);
}

static void close_lock(uvzk_lock_t *lock)
{
    assert_int_equal(uvzk_lock_close(lock, NULL), 0);
}

static void cancel(uvzk_lock_t *lock)
{
    (void)lock;
    for (int i = 0; i < 2; i++) {
        (void)uvzk_hold_cancel(&workers[i].locker.hold);
    }
}

static void cut_off(uvzk_lock_t *lock)
{
    (void)lock;
    sim_disconnect(process.port, SIM_RESET, 300);
}

static void expire(uvzk_lock_t *lock)
{
    (void)lock;
    (void)sim_expire(process.port);
}

static bool is_expected(int status)
{
    switch (status) {
    case 0:
    case UV_ECANCELED:
    case UVZK_ECLOSED:
    case UVZK_EEXPIRED:
    case UVZK_EPROOF:
    case UVZK_ELOST:
    case UVZK_EDELETED: /* by the end of the session, which is told behind it */
        return true;
    default:
        return false;
    }
}

/* Two take turns, and the lock is disturbed after so many steps. Whether that came
 * before the end. */
static bool disturb(uvzk_lock_t *lock, void (*disturbance)(uvzk_lock_t *), int steps)
{
    begin();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&workers[i], lock, NULL), 0);
        workers[i].at_once = true;
    }
    for (int i = 0; i < steps && workers[1].unlocked == 0; i++) {
        world_steps(&world, 1);
    }
    bool in_time = workers[1].unlocked == 0;
    disturbance(lock);
    for (int i = 0; i < 2; i++) {
        assert_true(world_await(&world, &workers[i].unlocked, 60000));
        if (!is_expected(workers[i].status)) {
            world_fail(&world, "it ends with %s", uvzk_err_name(workers[i].status));
        }
        assert_true(workers[i].status != 0 || workers[i].locked == 1);
    }
    world_release_and_end(&world);
    return in_time;
}

static void test_disturbed_at_every_step(void **state)
{
    void (*const disturbances[])(uvzk_lock_t *) = {close_client, close_lock, cancel,
                                                   cut_off, expire};
    (void)state;

    for (size_t i = 0; i < LENGTH(locks); i++) {
        for (size_t j = 0; j < LENGTH(disturbances); j++) {
            int steps = 0;
            while (disturb(locks[i], disturbances[j], steps)) {
                steps++;
            }
            assert_true(steps > 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locker),
        cmocka_unit_test(test_who_is_not_granted_never_works),
        cmocka_unit_test(test_a_lost_hold_ends_the_work),
        cmocka_unit_test(test_refuses_bad_input),
        cmocka_unit_test(test_disturbed_at_every_step),
    };

    return cmocka_run_group_tests_name("locker", tests, NULL, NULL);
}
