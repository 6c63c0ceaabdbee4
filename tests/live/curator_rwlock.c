/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessReadWriteLock. */
#include "worker_pool.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/rwlock"
#define SESSION_MS 30000
#define CLIENTS 8
#define ROUNDS 100 /* of each of them */
#define WRITES_PERCENT 10

static struct world world;
static struct process a, b;
static uvzk_rwlock_t lock, other_lock; /* of each */
static struct hold reading, writing, contending;

static void make(struct process *process, uvzk_rwlock_t *handle)
{
    memset(handle, 0, sizeof(*handle));
    assert_int_equal(uvzk_rwlock_init(&process->client, handle, LOCK), 0);
}

static void begin(void)
{
    world_begin_one(&world, LOCK, &a);
    make(&a, &lock);
}

static void begin_other(void)
{
    world.options.hosts = server_hosts(live_server);
    process_begin(&b, &world, "b", NULL);
    make(&b, &other_lock);
}

static void take(struct hold *hold, uvzk_lock_t *half, void *owner)
{
    hold_take_for(hold, &a, half, owner);
}

/* --------------------------------------------------------------------- owners */

/* Curator's waits for itself until its time is over; here the call says so at once, and
 * nothing else happens. */
static void test_that_upgrading_is_disallowed(void **state)
{
    uvzk_acquire_options_t options;
    int owner, someone;
    (void)state;
    begin();
    take(&reading, &lock.read, &owner);
    uvzk_acquire_options_init(&options);
    options.owner = &owner;
    assert_int_equal(hold_ask(&writing, &a, &lock.write, &options), UVZK_EDEADLK);
    world_run_for(&world, 100);
    assert_int_equal(writing.answered, 0);
    assert_int_equal(world_children(&world, LOCK), 1);
    assert_true(hold_holds(&reading));

    /* Somebody else may well ask, and waits. */
    hold_begin_on_for(&contending, &a, &lock.write, &someone);
    hold_await_queued(&contending);
    hold_give_back(&reading);
    hold_await(&contending, PATIENCE_MS);
    hold_give_back(&contending);
    world_end(&world);
}

static void test_that_downgrading_respects_threads(void **state)
{
    uvzk_acquire_options_t options;
    int owner, someone;
    (void)state;
    begin();
    take(&writing, &lock.write, &owner);
    uvzk_acquire_options_init(&options);
    options.owner = &someone;
    options.timeout_ms = 500;
    uint64_t since = uvzk_now();
    hold_expect_timeout_with(&reading, &a, &lock.read, options);
    assert_true(uvzk_now() - since >= 500);
    assert_true(hold_holds(&writing));
    assert_false(uvzk_lock_is_held(&lock.read));
    assert_true(world_await_children(&world, LOCK, 1));
    take(&reading, &lock.read, &owner); /* but this one reads at once */
    hold_give_back(&reading);
    hold_give_back(&writing);
    world_end(&world);
}

static void test_downgrading(void **state)
{
    int owner;
    (void)state;
    begin();
    take(&writing, &lock.write, &owner);
    take(&reading, &lock.read, &owner);
    assert_int_equal(reading.queued, 0);
    assert_int_equal(reading.token, writing.token);
    hold_give_back(&writing);
    assert_true(hold_holds(&reading));
    assert_true(uvzk_hold_is_valid(&reading.request));
    assert_false(uvzk_lock_is_held(&lock.write));
    hold_give_back(&reading);
    world_end(&world);
}

/* CURATOR-621. The writer is another client's, so that it goes by the znodes alone. */
static void test_contending_downgrading(void **state)
{
    int owner;
    (void)state;
    begin();
    begin_other();
    take(&writing, &lock.write, &owner);
    hold_queue(&contending, &b, &other_lock.write);
    take(&reading, &lock.read, &owner);
    hold_give_back(&writing);
    assert_false(world_await(&world, &contending.answered, 1000));
    assert_true(uvzk_hold_is_valid(&reading.request));
    hold_give_back(&reading);
    hold_await(&contending, PATIENCE_MS);
    assert_true(contending.token > writing.token);
    hold_give_back(&contending);
    world_end(&world);
}

/* --------------------------------------------------------------------- a crowd */

static struct process processes[CLIENTS];
static uvzk_rwlock_t locks[CLIENTS];
static int most_readers;

static bool writes(const struct worker *worker)
{
    return worker->lock == &locks[worker->number].write;
}

static void choose_half(struct worker *worker)
{
    uvzk_rwlock_t *own = &locks[worker->number];
    worker->lock = seeded_below(&worker->pool->random, 100) < WRITES_PERCENT ? &own->write
                                                                             : &own->read;
}

static void check_halves(struct worker_pool *pool)
{
    int readers = 0, writers = 0;
    for (int i = 0; i < pool->count; i++) {
        const struct worker *worker = &pool->workers[i];
        readers += worker_holds(worker) && !writes(worker);
        writers += worker_holds(worker) && writes(worker);
    }
    assert_true(writers == 0 || (writers == 1 && readers == 0));
    most_readers = readers > most_readers ? readers : most_readers;
}

static void test_basic(void **state)
{
    static struct worker_pool pool;
    (void)state;
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = SESSION_MS;
    worker_pool_open(&pool, &world, CLIENTS);
    pool.prepare = choose_half;
    pool.check = check_halves;
    most_readers = 0;
    for (int i = 0; i < CLIENTS; i++) {
        process_begin(&processes[i], &world, "one", NULL);
        make(&processes[i], &locks[i]);
        worker_pool_assign(&pool, i, &processes[i], NULL, ROUNDS);
    }
    worker_pool_finish(&pool);
    assert_int_equal(pool.grants, CLIENTS * ROUNDS);
    assert_in_range(most_readers, 2, CLIENTS); /* they do overlap */
    world_end(&world);
    worker_pool_close(&pool);
}

/* ------------------------------------------------------------------- the znodes */

static void check_data(struct hold *hold, uvzk_lock_t *half, char *data)
{
    uvzk_acquire_options_t options;
    char text[64];
    uvzk_acquire_options_init(&options);
    snprintf(data, 16, "%s", "by this one");
    options.node_data = data;
    options.node_data_length = strlen(data);
    assert_int_equal(hold_ask(hold, &a, half, &options), 0);
    memset(data, 'x', strlen(data)); /* it has been copied */
    hold_await(hold, PATIENCE_MS);
    assert_int_equal(raw_get(world.raw, hold->path, text, sizeof(text)), ZOK);
    assert_string_equal(text, "by this one");
    hold_give_back(hold);
}

static void test_set_node_data(void **state)
{
    char data[16];
    (void)state;
    begin();
    check_data(&writing, &lock.write, data);
    check_data(&reading, &lock.read, data);
    world_end(&world);
}

/* The path is told for as long as it is held; Curator tells it also afterwards. */
static void test_lock_path(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    make(&a, &lock);
    begin_other();
    assert_null(uvzk_hold_path(&writing.request));
    take(&writing, &lock.write, NULL);
    assert_string_equal(writing.path, uvzk_hold_path(&writing.request));
    assert_int_equal(strncmp(writing.path, LOCK "/_c_", strlen(LOCK "/_c_")), 0);
    assert_non_null(strstr(writing.path, "-__WRIT__"));
    assert_int_equal(raw_exists(world.raw, writing.path, NULL), ZOK);
    hold_queue(&reading, &b, &other_lock.read);
    process_expire(&a);
    assert_int_equal(raw_exists(world.raw, writing.path, NULL), ZNONODE);
    hold_await(&reading, PATIENCE_MS);
    assert_non_null(strstr(reading.path, "-__READ__"));
    assert_true(world_await(&world, &writing.lost, PATIENCE_MS));
    assert_null(uvzk_hold_path(&writing.request));
    hold_give_back(&reading);
    world_end(&world);
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
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
