/* SPDX-License-Identifier: Apache-2.0 */
/* A waiter's znode is deleted by hand between the reply to the multi that has created it
 * and the exists that tells its czxid by another znode. Whoever came behind it is granted,
 * and it is not. Over the native transport the directory is mirrored, and nothing else
 * shows the waiter's znode. */
#include "world.h"

#include <string.h>

#define LOCK "/deleted-waiter"
#define OTHER "/deleted-waiter-other"

static struct world world;
static struct process a, b;
static uvzk_mutex_t other;
static struct hold beside, waits, held, behind;
/* An acquire without a queued_cb: whoever wants to know its position lists. */
static uvzk_hold_t plain;
static int granted, released;

static void on_acquired(uvzk_hold_t *request, int status)
{
    (void)request;
    assert_int_equal(status, 0);
    granted++;
}

static void on_lost(uvzk_hold_t *request, int reason)
{
    (void)request;
    (void)reason;
    fail();
}

static void on_released(uvzk_hold_t *request, int status)
{
    (void)request;
    assert_int_equal(status, 0);
    released++;
}

/* a waits for somebody: where it has had to wait before, the directory is mirrored. */
static void wait_once(void)
{
    struct world_path before = world_foreign_node(&world, LOCK, "lock-");

    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await_children(&world, LOCK, 2));
    world_run_for(&world, 300);
    world_delete(&world, &before);
    hold_await(&waits, PATIENCE_MS);
    hold_give_back(&waits);
}

/* a is behind the proxy, b is not. */
static void begin(void)
{
    world_begin(&world, LOCK);
    process_begin(&b, &world, "b", NULL);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    assert_true(world_await(&world, &b.connected, PATIENCE_MS));
    world_make_path(&world, LOCK);
    world_make_path(&world, OTHER);
    memset(&other, 0, sizeof(other));
    assert_int_equal(uvzk_mutex_init(&a.client, &other, OTHER), 0);
    wait_once();
    wait_once();
    hold_take(&held, &b);
}

/* Both in one turn: the exists reads the znode of the first one. It is held back, and so is
 * the reply to the multi until the multi has been carried out. */
static void ask(void)
{
    int multis = world.proxy.requests[PROXY_MULTI];

    hold_begin_on(&beside, &a, &other, 0, UVZK_WAIT_FOREVER);
    assert_int_equal(uvzk_lock_acquire(&a.mutex, &plain, NULL, on_acquired, on_lost), 0);
    proxy_hold_replies(&world.proxy);
    assert_true(world_await_count(&world, &world.proxy.requests[PROXY_MULTI], multis + 1,
                                  PATIENCE_MS));
    assert_true(world_await_children(&world, LOCK, 2));
    proxy_pass(&world.proxy);
    proxy_hold_requests(&world.proxy);
}

static void test_is_not_granted(void **state)
{
    (void)state;
    begin();
    ask();
    struct world_path own = world_child(&world, LOCK, 1);
    world_delete(&world, &own);
    hold_begin(&behind, &b, UVZK_WAIT_FOREVER);
    assert_true(world_await_children(&world, LOCK, 2));
    world_run_for(&world, 300);
    proxy_pass(&world.proxy);
    hold_await(&beside, PATIENCE_MS);
    hold_give_back(&held);
    hold_await(&behind, PATIENCE_MS);
    world_run_for(&world, 500);
    assert_int_equal(granted, 0);
    hold_give_back(&behind);
    assert_true(world_await(&world, &granted, PATIENCE_MS));
    assert_int_equal(uvzk_hold_release(&plain, on_released), 0);
    assert_true(world_await(&world, &released, PATIENCE_MS));
    hold_give_back(&beside);
    world_assert_nothing_left(&world);
    assert_int_equal(raw_delete(world.raw, LOCK), ZOK);
    assert_int_equal(raw_delete(world.raw, OTHER), ZOK);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_is_not_granted)};

    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
