/* SPDX-License-Identifier: Apache-2.0 */
/* Two watches of one client on one path: both hear of the change. A lock driver and a shared
 * value; a mutex and a group member. What is missed is only found when the watches are
 * renewed, once in a session timeout. */
#include "participants_call.h"
#include "world.h"

#define LOCK "/together"
#define SESSION_MS 30000
#define SOON_MS (SESSION_MS / 2)

static struct world world;
static struct process holder, waiter, other;
static struct hold hold, wait_hold, other_hold;
static uvzk_shared_value_t value;
static uvzk_group_member_t group;
static int told, value_closed, group_closed;

static void value_cb(uvzk_shared_value_t *changed, int status)
{
    (void)changed;
    (void)status;
    told++;
}

static void close_cb(uvzk_shared_value_t *closed)
{
    (void)closed;
    value_closed++;
}

static void begin_process(struct process *process, const char *name)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "leader";
    driver.mode = UVZK_NODE_EPHEMERAL;
    process_begin(process, &world, name, NULL);
    assert_int_equal(process_drive(process, &driver), 0);
}

/* The value shows who holds the lock. */
static void test_driver_lock_and_value_on_its_znode(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = SESSION_MS;
    begin_process(&holder, "holder");
    begin_process(&waiter, "waiter");
    hold_take(&hold, &holder);
    hold_begin(&wait_hold, &waiter, UVZK_WAIT_FOREVER);
    uint64_t since = world_now(&world);
    while (process_watches(&waiter) == 0) {
        assert_true(world_turn(&world, since));
    }
    assert_int_equal(
        uvzk_shared_value_init(&waiter.client, &value, LOCK "/leader", "", 0, value_cb),
        0);
    assert_true(world_await(&world, &told, PATIENCE_MS));
    hold_give_back(&hold);
    hold_await(&wait_hold, SOON_MS);
    assert_true(world_await_count(&world, &told, 2, SOON_MS));
    hold_give_back(&wait_hold);
    assert_int_equal(uvzk_shared_value_close(&value, close_cb), 0);
    assert_true(world_await(&world, &value_closed, PATIENCE_MS));
    world_end(&world);
}

/* --------------------------------------------------------- a mutex and a group member */

static void begin_three(void)
{
    group_closed = 0;
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&holder, &world, "holder", NULL);
    process_begin(&waiter, &world, "waiter", NULL);
    process_begin(&other, &world, "other", NULL);
    hold_take(&hold, &holder);
}

/* The reply to a request that is sent now comes behind the replies to those before. */
static void await_replies(struct process *process)
{
    static struct participants_call listing;

    participants_call_run(&listing, &world, &process->mutex);
}

static void await_watches(struct process *process, uint64_t count)
{
    uint64_t since = world_now(&world);

    while (process_watches(process) < count) {
        assert_true(world_turn(&world, since));
    }
    await_replies(process);
}

static void on_group_closed(uvzk_group_member_t *member, int status)
{
    (void)member;
    assert_int_equal(status, 0);
    group_closed++;
}

static void on_members(uvzk_group_member_t *member, int status)
{
    (void)member;
    assert_int_equal(status, 0);
}

static bool has_read(size_t members)
{
    const uvzk_group_entry_t *entries;
    size_t count, read = 0;

    assert_int_equal(uvzk_group_member_list(&group, &entries, &count), 0);
    for (size_t i = 0; i < count; i++) {
        read += entries[i].mzxid != 0;
    }
    return count == members && read == members - 1; /* not the caller's own entry */
}

/* The contenders' znodes are members too, and the group watches each. */
static void await_members(size_t members)
{
    uint64_t since = world_now(&world);

    while (!has_read(members)) {
        assert_true(world_turn(&world, since));
    }
}

static void waiter_joins_group(size_t members)
{
    assert_int_equal(uvzk_group_member_init(&waiter.client, &group, LOCK, "member", "", 0,
                                            NULL, on_members),
                     0);
    await_members(members);
}

/* The waiter is the next in line. It is granted by the silence of the watch on its own
 * znode, if it is not told of the deletion. */
static void delete_waiters_znode_by_hand(void)
{
    hold_queue(&other_hold, &other, NULL);
    struct world_path node = world_child(&world, LOCK, 1);
    world_delete(&world, &node);
    hold_give_back(&hold);
    hold_await(&other_hold, SOON_MS);
    uint64_t since = world_now(&world);
    while (world_children(&world, LOCK) < 3) { /* the waiter stands again */
        assert_int_equal(wait_hold.answered, 0);
        assert_true(world_turn(&world, since));
        assert_true(world_now(&world) - since < SOON_MS);
    }
    assert_int_equal(wait_hold.answered, 0);
    hold_give_back(&other_hold);
    hold_await(&wait_hold, SOON_MS);
    hold_give_back(&wait_hold);
    assert_int_equal(uvzk_group_member_close(&group, on_group_closed), 0);
    assert_true(world_await(&world, &group_closed, PATIENCE_MS));
    world_end(&world);
}

static void test_group_joins_at_the_path_of_a_mutex(void **state)
{
    (void)state;
    begin_three();
    hold_queue(&wait_hold, &waiter, NULL);
    await_watches(&waiter, 2); /* the holder's znode, and its own */
    waiter_joins_group(3);
    delete_waiters_znode_by_hand();
}

/* The pipeline of create, listing and watches is ahead of the group, which has to hear of
 * the znode first. So the watch on the holder's znode is the newer one of two, and that on
 * the waiter's own znode is the older one. */
static void test_mutex_at_the_path_of_a_group(void **state)
{
    (void)state;
    begin_three();
    waiter_joins_group(2);
    hold_queue(&wait_hold, &waiter, NULL);
    await_members(3);
    /* The group's path, its member, the holder's znode, and the waiter's. What the mutex
     * watches of these counts once; it was sent in the turn that queued the waiter. */
    await_watches(&waiter, 4);
    delete_waiters_znode_by_hand();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_lock_and_value_on_its_znode),
        cmocka_unit_test(test_group_joins_at_the_path_of_a_mutex),
        cmocka_unit_test(test_mutex_at_the_path_of_a_group),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
