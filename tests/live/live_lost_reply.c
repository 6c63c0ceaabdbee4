/* SPDX-License-Identifier: Apache-2.0 */
/* The server has made a contender's znode, and the reply that says so is lost
 * with the connection: the znode is found again, and there is but one. */
#include "world.h"

#define LOCK "/reply"

static struct world world;
static struct process a;
static struct hold hold;

/* The directory is there before and is no container, so its count of creations lasts. */
static void begin(void)
{
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    world_make_path(&world, LOCK);
}

/* A connected client whose next create will lose its reply. */
static void connect_to_lose(bool then_refuse)
{
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    proxy_drop_reply(&world.proxy, then_refuse);
}

/* And that create. */
static void lose_a_reply(bool then_refuse, int64_t timeout_ms)
{
    begin();
    connect_to_lose(then_refuse);
    hold_begin(&hold, &a, timeout_ms);
    assert_true(world_await(&world, &world.proxy.dropped, PATIENCE_MS));
    assert_int_equal(world.proxy.dropped, 1);
    assert_int_equal(world_children(&world, LOCK), 1);
}

static void end(void)
{
    world_assert_nothing_left(&world);
    assert_int_equal(raw_delete(world.raw, LOCK), ZOK);
    world_end(&world);
}

/* Out of reach, and gone as soon as it can be. */
static void assert_withdrawn(void)
{
    assert_int_equal(world_children(&world, LOCK), 1);
    proxy_pass(&world.proxy);
    assert_true(world_await_children(&world, LOCK, 0));
    world_assert_nothing_left(&world);
    assert_int_equal(raw_creation_count(world.raw, LOCK), 1);
    end();
}

static void test_finds_its_znode_again(void **state)
{
    struct Stat stat;
    (void)state;
    lose_a_reply(false, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
    assert_int_equal(world_children(&world, LOCK), 1);
    assert_string_equal(hold.path, world_child(&world, LOCK, 0).text);
    assert_int_equal(raw_creation_count(world.raw, LOCK), 1);
    assert_int_equal(raw_exists(world.raw, hold.path, &stat), ZOK);
    assert_int_equal(hold.token, stat.czxid);
    hold_give_back(&hold);
    end();
}

static void test_keeps_its_place_behind_a_foreign_znode(void **state)
{
    (void)state;
    begin();
    struct world_path foreign_node = world_foreign_node(&world, LOCK, "lock-");
    connect_to_lose(false);
    hold_queue(&hold, &a, NULL);
    assert_int_equal(world.proxy.dropped, 1);
    assert_int_equal(raw_creation_count(world.raw, LOCK), 2);
    assert_int_equal(hold.answered, 0);
    world_delete(&world, &foreign_node);
    hold_await(&hold, PATIENCE_MS);
    assert_int_equal(raw_creation_count(world.raw, LOCK), 2);
    hold_give_back(&hold);
    end();
}

static void test_cancelled_meanwhile_leaves_no_znode(void **state)
{
    (void)state;
    lose_a_reply(true, UVZK_WAIT_FOREVER);
    hold_cancel(&hold);
    hold_await_status(&hold, PATIENCE_MS, UV_ECANCELED);
    assert_withdrawn();
}

static void test_timed_out_meanwhile_leaves_no_znode(void **state)
{
    (void)state;
    lose_a_reply(true, 1000);
    hold_await_status(&hold, PATIENCE_MS, UVZK_EUNREACHABLE);
    assert_withdrawn();
}

/* The replies to everything are lost for a while, releases' among them. */
static void test_releases_in_spite_of_lost_replies(void **state)
{
    (void)state;
    begin();
    process_begin(&a, &world, "a", NULL);
    hold_take(&hold, &a);
    proxy_hold_replies(&world.proxy);
    hold_release(&hold);
    assert_true(world_await_children(&world, LOCK, 0)); /* carried out */
    assert_int_equal(hold.released, 0);                 /* and not heard of */
    proxy_refuse(&world.proxy);
    proxy_pass(&world.proxy);
    hold_await_released(&hold, WORLD_TIMEOUT_MS, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_its_znode_again),
        cmocka_unit_test(test_keeps_its_place_behind_a_foreign_znode),
        cmocka_unit_test(test_cancelled_meanwhile_leaves_no_znode),
        cmocka_unit_test(test_timed_out_meanwhile_leaves_no_znode),
        cmocka_unit_test(test_releases_in_spite_of_lost_replies),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
