/* CURATOR-180: the servers remove an empty lock directory between the moment it was
 * made or seen and the create of a znode in it. Each time that costs Curator one of
 * its few retries, or the acquire. Here the race is run until it is won. */
#include "world.h"

#define SEEDS 12U
#define RACES 20U

/* No retry is allowed: a race that costs one would end the acquire. */
static void begin(struct world *world, struct process *process, uint64_t seed,
                  void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1000; /* it would show in the time, too */
    world_begin(world, seed, state);
    process_begin(process, world, "a", &no_retries);
}

/* The directory is gone as soon as it is there, parents included. true: it was. */
static bool remove_directory(struct world *world, bool parents)
{
    bool removed = sim_delete_by_hand(world->sim, WORLD_PATH) == 0;

    if (parents) {
        removed |= sim_delete_by_hand(world->sim, "/locks") == 0;
    }
    return removed;
}

static void lose_races(struct world *world, const struct hold *hold, unsigned races,
                       bool parents)
{
    while (races > 0) {
        assert_int_equal(hold->answered, 0);
        races -= remove_directory(world, parents);
        world_steps(world, 1);
    }
}

static void the_race_is_run_until_it_is_won(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        struct process a;
        struct hold holds[3];

        begin(&world, &a, seed, state);
        for (size_t i = 0; i < 3; i++) {
            hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
        }
        lose_races(&world, &holds[0], RACES, seed % 2 == 0);
        uint64_t lost_ms = world_now(&world);
        for (size_t i = 0; i < 3; i++) {
            hold_await(&holds[i], 1000);
            hold_give_back(&holds[i]);
        }
        assert_true(holds[0].answered_ms - lost_ms < 500);
        world_end(&world);
    }
}

/* The server's own removal, right before the create arrives, of a directory that was
 * in use until then. */
static void the_servers_own_removal(void **state)
{
    for (uint64_t steps = 0; steps < 16; steps++) {
        struct world world;
        struct process a;
        struct hold first, second;

        begin(&world, &a, steps, state);
        hold_take(&first, &a);
        hold_give_back(&first);
        hold_begin(&second, &a, 1500);
        for (uint64_t i = 0; i < steps; i++) {
            world_steps(&world, 1);
        }
        sim_check_containers(world.sim);
        hold_await(&second, 1000);
        assert_true(second.token > first.token);
        hold_give_back(&second);
        world_end(&world);
    }
}

/* A race that is never won ends with the deadline, and with nothing else. */
static void only_the_deadline_ends_it(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        struct process a;
        struct hold hold;

        begin(&world, &a, seed, state);
        assert_true(process_await_connected(&a, 1000));
        uint64_t due_ms = world_now(&world) + 1500;
        hold_begin(&hold, &a, 1500);
        while (hold.answered == 0) {
            (void)remove_directory(&world, false);
            world_steps(&world, 1);
        }
        assert_int_equal(hold.status, UV_ETIMEDOUT);
        assert_in_range(hold.answered_ms, due_ms, due_ms + 8);
        world_end(&world);
    }
}

/* Two processes make and use the directory at once, while it keeps going. */
static void two_processes_in_the_race(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        struct process a, b;
        struct hold holds[2];

        begin(&world, &a, seed, state);
        process_begin(&b, &world, "b", NULL);
        hold_begin(&holds[0], &a, UVZK_WAIT_FOREVER);
        hold_begin(&holds[1], &b, UVZK_WAIT_FOREVER);
        lose_races(&world, &holds[0], RACES, seed % 2 == 0);
        for (unsigned i = 0; i < 1000 && holds[0].answered + holds[1].answered < 1; i++) {
            world_run_for(&world, 1);
        }
        size_t first = holds[0].answered == 1 ? 0 : 1;
        assert_int_equal(holds[first].status, 0);
        world_run_for(&world, 500);
        assert_int_equal(holds[1 - first].answered, 0);
        hold_give_back(&holds[first]);
        hold_await(&holds[1 - first], 1000);
        hold_give_back(&holds[1 - first]);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_race_is_run_until_it_is_won),
        WORLD_TEST(the_servers_own_removal),
        WORLD_TEST(only_the_deadline_ends_it),
        WORLD_TEST(two_processes_in_the_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
