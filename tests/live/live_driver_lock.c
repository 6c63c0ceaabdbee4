/* Lock drivers on the real server: those of the examples, contended for by two clients,
 * and Curator's durable lock. */
#include "live.h"

#include <stdio.h>
#include <string.h>

#include "curator_client.h"
#include "drivers.h"

#define PATH "/drivers/lock"
#define CONTENDERS 10
#define ROUNDS 6
#define WORK_MS 3

static struct live live;
static struct curator_client other;

/* ----------------------------------------------------------------------- the crowd */

struct contender {
    uvzk_hold_t request;
    uvzk_lock_t *lock;
    uv_timer_t work;
    int rounds;
};

static struct contender contenders[CONTENDERS];
static int holding, most, left, failures;

static void begin_round(struct contender *contender);

static void on_released(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    failures += status != 0;
    if (++contender->rounds < ROUNDS) {
        begin_round(contender);
    } else {
        uv_close((uv_handle_t *)&contender->work, NULL);
        left--;
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
    failures++;
}

static void on_worked(uv_timer_t *timer)
{
    struct contender *contender = timer->data;

    holding--; /* from the release on it may be another's */
    failures += uvzk_hold_release(&contender->request, on_released) != 0;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    failures += status != 0;
    if (status == 0) {
        holding++;
        most = holding > most ? holding : most;
        uv_timer_start(&contender->work, on_worked, WORK_MS, 0);
    }
}

static void begin_round(struct contender *contender)
{
    failures += uvzk_lock_acquire(contender->lock, &contender->request, NULL, on_acquired,
                                  on_lost) != 0;
}

static bool over(void *context)
{
    (void)context;
    return left == 0 || failures > 0;
}

/* Ten contenders, half of them of each client, several times each. Returns how many
 * held together at most. */
static int contend(uvzk_lock_t *locks[2])
{
    memset(contenders, 0, sizeof(contenders));
    holding = most = failures = 0;
    left = CONTENDERS;
    for (int i = 0; i < CONTENDERS; i++) {
        contenders[i].lock = locks[i % 2];
        contenders[i].request.data = contenders[i].work.data = &contenders[i];
        assert_int_equal(uv_timer_init(live.loop, &contenders[i].work), 0);
        begin_round(&contenders[i]);
    }
    assert_true(run_until(live.loop, over, NULL, PATIENCE_MS));
    assert_int_equal(failures, 0);
    return most;
}

/* --------------------------------------------------------------------- the drivers */

static uvzk_lock_t mine, others;

static void open_locks(const char *path, const uvzk_lock_driver_t *driver)
{
    memset(&mine, 0, sizeof(mine));
    memset(&others, 0, sizeof(others));
    live_open(&live);
    curator_client_open(&other, live.loop, server_hosts(live_server), 10000,
                        server_tick_ms(live_server));
    assert_int_equal(uvzk_driver_lock_init(&live.client, &mine, path, driver), 0);
    assert_int_equal(uvzk_driver_lock_init(&other.client, &others, path, driver), 0);
}

static void end(const char *path)
{
    assert_true(live_wait_children(&live, path, 0));
    curator_client_assert_idle(&other);
    curator_client_close(&other);
    live_end(&live);
}

static void test_one_znode_for_everybody(void **state)
{
    static struct attempt first, second, third;
    uvzk_lock_driver_t driver;
    struct Stat stat;

    (void)state;
    exclusive_driver(&driver);
    open_locks("/exclusive_lock", &driver);
    assert_int_equal(attempt_start(&first, &mine, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_string_equal(uvzk_hold_path(&first.request), "/exclusive_lock/lock");
    assert_int_equal(raw_exists(live.raw, "/exclusive_lock/lock", &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, uvzk_client_session_id(&live.client));
    assert_int_equal(stat.czxid, first.token);
    assert_int_equal(attempt_start(&second, &others, NULL), 0);
    assert_int_equal(attempt_start(&third, &mine, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &second));
    assert_true(attempt_wait_queued(live.loop, &third));
    assert_int_equal(raw_children_count(live.raw, "/exclusive_lock"), 1);
    assert_int_equal(second.acquired + third.acquired, 0);
    assert_true(attempt_release_and_wait(live.loop, &first));
    struct attempt *next = &second, *last = &third; /* whichever came first */
    while (second.acquired + third.acquired == 0) {
        uv_run(live.loop, UV_RUN_ONCE);
    }
    if (third.acquired > 0) {
        next = &third;
        last = &second;
    }
    assert_true(next->token > first.token);
    assert_true(attempt_release_and_wait(live.loop, next));
    assert_true(attempt_wait_granted(live.loop, last));
    assert_true(last->token > next->token);
    assert_true(attempt_release_and_wait(live.loop, last));
    end("/exclusive_lock");
}

static void test_ten_contend_for_one_znode(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t *locks[2] = {&mine, &others};

    (void)state;
    exclusive_driver(&driver);
    open_locks("/exclusive_lock", &driver);
    assert_int_equal(contend(locks), 1);
    end("/exclusive_lock");
}

static void test_ten_contend_for_three_leases(void **state)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_t *locks[2] = {&mine, &others};

    (void)state;
    n_leases_driver(&driver, 3);
    open_locks(PATH, &driver);
    assert_int_equal(contend(locks), 3);
    end(PATH);
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
    assert_int_equal(uvzk_mutex_init(&other.client, &mutex, PATH), 0);
    assert_int_equal(contend(locks), 1);
    end(PATH);
}

/* ------------------------------------------------------------------ the durable one */

/* TestInterProcessMutex.testPersistentLock, and more: the hold survives too. */
static void test_persistent_lock(void **state)
{
    static struct attempt holds, waits;
    uvzk_lock_driver_t driver;
    char path[256];

    (void)state;
    n_leases_driver(&driver, 1);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    memset(&mine, 0, sizeof(mine));
    live_begin(&live);
    live_use_proxy(&live);
    live_start(&live);
    assert_int_equal(uvzk_driver_lock_init(&live.client, &mine, PATH, &driver), 0);
    assert_int_equal(attempt_start(&holds, &mine, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holds));
    assert_int_equal(attempt_start(&waits, &mine, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &waits));
    (void)snprintf(path, sizeof(path), "%s", uvzk_hold_path(&holds.request));
    int told = live.state_count;
    assert_int_equal(raw_expire_session(server_hosts(live_server), live.proxy.session_id,
                                        live.proxy.session_password),
                     0);
    assert_true(live_wait_state(&live, told, UVZK_STATE_LOST));
    assert_int_equal(raw_exists(live.raw, path, NULL), ZOK);
    assert_true(live_wait_state(&live, told, UVZK_STATE_RECONNECTED));
    assert_true(attempt_holds(&holds) && uvzk_hold_is_valid(&holds.request));
    assert_int_equal(waits.acquired, 0);
    assert_true(attempt_release_and_wait(live.loop, &holds));
    assert_int_equal(raw_exists(live.raw, path, NULL), ZNONODE);
    assert_true(attempt_wait_granted(live.loop, &waits)); /* it kept its place */
    assert_true(attempt_release_and_wait(live.loop, &waits));
    assert_true(live_wait_children(&live, PATH, 0));
    live_end(&live);
}

static void test_durable_hold_is_lost_by_deletion(void **state)
{
    static struct attempt holds;
    uvzk_lock_driver_t driver;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    open_locks(PATH, &driver);
    assert_int_equal(attempt_start(&holds, &mine, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holds));
    assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&holds.request)), ZOK);
    assert_true(attempt_wait_lost(live.loop, &holds));
    assert_int_equal(holds.lost_reason, UVZK_EDELETED);
    end(PATH);
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
    static struct attempt attempt;
    uvzk_lock_driver_t driver;
    uvzk_lock_t lock = {0};
    uvzk_acquire_options_t options;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.gets_the_lock = says_nonsense;
    open_locks(PATH, &driver);
    assert_int_equal(uvzk_driver_lock_init(NULL, &lock, PATH, &driver), UV_EINVAL);
    assert_int_equal(uvzk_driver_lock_init(&live.client, NULL, PATH, &driver), UV_EINVAL);
    assert_int_equal(uvzk_driver_lock_init(&live.client, &lock, NULL, &driver),
                     UV_EINVAL);
    assert_int_equal(uvzk_driver_lock_init(&live.client, &lock, PATH, NULL), UV_EINVAL);
    assert_int_equal(uvzk_driver_lock_init(&live.client, &lock, "no/slash", &driver),
                     UVZK_EPATH);
    assert_int_equal(uvzk_driver_lock_init(&live.client, &mine, PATH, &driver), UV_EBUSY);
    driver.name = "a/b";
    assert_int_equal(uvzk_driver_lock_init(&live.client, &lock, PATH, &driver),
                     UV_EINVAL);
    uvzk_acquire_options_init(&options);
    options.leases = 2;
    assert_int_equal(attempt_start(&attempt, &mine, &options), UV_EINVAL);
    assert_int_equal(attempt_start(&attempt, &mine, NULL), 0);
    assert_true(attempt_wait_told(live.loop, &attempt));
    assert_int_equal(attempt.status, UV_EINVAL);
    end(PATH);
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
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
