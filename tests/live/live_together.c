/* Two watches of one client on one path, of a lock driver and of a shared value: both hear
 * of the change. What is missed is only found when the watches are renewed, once in a
 * session timeout. */
#include "world.h"

#define LOCK "/together"
#define SESSION_MS 30000
#define SOON_MS (SESSION_MS / 2)

static struct world world;
static struct process holder, waiter;
static struct hold hold, wait_hold;
static uvzk_shared_value_t value;
static int told, value_closed;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_lock_and_value_on_its_znode),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
