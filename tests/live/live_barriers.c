/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestDistributedBarrier and TestDistributedDoubleBarrier, test by test, on a
 * real server; strict where Curator's tests are content with less. */
#include <stdio.h>
#include <string.h>

#include "world.h"

#define BARRIER "/barrier"
#define QUANTITY 5
#define MEMBERS 6

static struct world world;
static struct process processes[MEMBERS];
static uvzk_barrier_t barriers[2];
static uvzk_double_barrier_t doubles[MEMBERS];

static struct recorded {
    uvzk_req_t call;
    int told, status;
    uint64_t told_ms;
} calls[MEMBERS];

static void on_call(uvzk_req_t *call, int status)
{
    struct recorded *recorded = call->data;

    recorded->told++;
    recorded->status = status;
    recorded->told_ms = world_now(&world);
}

static uvzk_req_t *fresh(int i)
{
    memset(&calls[i], 0, sizeof(calls[i]));
    calls[i].call.data = &calls[i];
    return &calls[i].call;
}

static void await(int i, int status)
{
    assert_true(world_await_count(&world, &calls[i].told, 1, PATIENCE_MS));
    assert_int_equal(calls[i].status, status);
}

static void begin(int count)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

    memset(barriers, 0, sizeof(barriers));
    memset(doubles, 0, sizeof(doubles));
    world_begin(&world, NULL);
    for (int i = 0; i < count; i++) {
        process_begin(&processes[i], &world, names[i], NULL);
        assert_int_equal(uvzk_double_barrier_init(&processes[i].client, &doubles[i],
                                                  BARRIER "/double", QUANTITY, NULL),
                         0);
        if (i < 2) {
            assert_int_equal(
                uvzk_barrier_init(&processes[i].client, &barriers[i], BARRIER "/one"), 0);
        }
        assert_true(process_await_connected(&processes[i], PATIENCE_MS));
    }
}

static void set(int i)
{
    assert_int_equal(uvzk_barrier_set(&barriers[i], fresh(i), on_call), 0);
    await(i, 0);
}

static void remove_it(int i)
{
    assert_int_equal(uvzk_barrier_remove(&barriers[i], fresh(i), on_call), 0);
    await(i, 0);
}

/* ------------------------------------------------------------ TestDistributedBarrier */

static void test_no_barrier(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(uvzk_barrier_wait(&barriers[0], fresh(0), 10000, on_call), 0);
    await(0, 0);
    assert_int_equal(
        uvzk_barrier_wait(&barriers[0], fresh(0), UVZK_WAIT_FOREVER, on_call), 0);
    await(0, 0);
    world_end(&world);
}

static void test_basic(void **state)
{
    (void)state;
    begin(2);
    set(1);
    assert_int_equal(raw_exists(world.raw, BARRIER "/one", NULL), ZOK);
    assert_int_equal(uvzk_barrier_wait(&barriers[0], fresh(0), 300, on_call), 0);
    await(0, UV_ETIMEDOUT);
    world_assert_idle(&world, &processes[0]); /* CURATOR-654 */
    assert_int_equal(
        uvzk_barrier_wait(&barriers[0], fresh(0), UVZK_WAIT_FOREVER, on_call), 0);
    uint64_t removed_ms = world_now(&world);
    remove_it(1);
    await(0, 0);
    assert_true(calls[0].told_ms >= removed_ms);
    world_end(&world);
}

static void test_multi_client(void **state)
{
    (void)state;
    begin(3);
    memset(&barriers[1], 0, sizeof(barriers[1]));
    set(0);
    uvzk_barrier_t waits[2];
    memset(waits, 0, sizeof(waits));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            uvzk_barrier_init(&processes[i + 1].client, &waits[i], BARRIER "/one"), 0);
        assert_int_equal(
            uvzk_barrier_wait(&waits[i], fresh(i + 1), UVZK_WAIT_FOREVER, on_call), 0);
    }
    world_run_for(&world, 100);
    assert_int_equal(calls[1].told + calls[2].told, 0);
    remove_it(0);
    await(1, 0);
    await(2, 0);
    world_end(&world);
}

/* Curator's wait ends with ConnectionLoss. Ours goes on behind the outage, and its
 * time-out covers it. */
static void test_server_crash(void **state)
{
    (void)state;
    begin(2);
    set(1);
    assert_int_equal(
        uvzk_barrier_wait(&barriers[0], fresh(0), UVZK_WAIT_FOREVER, on_call), 0);
    assert_int_equal(uvzk_barrier_wait(&barriers[1], fresh(1), 500, on_call), 0);
    world_run_for(&world, 100);
    assert_true(server_restart(live_server));
    await(1, UV_ETIMEDOUT);
    world_look_again(&world);
    assert_int_equal(calls[0].told, 0);
    remove_it(1);
    await(0, 0);
    world_end(&world);
}

/* ------------------------------------------------------ TestDistributedDoubleBarrier */

static void cross(int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(
            uvzk_double_barrier_enter(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    for (int i = 0; i < count; i++) {
        await(i, 0);
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(
            uvzk_double_barrier_leave(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    for (int i = 0; i < count; i++) {
        await(i, 0);
    }
    assert_true(world_await_children(&world, BARRIER "/double", 0));
}

static void test_double_multi_client(void **state)
{
    (void)state;
    begin(QUANTITY);
    for (int round = 0; round < 10; round++) {
        cross(QUANTITY);
    }
    world_end(&world);
}

static void test_over_subscribed(void **state)
{
    (void)state;
    begin(MEMBERS);
    for (int i = 0; i < QUANTITY; i++) {
        assert_int_equal(
            uvzk_double_barrier_enter(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    await(0, 0);
    assert_int_equal(
        uvzk_double_barrier_enter(&doubles[QUANTITY], fresh(QUANTITY), 10000, on_call),
        0);
    for (int i = 0; i < MEMBERS; i++) {
        await(i, 0);
    }
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(
            uvzk_double_barrier_leave(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    for (int i = 0; i < MEMBERS; i++) {
        await(i, 0);
    }
    assert_true(world_await_children(&world, BARRIER "/double", 0));
    world_end(&world);
}

/* Who is alone is not let through, and is not left behind when it gives up. */
static void test_alone(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(uvzk_double_barrier_enter(&doubles[0], fresh(0), 500, on_call), 0);
    await(0, UV_ETIMEDOUT);
    assert_int_equal(world_children(&world, BARRIER "/double"), 0);
    world_assert_idle(&world, &processes[0]);
    world_end(&world);
}

/* Left over by members that died inside. A real server too refuses to delete a znode with
 * children, and carries out both deletes or none. */
static void test_ready_without_members(void **state)
{
    struct Stat stat;

    (void)state;
    begin(1);
    world_make_path(&world, BARRIER "/double/ready");
    assert_int_equal(uvzk_double_barrier_enter(&doubles[0], fresh(0), 500, on_call), 0);
    await(0, UV_ETIMEDOUT);
    assert_int_equal(raw_exists(world.raw, BARRIER "/double/ready", &stat), ZNONODE);
    world_make_path(&world, BARRIER "/double/ready");
    world_make_path(&world, BARRIER "/double/other");
    assert_int_equal(uvzk_double_barrier_enter(&doubles[0], fresh(0), 10000, on_call), 0);
    await(0, 0); /* the round is on */
    assert_int_equal(raw_exists(world.raw, BARRIER "/double/ready", &stat), ZOK);
    assert_int_equal(raw_delete(world.raw, BARRIER "/double/other"), ZOK);
    assert_int_equal(
        uvzk_double_barrier_leave(&doubles[0], fresh(0), UVZK_WAIT_FOREVER, on_call), 0);
    await(0, 0);
    assert_int_equal(world_children(&world, BARRIER "/double"), 0);
    world_end(&world);
}

static void test_expired_inside(void **state)
{
    (void)state;
    begin(QUANTITY);
    for (int i = 0; i < QUANTITY; i++) {
        assert_int_equal(
            uvzk_double_barrier_enter(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    for (int i = 0; i < QUANTITY; i++) {
        await(i, 0);
    }
    process_end(&processes[0]); /* without a leave */
    for (int i = 1; i < QUANTITY; i++) {
        assert_int_equal(
            uvzk_double_barrier_leave(&doubles[i], fresh(i), UVZK_WAIT_FOREVER, on_call),
            0);
    }
    for (int i = 1; i < QUANTITY; i++) {
        await(i, 0);
    }
    assert_true(world_await_children(&world, BARRIER "/double", 0));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_barrier),
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_multi_client),
        cmocka_unit_test(test_server_crash),
        cmocka_unit_test(test_double_multi_client),
        cmocka_unit_test(test_over_subscribed),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_expired_inside),
        cmocka_unit_test(test_ready_without_members),
    };

    return cmocka_run_group_tests_name("barriers", tests, servers_start_one,
                                       servers_stop);
}
