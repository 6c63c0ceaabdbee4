/* SPDX-License-Identifier: Apache-2.0 */
/* A connection is lost when it has told of a part of what has changed: the next one tells
 * of the rest. The waiters wait at two semaphores, whose holds are released by one
 * transaction. What is missed is only found when the watches are renewed, once in a
 * session timeout. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SESSION_MS 30000
#define SOON_MS (SESSION_MS / 2)
#define SET_WATCHES_XID (-8)
#define EVENT_XID (-1)

enum { SEMAPHORES = 2, VALUES = 140, PATH_LENGTH = 990 };

static struct world world;
static struct process holder, waiter;
static uvzk_semaphore_t held[SEMAPHORES], wanted[SEMAPHORES];
static struct hold holds[SEMAPHORES], waits[SEMAPHORES];
static uvzk_shared_value_t values[VALUES];
static int values_known;

static void begin(void)
{
    static const char *const paths[] = {"/missed/a", "/missed/b"};

    world_begin(&world, "/missed/turns");
    /* No containers, whose removal would be an event as well. */
    world_make_path(&world, "/missed/a/leases");
    world_make_path(&world, "/missed/b/leases");
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&holder, &world, "holder", NULL);
    world_use_proxy(&world);
    process_begin(&waiter, &world, "waiter", NULL);
    for (int i = 0; i < SEMAPHORES; i++) {
        assert_int_equal(uvzk_semaphore_init(&holder.client, &held[i], paths[i], 1, NULL),
                         0);
        assert_int_equal(
            uvzk_semaphore_init(&waiter.client, &wanted[i], paths[i], 1, NULL), 0);
        hold_take_on(&holds[i], &holder, &held[i], 1);
    }
}

/* Each waiter watches the leases: the turn's replies come behind those that arm. */
static void wait_in_vain(void)
{
    uint64_t before = process_watches(&waiter);
    uint64_t since = world_now(&world);

    for (int i = 0; i < SEMAPHORES; i++) {
        hold_begin_on(&waits[i], &waiter, &wanted[i], 1, UVZK_WAIT_FOREVER);
    }
    while (process_watches(&waiter) < before + SEMAPHORES) {
        assert_true(world_turn(&world, since));
    }
    process_take_turn(&waiter);
}

/* In one turn, so in one transaction. */
static void release(void)
{
    for (int i = 0; i < SEMAPHORES; i++) {
        hold_release(&holds[i]);
    }
    for (int i = 0; i < SEMAPHORES; i++) {
        hold_await_released(&holds[i], PATIENCE_MS, 0);
    }
}

static void value_cb(uvzk_shared_value_t *value, int status)
{
    (void)value;
    values_known += status == 0;
}

/* So many, and with paths so long, that one request cannot arm all watches again. */
static void watch_values(void)
{
    char path[PATH_LENGTH + 1] = "/missed/v";
    size_t length = strlen(path);

    memset(path + length, 'v', PATH_LENGTH - length);
    for (int i = 0; i < VALUES; i++) {
        snprintf(path + PATH_LENGTH - 4, 5, "%04d", i);
        assert_int_equal(
            uvzk_shared_value_init(&waiter.client, &values[i], path, "", 0, value_cb), 0);
    }
    assert_true(world_await_count(&world, &values_known, VALUES, PATIENCE_MS));
}

/* A semaphore that stays open keeps its watch on the leases for a session timeout. */
static void close_semaphores(void)
{
    for (int i = 0; i < SEMAPHORES; i++) {
        assert_int_equal(uvzk_lock_close(&wanted[i], NULL), 0);
        assert_int_equal(uvzk_lock_close(&held[i], NULL), 0);
    }
}

static void close_cb(uvzk_shared_value_t *value)
{
    (void)value;
    values_known--;
}

static void close_values(void)
{
    uint64_t since = world_now(&world);

    for (int i = 0; i < values_known; i++) {
        assert_int_equal(uvzk_shared_value_close(&values[i], close_cb), 0);
    }
    while (values_known > 0) {
        assert_true(world_turn(&world, since));
    }
}

static void end(void)
{
    assert_int_equal(world.proxy.cuts, 1);
    for (int i = 0; i < SEMAPHORES; i++) {
        hold_await(&waits[i], SOON_MS);
        hold_give_back(&waits[i]);
    }
    close_values();
    close_semaphores();
    world_end(&world);
}

/* As a server of ZooKeeper 3.9 sends events: with the zxid of the transaction. */
static void test_connection_is_lost_between_two_events(void **state)
{
    struct Stat stat;
    (void)state;
    begin();
    wait_in_vain();
    proxy_hold_replies(&world.proxy);
    release();
    assert_int_equal(raw_create(world.raw, "/missed/after"), ZOK);
    assert_int_equal(raw_exists(world.raw, "/missed/after", &stat), ZOK);
    assert_int_equal(raw_delete(world.raw, "/missed/after"), ZOK);
    world.proxy.event_zxid = stat.czxid;
    proxy_cut_behind(&world.proxy, EVENT_XID);
    proxy_pass(&world.proxy);
    assert_true(world_await(&world, &waiter.suspended, SOON_MS));
    end();
}

/* A loop that is slow hears of the second loss when the connection is back: it is not told
 * of it then, so the proxy is asked. */
static void test_connection_is_lost_between_two_rearmings(void **state)
{
    (void)state;
    begin();
    watch_values();
    wait_in_vain();
    proxy_refuse(&world.proxy);
    release();
    proxy_cut_behind(&world.proxy, SET_WATCHES_XID);
    proxy_pass(&world.proxy);
    assert_true(world_await_count(&world, &world.proxy.cuts, 1, SOON_MS));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connection_is_lost_between_two_events),
        cmocka_unit_test(test_connection_is_lost_between_two_rearmings),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
