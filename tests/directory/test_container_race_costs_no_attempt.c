/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-180: the servers remove an empty lock directory between the moment it was
 * made or seen and the create of a znode in it. Each time that costs Curator one of
 * its few retries, or the acquire. Here the race is run until it is won. */
#include "world.h"

#define SEEDS 12U
#define RACES 20U

static struct world world;
static struct process a, b;

/* No retry is allowed: a race that costs one would end the acquire. */
static void begin(uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1000; /* it would show in the time, too */
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &no_retries);
}

/* The directory is gone as soon as it is there, parents included. true: it was. */
static bool remove_directory(bool parents)
{
    bool removed = sim_delete_by_hand(world.sim, WORLD_PATH) == 0;

    if (parents) {
        removed |= sim_delete_by_hand(world.sim, "/locks") == 0;
    }
    return removed;
}

static void lose_races(const struct hold *hold, bool parents)
{
    for (unsigned races = 0; races < RACES;) {
        assert_int_equal(hold->answered, 0);
        races += remove_directory(parents);
        world_steps(&world, 1);
    }
}

static void the_race_is_run_until_it_is_won(uint64_t seed, void *const *state)
{
    struct hold holds[3];

    begin(seed, state);
    for (size_t i = 0; i < 3; i++) {
        hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
    }
    lose_races(&holds[0], seed % 2 == 0);
    uint64_t lost_ms = world_now(&world);
    for (size_t i = 0; i < 3; i++) {
        hold_acquire_release(&holds[i], 1000);
    }
    assert_true(holds[0].answered_ms - lost_ms < 500);
    world_end(&world);
}

/* The server's own removal, right before the create arrives, of a directory that was
 * in use until then. */
static void the_servers_own_removal(uint64_t steps, void *const *state)
{
    struct hold second;

    begin(steps, state);
    world_make_directory(&world, &a);
    hold_begin(&second, &a, 1500);
    world_steps(&world, steps);
    sim_check_containers(world.sim);
    hold_acquire_release(&second, 1000);
    assert_true(second.token > world.first.token);
    world_end(&world);
}

/* A race that is never won ends with the deadline, and with nothing else. */
static void only_the_deadline_ends_it(uint64_t seed, void *const *state)
{
    struct hold hold;

    begin(seed, state);
    assert_true(process_await_connected(&a, 1000));
    uint64_t due_ms = world_now(&world) + 1500;
    hold_begin(&hold, &a, 1500);
    while (hold.answered == 0) {
        (void)remove_directory(false);
        world_steps(&world, 1);
    }
    assert_int_equal(hold.status, UVZK_ENOTQUEUED);
    assert_in_range(hold.answered_ms, due_ms, due_ms + 8);
    world_end(&world);
}

/* Two processes make and use the directory at once, while it keeps going. */
static void two_processes_in_the_race(uint64_t seed, void *const *state)
{
    struct hold of_a, of_b;

    begin(seed, state);
    process_begin(&b, &world, "b", NULL);
    hold_begin(&of_a, &a, UVZK_WAIT_FOREVER);
    hold_begin(&of_b, &b, UVZK_WAIT_FOREVER);
    lose_races(&of_a, seed % 2 == 0);
    struct hold *first = hold_await_first(&of_a, &of_b, 1000);
    struct hold *second = first == &of_a ? &of_b : &of_a;
    world_run_for(&world, 500);
    assert_int_equal(second->answered, 0);
    hold_give_back(first);
    hold_acquire_release(second, 1000);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_race_is_run_until_it_is_won, 1, SEEDS),
        WORLD_SCENARIO(the_servers_own_removal, 0, 15),
        WORLD_SCENARIO(only_the_deadline_ends_it, 1, SEEDS),
        WORLD_SCENARIO(two_processes_in_the_race, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
