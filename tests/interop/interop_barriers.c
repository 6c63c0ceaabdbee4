/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's DistributedBarrier and DistributedDoubleBarrier at the
 * same paths: each waits for the other's barrier, counts the other's members, and leaves
 * together with them. */
#include <stdio.h>
#include <string.h>

#include "other_side.h"

#define THEIRS 4

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_barrier_t barrier;
static uvzk_double_barrier_t member;
static uvzk_req_t call;
static int told, status_told, closed;

static void on_call(uvzk_req_t *of, int status)
{
    (void)of;
    told++;
    status_told = status;
}

static void on_closed(uvzk_double_barrier_t *of)
{
    (void)of;
    closed++;
}

static void await_call(int status)
{
    assert_true(world_await_count(&world, &told, 1, PATIENCE_MS));
    assert_int_equal(status_told, status);
}

static void begin(void)
{
    memset(&barrier, 0, sizeof(barrier));
    memset(&member, 0, sizeof(member));
    both_sides_begin(&world, NULL, &us, &curator);
}

static void end(void)
{
    both_sides_end(&world, &curator);
}

/* ------------------------------------------------------------------------- barrier */

static void we_wait(int64_t timeout_ms)
{
    told = 0;
    assert_int_equal(uvzk_barrier_wait(&barrier, &call, timeout_ms, on_call), 0);
}

static void we_set(void)
{
    told = 0;
    assert_int_equal(uvzk_barrier_set(&barrier, &call, on_call), 0);
    await_call(0);
}

static void we_remove(void)
{
    told = 0;
    assert_int_equal(uvzk_barrier_remove(&barrier, &call, on_call), 0);
    await_call(0);
}

static void test_each_waits_for_the_others_barrier(void **state)
{
    const char *path = "/interop/barrier/b";
    struct Stat stat;

    (void)state;
    begin();
    assert_int_equal(uvzk_barrier_init(&us.client, &barrier, path), 0);
    assert_non_null(peer_ask(&curator, "passed j", "wait j %s 10000", path));
    we_set();
    assert_int_equal(raw_exists(world.raw, path, &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_non_null(peer_ask(&curator, "set", "set %s", path)); /* it is set already */
    assert_non_null(peer_ask(&curator, "timeout j", "wait j %s 300", path));
    peer_say(&curator, "wait j %s 60000", path);
    assert_true(other_side_wait_watches(&us, path));
    we_remove();
    assert_non_null(peer_expect(&curator, "passed j"));

    assert_non_null(peer_ask(&curator, "set", "set %s", path));
    we_wait(300);
    await_call(UV_ETIMEDOUT);
    we_wait(UVZK_WAIT_FOREVER);
    assert_true(our_side_wait_watches(&us, path));
    assert_int_equal(told, 0);
    assert_non_null(peer_ask(&curator, "removed", "remove %s", path));
    await_call(0);
    assert_non_null(peer_ask(&curator, "removed", "remove %s", path));
    end();
}

/* ------------------------------------------------------------------ double barrier */

static void we_enter(int64_t timeout_ms)
{
    told = 0;
    assert_int_equal(uvzk_double_barrier_enter(&member, &call, timeout_ms, on_call), 0);
}

static void we_leave(void)
{
    told = 0;
    assert_int_equal(
        uvzk_double_barrier_leave(&member, &call, UVZK_WAIT_FOREVER, on_call), 0);
}

static void await_all(const char *what, int count)
{
    char text[32];

    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "%s j%d", what, i);
        assert_non_null(peer_expect(&curator, text));
    }
}

/* Whoever comes last, and whosever name is the lowest. */
static void test_members_of_both_come_and_go_together(void **state)
{
    const char *path = "/interop/barrier/double";

    (void)state;
    begin();
    assert_int_equal(uvzk_double_barrier_init(&us.client, &member, path, 3, NULL), 0);
    for (int round = 0; round < 10; round++) {
        bool we_are_last = round % 2 == 0;
        if (!we_are_last) {
            we_enter(UVZK_WAIT_FOREVER);
            assert_true(world_await_children(&world, path, 1));
        }
        peer_say(&curator, "enter j0 %s 3 60000", path);
        assert_true(world_await_children(&world, path, we_are_last ? 1 : 2));
        assert_int_equal(we_are_last ? 0 : told, 0);
        peer_say(&curator, "enter j1 %s 3 60000", path);
        if (we_are_last) {
            assert_true(world_await_children(&world, path, 2));
            we_enter(UVZK_WAIT_FOREVER);
        }
        await_all("entered", 2);
        await_call(0);
        assert_true(world_await_children(&world, path, 4)); /* and `ready` */
        if (round % 3 == 0) {
            we_leave();
        }
        peer_say(&curator, "leave j0 60000");
        peer_say(&curator, "leave j1 60000");
        if (round % 3 != 0) {
            we_leave();
        }
        await_all("left", 2);
        await_call(0);
        assert_true(world_await_children(&world, path, 0));
    }
    end();
}

/* Curator's members enter and leave at once. Ours is never left behind, however late it
 * hears of them. */
static void test_fast_members_leave_nobody_behind(void **state)
{
    char path[64];

    (void)state;
    begin();
    for (int round = 0; round < 20; round++) {
        (void)snprintf(path, sizeof(path), "/interop/barrier/fast%d", round);
        assert_int_equal(
            uvzk_double_barrier_init(&us.client, &member, path, THEIRS + 1, NULL), 0);
        we_enter(UVZK_WAIT_FOREVER);
        assert_true(world_await_children(&world, path, 1));
        for (int i = 0; i < THEIRS; i++) {
            peer_say(&curator, "round j%d %s %d", i, path, THEIRS + 1);
        }
        await_all("entered", THEIRS); /* the loop does not turn meanwhile */
        await_call(0);
        we_leave();
        await_all("left", THEIRS);
        await_call(0);
        assert_true(world_await_children(&world, path, 0));
        closed = 0;
        assert_int_equal(uvzk_double_barrier_close(&member, on_closed), 0);
        assert_true(world_await_count(&world, &closed, 1, PATIENCE_MS));
    }
    end();
}

/* CURATOR-318: with Curator, whoever gave up would still be counted. */
static void test_given_up_enter_is_not_counted_by_curator(void **state)
{
    const char *path = "/interop/barrier/given_up";

    (void)state;
    begin();
    assert_int_equal(uvzk_double_barrier_init(&us.client, &member, path, 2, NULL), 0);
    we_enter(300);
    await_call(UV_ETIMEDOUT);
    assert_int_equal(world_children(&world, path), 0);
    peer_say(&curator, "enter j0 %s 2 60000", path);
    assert_true(world_await_children(&world, path, 1));
    we_enter(UVZK_WAIT_FOREVER);
    await_call(0);
    assert_non_null(peer_expect(&curator, "entered j0"));
    peer_say(&curator, "leave j0 60000");
    we_leave();
    await_call(0);
    assert_non_null(peer_expect(&curator, "left j0"));
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_waits_for_the_others_barrier),
        cmocka_unit_test(test_members_of_both_come_and_go_together),
        cmocka_unit_test(test_fast_members_leave_nobody_behind),
        cmocka_unit_test(test_given_up_enter_is_not_counted_by_curator),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
