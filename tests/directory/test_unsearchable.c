/* SPDX-License-Identifier: Apache-2.0 */
/* A create got lost, whoever wanted it has given up, and READ on the lock's directory
 * is missing, so that nobody can say whether the znode stands: it is searched for,
 * seldom, until it is found or its session has gone. Nobody else of ours waits for
 * that. */
#include "world.h"

#define SEEDS 20U
#define PAUSE_MAX_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4)
#define LEASES "/app/s/leases"

static struct world world;
static struct process a, b;
static struct hold lost, next;

static void take_right(const char *path)
{
    assert_int_equal(sim_set_readable(world.sim, path, false), 0);
}

static void give_right(const char *path)
{
    assert_int_equal(sim_set_readable(world.sim, path, true), 0);
}

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    world_make_directory(&world, &a);
}

/* Its znode stands, and it is not known; then its connection is back. */
static void lose(uvzk_lock_t *lock, const char *directory)
{
    size_t before = world_children(&world, directory);

    take_right(directory);
    hold_begin_on(&lost, &a, lock, 1, UVZK_WAIT_FOREVER);
    while (world_children(&world, directory) == before) {
        world_steps(&world, 1);
    }
    sim_disconnect(a.port, SIM_RESET, 100); /* the reply is on its way */
    hold_cancel(&lost);
    world_run_for(&world, 3000);
    assert_int_equal(lost.status, UV_ECANCELED);
    assert_true(process_contenders(&a) > 0);
}

static size_t listings_within(uint64_t ms)
{
    size_t from = world.line_count;

    world_run_for(&world, ms);
    return world_count(&world, from, "a", "server: children");
}

/* For a minute, and then until the right is back. */
static void seldom_until_it_is_found(const char *directory)
{
    assert_in_range(listings_within(60000), 5, 15); /* not six hundred */
    give_right(directory);
    world_run_for(&world, PAUSE_MAX_MS + 1000);
    assert_int_equal(process_contenders(&a), 0);
    assert_int_equal(world_children(&world, directory), 0);
    assert_int_equal(listings_within(PAUSE_MAX_MS), 0);
}

static void of_a_mutex(uint64_t seed, void *const *state)
{
    begin(seed, state);
    lose(NULL, WORLD_PATH);
    seldom_until_it_is_found(WORLD_PATH);
    world_end(&world);
}

/* In a directory that is in use all the time. */
static void the_next_ones_pauses_are_short(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_take(&next, &a);
    lose(NULL, WORLD_PATH);
    world_run_for(&world, 60000);
    give_right(WORLD_PATH);
    world_run_for(&world, PAUSE_MAX_MS + 1000);
    assert_int_equal(world_children(&world, WORLD_PATH), 1);
    lose(NULL, WORLD_PATH);
    give_right(WORLD_PATH);
    world_run_for(&world, 3500);
    assert_int_equal(world_children(&world, WORLD_PATH), 1);
    hold_give_back(&next);
    world_end(&world);
}

static void of_a_driver(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    world_begin_ready(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, &driver) + process_drive(&b, &driver), 0);
    world_make_directory(&world, &a);
    lose(NULL, WORLD_PATH);
    seldom_until_it_is_found(WORLD_PATH);
    world_end(&world);
}

/* Beside one that waits, and need not list. */
static void beside_a_drivers_waiter(uint64_t seed, void *const *state)
{
    static struct hold held, waits;
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    world_begin_ready(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, &driver) + process_drive(&b, &driver), 0);
    hold_take(&held, &b);
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    lose(NULL, WORLD_PATH);
    assert_in_range(listings_within(60000), 5, 25);
    give_right(WORLD_PATH);
    hold_give_back(&held);
    hold_acquire_release(&waits, 1000);
    world_run_for(&world, PAUSE_MAX_MS);
    world_end(&world);
}

/* With a ticket, and without. */
static void of_a_lease(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, "/app/s", 1);
    hold_take_on(&next, &a, &a.semaphore, 1);
    hold_give_back(&next);
    lose(&a.semaphore, LEASES);
    seldom_until_it_is_found(LEASES);
    world_end(&world);
}

/* Who comes lists for itself, and finds the other one with that. */
static void who_comes_waits_for_no_pause(uint64_t seed, void *const *state)
{
    begin(seed, state);
    lose(NULL, WORLD_PATH);
    world_run_for(&world, 60000);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    hold_await_status(&next, 500, UVZK_ENOAUTH);
    give_right(WORLD_PATH);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    hold_await(&next, 1000);
    assert_int_equal(world_children(&world, WORLD_PATH), 1);
    hold_give_back(&next);
    world_end(&world);
}

/* One that is wanted is searched for at once. */
static void what_is_wanted_waits_for_no_pause(uint64_t seed, void *const *state)
{
    begin(seed, state);
    lose(NULL, WORLD_PATH);
    world_run_for(&world, 60000);
    give_right(WORLD_PATH);
    sim_lose_reply(a.port);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    hold_await(&next, 3000);
    hold_give_back(&next);
    world_end(&world);
}

static void until_its_session_has_gone(uint64_t seed, void *const *state)
{
    begin(seed, state);
    lose(NULL, WORLD_PATH);
    world_run_for(&world, 20000);
    process_expire(&a);
    world_run_for(&world, 1000);
    assert_int_equal(process_contenders(&a), 0);
    assert_int_equal(listings_within(PAUSE_MAX_MS), 0);
    give_right(WORLD_PATH);
    process_take_turn(&a);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(of_a_mutex, 1, SEEDS),
        WORLD_SCENARIO(the_next_ones_pauses_are_short, 1, SEEDS),
        WORLD_SCENARIO(of_a_driver, 1, SEEDS),
        WORLD_SCENARIO(beside_a_drivers_waiter, 1, SEEDS),
        WORLD_SCENARIO(of_a_lease, 1, SEEDS),
        WORLD_SCENARIO(who_comes_waits_for_no_pause, 1, SEEDS),
        WORLD_SCENARIO(what_is_wanted_waits_for_no_pause, 1, SEEDS),
        WORLD_SCENARIO(until_its_session_has_gone, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
