/* Curator's TestInterProcessReadWriteLock. */
#include "curator_client.h"
#include "curator_crowd.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/rwlock"
#define SESSION_MS 30000
#define CLIENTS 8
#define ROUNDS 100 /* of each of them */
#define WRITES_PERCENT 10

static struct live live;
static uvzk_rwlock_t lock, other_lock;
static struct curator_client other;
static struct attempt reading, writing, contending;

static void make(uvzk_client_t *client, uvzk_rwlock_t *shell)
{
    memset(shell, 0, sizeof(*shell));
    assert_int_equal(uvzk_rwlock_init(client, shell, LOCK), 0);
}

static void open_lock(void)
{
    live_open(&live);
    make(&live.client, &lock);
}

static void open_other(void)
{
    curator_client_open(&other, live.loop, server_hosts(live_server), SESSION_MS,
                        live.options.tick_ms);
    make(&other.client, &other_lock);
}

static void close_other(void)
{
    curator_client_assert_idle(&other);
    curator_client_close(&other);
}

static void end(void)
{
    assert_true(live_wait_children(&live, LOCK, 0));
    live_end(&live);
}

static void take(struct attempt *attempt, uvzk_lock_t *half, void *owner)
{
    assert_int_equal(attempt_start_for(attempt, half, owner), 0);
    assert_true(attempt_wait_granted(live.loop, attempt));
}

/* --------------------------------------------------------------------- owners */

/* Curator's waits for itself until its time is over; here the call says so at once, and
 * nothing else happens. */
static void test_that_upgrading_is_disallowed(void **state)
{
    int owner, someone;
    (void)state;
    open_lock();
    take(&reading, &lock.read, &owner);
    assert_int_equal(attempt_start_for(&writing, &lock.write, &owner), UVZK_EDEADLOCK);
    run_for(live.loop, 100);
    assert_int_equal(writing.acquired, 0);
    assert_int_equal(raw_children_count(live.raw, LOCK), 1);
    assert_true(attempt_holds(&reading));

    /* Somebody else may well ask, and waits. */
    assert_int_equal(attempt_start_for(&contending, &lock.write, &someone), 0);
    assert_true(attempt_wait_queued(live.loop, &contending));
    assert_true(attempt_release_and_wait(live.loop, &reading));
    assert_true(attempt_wait_granted(live.loop, &contending));
    assert_true(attempt_release_and_wait(live.loop, &contending));
    end();
}

static void test_that_downgrading_respects_threads(void **state)
{
    uvzk_acquire_options_t options;
    int owner, someone;
    (void)state;
    open_lock();
    take(&writing, &lock.write, &owner);
    uvzk_acquire_options_init(&options);
    options.owner = &someone;
    options.timeout_ms = 500;
    uint64_t begin = uvzk_now();
    assert_int_equal(attempt_start(&reading, &lock.read, &options), 0);
    assert_true(attempt_wait_told(live.loop, &reading));
    assert_int_equal(reading.status, UV_ETIMEDOUT);
    assert_true(uvzk_now() - begin >= 500);
    assert_true(attempt_holds(&writing));
    assert_false(uvzk_lock_is_held(&lock.read));
    assert_true(live_wait_children(&live, LOCK, 1));
    take(&reading, &lock.read, &owner); /* but this one reads at once */
    assert_true(attempt_release_and_wait(live.loop, &reading));
    assert_true(attempt_release_and_wait(live.loop, &writing));
    end();
}

static void test_downgrading(void **state)
{
    int owner;
    (void)state;
    open_lock();
    take(&writing, &lock.write, &owner);
    take(&reading, &lock.read, &owner);
    assert_int_equal(reading.queued, 0);
    assert_int_equal(reading.token, writing.token);
    assert_true(attempt_release_and_wait(live.loop, &writing));
    assert_true(attempt_holds(&reading));
    assert_true(uvzk_hold_is_valid(&reading.request));
    assert_false(uvzk_lock_is_held(&lock.write));
    assert_true(attempt_release_and_wait(live.loop, &reading));
    end();
}

static bool writer_got_in(void *context)
{
    (void)context;
    return contending.acquired > 0;
}

/* CURATOR-621. The writer is another client's, so that it goes by the znodes alone. */
static void test_contending_downgrading(void **state)
{
    int owner;
    (void)state;
    open_lock();
    open_other();
    take(&writing, &lock.write, &owner);
    assert_int_equal(attempt_start(&contending, &other_lock.write, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &contending));
    take(&reading, &lock.read, &owner);
    assert_true(attempt_release_and_wait(live.loop, &writing));
    assert_false(run_until(live.loop, writer_got_in, NULL, 1000));
    assert_true(uvzk_hold_is_valid(&reading.request));
    assert_true(attempt_release_and_wait(live.loop, &reading));
    assert_true(attempt_wait_granted(live.loop, &contending));
    assert_true(contending.token > writing.token);
    assert_true(attempt_release_and_wait(live.loop, &contending));
    close_other();
    end();
}

/* --------------------------------------------------------------------- a crowd */

static struct curator_client clients[CLIENTS];
static uvzk_rwlock_t locks[CLIENTS];
static int most_readers;

static bool writes(const struct worker *worker)
{
    return worker->lock == &locks[worker->number].write;
}

static void choose_half(struct worker *worker)
{
    uvzk_rwlock_t *own = &locks[worker->number];
    worker->lock = seeded_below(&worker->crowd->random, 100) < WRITES_PERCENT
                       ? &own->write
                       : &own->read;
}

static void check_halves(struct crowd *crowd)
{
    int readers = 0, writers = 0;
    for (int i = 0; i < crowd->count; i++) {
        const struct worker *worker = &crowd->workers[i];
        readers += worker_holds(worker) && !writes(worker);
        writers += worker_holds(worker) && writes(worker);
    }
    assert_true(writers == 0 || (writers == 1 && readers == 0));
    most_readers = readers > most_readers ? readers : most_readers;
}

static void test_basic(void **state)
{
    static struct crowd crowd;
    (void)state;
    live_begin(&live);
    crowd_open(&crowd, CLIENTS);
    crowd.prepare = choose_half;
    crowd.check = check_halves;
    most_readers = 0;
    for (int i = 0; i < CLIENTS; i++) {
        curator_client_open(&clients[i], live.loop, server_hosts(live_server), SESSION_MS,
                            live.options.tick_ms);
        make(&clients[i].client, &locks[i]);
        crowd.workers[i].rounds = ROUNDS;
    }
    crowd_finish(&crowd, live.loop);
    assert_int_equal(crowd.grants, CLIENTS * ROUNDS);
    assert_in_range(most_readers, 2, CLIENTS); /* they do overlap */
    for (int i = 0; i < CLIENTS; i++) {
        curator_client_assert_idle(&clients[i]);
        curator_client_close(&clients[i]);
    }
    crowd_close(&crowd);
    end();
}

/* ------------------------------------------------------------------- the znodes */

static void check_data(struct attempt *attempt, uvzk_lock_t *half, char *data)
{
    uvzk_acquire_options_t options;
    char text[64];
    uvzk_acquire_options_init(&options);
    snprintf(data, 16, "%s", "by this one");
    options.node_data = data;
    options.node_data_length = strlen(data);
    assert_int_equal(attempt_start(attempt, half, &options), 0);
    memset(data, 'x', strlen(data)); /* it has been copied */
    assert_true(attempt_wait_granted(live.loop, attempt));
    assert_int_equal(
        raw_get(live.raw, uvzk_hold_path(&attempt->request), text, sizeof(text)), ZOK);
    assert_string_equal(text, "by this one");
    assert_true(attempt_release_and_wait(live.loop, attempt));
}

static void test_set_node_data(void **state)
{
    char data[16];
    (void)state;
    open_lock();
    check_data(&writing, &lock.write, data);
    check_data(&reading, &lock.read, data);
    end();
}

/* The path is told for as long as it is held; Curator tells it also afterwards. */
static void test_lock_path(void **state)
{
    char path[256];
    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    live_start(&live);
    make(&live.client, &lock);
    open_other();
    assert_null(uvzk_hold_path(&writing.request));
    take(&writing, &lock.write, NULL);
    snprintf(path, sizeof(path), "%s", uvzk_hold_path(&writing.request));
    assert_int_equal(strncmp(path, LOCK "/_c_", strlen(LOCK "/_c_")), 0);
    assert_non_null(strstr(path, "-__WRIT__"));
    assert_int_equal(raw_exists(live.raw, path, NULL), ZOK);
    assert_int_equal(attempt_start(&reading, &other_lock.read, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &reading));
    assert_int_equal(raw_expire_session(server_hosts(live_server), live.proxy.session_id,
                                        live.proxy.session_password),
                     0);
    assert_int_equal(raw_exists(live.raw, path, NULL), ZNONODE);
    assert_true(attempt_wait_granted(live.loop, &reading));
    assert_non_null(strstr(uvzk_hold_path(&reading.request), "-__READ__"));
    assert_true(attempt_wait_lost(live.loop, &writing));
    assert_null(uvzk_hold_path(&writing.request));
    assert_true(attempt_release_and_wait(live.loop, &reading));
    close_other();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_that_upgrading_is_disallowed),
        cmocka_unit_test(test_that_downgrading_respects_threads),
        cmocka_unit_test(test_downgrading),
        cmocka_unit_test(test_contending_downgrading),
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_set_node_data),
        cmocka_unit_test(test_lock_path),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
