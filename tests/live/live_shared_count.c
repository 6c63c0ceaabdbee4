/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestSharedCount, test by test, on a real server; strict where Curator's
 * tests are content with less. */
#include <stdlib.h>

#include "counter.h"

#define COUNT "/count"
#define CLIENTS 5
#define VALUES 100
#define RESTARTS 10

static struct world world;
static struct process processes[CLIENTS];
static struct counter counters[CLIENTS]; /* of each */

static void begin(void)
{
    world_begin(&world, NULL);
    world.options.retry.kind = UVZK_RETRY_N_TIMES;
    world.options.retry.base_ms = 1000;
    world.options.retry.max_retries = 10;
}

static void join(int i, int32_t seed)
{
    process_make(&processes[i], &world, "one", NULL);
    counter_begin(&counters[i], &processes[i], COUNT, seed);
    process_start(&processes[i]);
}

/* A process that has been told the first value. */
static struct counter *open_one(int32_t seed)
{
    join(0, seed);
    counter_await(&counters[0], 1);
    return &counters[0];
}

static void open_two(int32_t seed, int32_t other_seed)
{
    (void)open_one(seed);
    join(1, other_seed);
    counter_await(&counters[1], 1);
}

/* A count goes with its client. Removes the znode too: the next test begins anew. */
static void end(void)
{
    while (world.processes != NULL) {
        process_end(world.processes);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_null(counters[i].count.impl);
    }
    assert_int_equal(raw_delete(world.raw, COUNT), ZOK);
    world_end(&world);
}

/* As it stands on the server: four bytes, the high one first. */
static void assert_znode(char low_byte, int32_t version)
{
    const char expected[4] = {0, 0, 0, low_byte};
    struct Stat stat;

    world_assert_data(&world, COUNT, expected, 4);
    assert_int_equal(raw_exists(world.raw, COUNT, &stat), ZOK);
    assert_int_equal(stat.version, version);
    assert_int_equal(stat.ephemeralOwner, 0);
}

static void set_by_another(char low_byte)
{
    const char bytes[4] = {0, 0, 0, low_byte};

    world_set_data(&world, COUNT, bytes, 4);
}

/* ----------------------------------------------------------------------- the tests */

static void await_everyone(int told)
{
    for (int i = 0; i < CLIENTS; i++) {
        counter_await(&counters[i], told);
    }
}

/* All see the same values in the same order; here also each of them, once. */
static void test_multi_clients(void **state)
{
    int32_t values[VALUES];

    (void)state;
    begin();
    for (int i = 0; i < CLIENTS; i++) {
        join(i, 10);
    }
    await_everyone(1);
    srand(20261121);
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int32_t)rand() * (i % 2 == 0 ? 1 : -1);
        assert_int_equal(counter_set(&counters[i % CLIENTS], values[i]), 0);
        await_everyone(2 + i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(counters[i].told, VALUES + 1);
        assert_int_equal(counters[i].troubles, 0);
        assert_int_equal(counters[i].seen[0], 10);
        assert_memory_equal(counters[i].seen + 1, values, sizeof(values));
    }
    end();
}

static void test_simple(void **state)
{
    (void)state;
    begin();
    struct counter *counter = open_one(0);
    assert_znode(0, 0);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(counter_try_set(counter, counter_version(counter), 5 * i), 0);
        assert_int_equal(counter_value(counter), 5 * i);
        counter_await(counter, 1 + i);
        assert_int_equal(counter->seen[i], 5 * i);
    }
    world_run_for(&world, 200);
    assert_int_equal(counter->told, 4); /* its own sets are not told twice */
    assert_znode(15, 3);
    end();
}

static void test_simple_versioned(void **state)
{
    uvzk_req_t request = {.data = NULL};

    (void)state;
    begin();
    struct counter *counter = open_one(0);
    assert_int_equal(counter_version(counter).version, 0);
    assert_int_equal(counter_set(counter, 1), 0);
    assert_int_equal(counter_version(counter).version, 1);
    assert_int_equal(counter_set(counter, 1), 0); /* the same value is a new version */
    uvzk_value_version_t current = counter_version(counter);
    assert_int_equal(current.version, 2);

    uvzk_value_version_t wrong = current;
    wrong.mzxid--;
    assert_int_equal(counter_try_set(counter, wrong, 3), UVZK_EBADVERSION);
    wrong = current;
    wrong.version--;
    assert_int_equal(counter_try_set(counter, wrong, 4), UVZK_EBADVERSION);
    wrong.version = -1; /* which would be any, to ZooKeeper */
    assert_int_equal(
        uvzk_shared_count_try_set(&counter->count, &request, &wrong, 5, NULL), UV_EINVAL);
    assert_znode(1, 2);
    assert_int_equal(counter_try_set(counter, current, 6), 0);
    assert_int_equal(counter_version(counter).version, 3);

    current = counter_version(counter);
    set_by_another(9); /* unknown to the count as yet */
    assert_int_equal(counter_try_set(counter, current, 7), UVZK_EBADVERSION);
    assert_int_equal(counter_value(counter), 9); /* but known by now */
    assert_znode(9, 4);
    end();
}

static void test_multi_client_versioned(void **state)
{
    struct counter *one = &counters[0], *two = &counters[1];

    (void)state;
    begin();
    open_two(1, 1);
    uvzk_value_version_t by_one = counter_version(one), by_two = counter_version(two);
    assert_true(by_one.mzxid == by_two.mzxid);
    assert_int_equal(counter_try_set(one, by_one, 10), 0);
    assert_int_equal(counter_try_set(two, by_two, 20), UVZK_EBADVERSION);
    assert_int_equal(counter_value(two), 10); /* it was read again before that was told */
    assert_int_equal(counter_try_set(two, counter_version(two), 20), 0);
    counter_await(one, 3);
    assert_int_equal(counter_value(one), 20);
    assert_znode(20, 2);
    end();
}

static void test_multi_client_different_seed(void **state)
{
    (void)state;
    begin();
    open_two(10, 20);
    assert_int_equal(counter_value(&counters[0]), 10);
    assert_int_equal(counter_value(&counters[1]), 10);
    assert_znode(10, 0);
    end();
}

/* SUSPENDED is told while the value is being read: nothing waits for retries. */
static void test_disconnect_event_on_watcher_does_not_retry(void **state)
{
    struct counter_set set;

    (void)state;
    begin();
    world_use_proxy(&world);
    struct counter *counter = open_one(10);
    proxy_hold_requests(&world.proxy);
    set_by_another(11); /* the watch fires, the read that follows is held */
    world_run_for(&world, 100);
    proxy_refuse(&world.proxy);
    assert_true(world_await(&world, &processes[0].suspended, PATIENCE_MS));
    counter_begin_set(counter, &set, 12);
    world_run_for(&world, 500);
    assert_int_equal(set.told, 0); /* it waits, and blocks nobody */
    assert_int_equal(counter->told, 1);
    assert_int_equal(counter->troubles, 0);
    proxy_pass(&world.proxy);
    assert_int_equal(counter_end_set(counter, &set), 0);
    assert_int_equal(counter_value(counter), 12);
    end();
}

static void wait_suspended(int i, int times)
{
    assert_true(world_await_count(&world, &processes[i].suspended, times, PATIENCE_MS));
}

/* Curator allows one event after the reconnection; here there is none either. */
static void test_disconnect_reconnect_event_does_not_fire_value_watcher(void **state)
{
    (void)state;
    begin();
    world_use_proxy(&world);
    struct counter *counter = open_one(10);
    for (int i = 1; i <= 3; i++) {
        proxy_refuse(&world.proxy);
        wait_suspended(0, i);
        proxy_pass(&world.proxy);
        assert_int_equal(counter_set(counter, 10 + i), 0); /* it is connected again */
        counter_await(counter, 1 + i);
        world_run_for(&world, 100);
        assert_int_equal(counter->told, 1 + i);
        assert_int_equal(counter->troubles, 0);
    }
    set_by_another(99);
    counter_await(counter, 5);
    assert_int_equal(counter_value(counter), 99);
    end();
}

/* One is cut off while another sets the value and the server restarts. */
static void test_disconnect_reconnect_with_multiple_clients(void **state)
{
    struct counter *one = &counters[0], *two = &counters[1];

    (void)state;
    begin();
    join(0, 0);
    world_use_proxy(&world);
    join(1, 0);
    counter_await(one, 1);
    counter_await(two, 1);
    for (int i = 1; i <= RESTARTS; i++) {
        proxy_refuse(&world.proxy);
        wait_suspended(1, i);
        assert_int_equal(counter_set(one, i), 0);
        assert_true(server_restart(live_server));
        proxy_pass(&world.proxy);
        counter_await(two, 2 * i);
        assert_int_equal(counter_value(two), i);
        assert_int_equal(two->seen[2 * i - 1], i);
        assert_int_equal(counter_set(two, i), 0); /* to know that it is connected */
        counter_await(two, 1 + 2 * i);
        counter_await(one, 1 + 2 * i);
    }
    assert_int_equal(one->troubles + two->troubles, 0);
    world_look_again(&world);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multi_clients),
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_simple_versioned),
        cmocka_unit_test(test_multi_client_versioned),
        cmocka_unit_test(test_multi_client_different_seed),
        cmocka_unit_test(test_disconnect_event_on_watcher_does_not_retry),
        cmocka_unit_test(test_disconnect_reconnect_event_does_not_fire_value_watcher),
        cmocka_unit_test(test_disconnect_reconnect_with_multiple_clients),
    };

    return cmocka_run_group_tests_name("shared count", tests, servers_start_one,
                                       servers_stop);
}
