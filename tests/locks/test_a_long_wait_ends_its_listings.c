/* SPDX-License-Identifier: Apache-2.0 */
/* Who has waited for a session's timeout lists, to ask about those who are in the way.
 * If the directory has gone meanwhile, or may not be listed, there is nobody to ask
 * about: it was listed again at once, hundreds of times a second, for as long as the
 * client lived. */
#include "world.h"

#define PATH "/s"
#define ENOUGH 25U

static struct world world;
static struct process a, b;
static struct hold held, next, beside;

/* The second look comes while it is cut off, so that the listing leaves behind what happens
 * meanwhile. */
static void cut_off_at_the_second_look(void)
{
    world_run_for(&world, WORLD_TIMEOUT_MS * 7 / 10);
    assert_int_equal(next.answered, 0);
    sim_disconnect(b.port, SIM_RESET, WORLD_TIMEOUT_MS * 6 / 10);
}

static void is_quiet(void)
{
    uint64_t before = sim_submitted(b.port);

    world_run_for(&world, 5000);
    assert_true(sim_submitted(b.port) - before < ENOUGH);
}

static void begin_driver_lock(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, &driver) + process_drive(&b, &driver), 0);
    hold_take(&held, &a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
}

static void a_drivers_directory_that_has_gone(uint64_t seed, void *const *state)
{
    begin_driver_lock(seed, state);
    cut_off_at_the_second_look();
    while (world_children(&world, WORLD_PATH) > 0) {
        world_delete_child(&world, WORLD_PATH, 0);
    }
    assert_int_equal(sim_delete_by_hand(world.sim, WORLD_PATH), 0);
    hold_await_status(&next, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    is_quiet();
    world_end(&world);
}

/* Who waits need not list, and waits on. */
static void a_drivers_directory_that_may_not_be_listed(uint64_t seed, void *const *state)
{
    begin_driver_lock(seed, state);
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ENOAUTH, UINT32_MAX);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_int_equal(next.answered, 0);
    is_quiet();
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, 0, 0);
    hold_give_back(&held);
    hold_await(&next, WORLD_TIMEOUT_MS);
    hold_give_back(&next);
    world_end(&world);
}

/* Something is held there, so that it is not forgotten. */
static void leases_that_may_not_be_listed(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PATH, 2);
    process_make_semaphore(&b, PATH, 2);
    assert_true(process_await_connected(&a, 1000) && process_await_connected(&b, 1000));
    hold_take_on(&held, &a, &a.semaphore, 1);
    hold_take_on(&beside, &b, &b.semaphore, 1);
    hold_begin_on(&next, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, WORLD_TIMEOUT_MS / 2);
    assert_int_equal(next.answered, 0);
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ENOAUTH, UINT32_MAX);
    hold_await_status(&next, WORLD_TIMEOUT_MS, UVZK_ENOAUTH);
    is_quiet();
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, 0, 0);
    hold_give_back(&beside);
    hold_give_back(&held);
    world_end(&world);
}

/* Who cannot see whether somebody comes for whom it is to be let go takes it for
 * granted. */
static void a_ticket_where_nobody_may_list(uint64_t seed, void *const *state)
{
    static struct hold holds[9];

    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&b, PATH, 3);
    for (int i = 0; i < 9; i++) {
        hold_begin_on(&holds[i], &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 2000);
    assert_int_equal(sim_set_readable(world.sim, PATH "/locks", false), 0);
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    is_quiet();
    assert_int_equal(sim_set_readable(world.sim, PATH "/locks", true), 0);
    for (int i = 0; i < 9; i++) {
        hold_acquire_release(&holds[i], 3000);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_drivers_directory_that_has_gone, 1, 20),
        WORLD_SCENARIO(a_drivers_directory_that_may_not_be_listed, 1, 20),
        WORLD_SCENARIO(leases_that_may_not_be_listed, 1, 20),
        WORLD_SCENARIO(a_ticket_where_nobody_may_list, 1, 20),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
