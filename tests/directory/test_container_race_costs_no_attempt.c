/* CURATOR-180: the servers remove an empty lock directory between the moment it was
 * made or seen and the create of a znode in it. Each time that costs Curator one of
 * its few retries, or the acquire. Here the race is run until it is won. */
#include "scene.h"

#define SEEDS 12U
#define RACES 20U

/* No retry is allowed: a race that costs one would end the acquire. */
static void begin(struct scene *scene, struct process *process, uint64_t seed,
                  void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1000; /* it would show in the time, too */
    scene_begin(scene, seed, state);
    process_begin(process, scene, "a", &no_retries);
}

/* The directory is gone as soon as it is there, parents included. true: it was. */
static bool remove_directory(struct scene *scene, bool parents)
{
    bool removed = sim_delete_by_hand(scene->sim, SCENE_PATH) == 0;

    if (parents) {
        removed |= sim_delete_by_hand(scene->sim, "/locks") == 0;
    }
    return removed;
}

static void lose_races(struct scene *scene, const struct claim *claim, unsigned races,
                       bool parents)
{
    while (races > 0) {
        assert_int_equal(claim->acquired, 0);
        races -= remove_directory(scene, parents);
        scene_steps(scene, 1);
    }
}

static void the_race_is_run_until_it_is_won(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claims[3];

        begin(&scene, &a, seed, state);
        for (size_t i = 0; i < 3; i++) {
            claim_begin(&claims[i], &a, UVZK_WAIT_FOREVER);
        }
        lose_races(&scene, &claims[0], RACES, seed % 2 == 0);
        uint64_t lost_ms = sim_now(scene.sim);
        for (size_t i = 0; i < 3; i++) {
            claim_await(&claims[i], 1000);
            claim_give_back(&claims[i]);
        }
        assert_true(claims[0].acquired_ms - lost_ms < 500);
        scene_end(&scene);
    }
}

/* The server's own removal, right before the create arrives, of a directory that was
 * in use until then. */
static void the_servers_own_removal(void **state)
{
    for (uint64_t steps = 0; steps < 16; steps++) {
        struct scene scene;
        struct process a;
        struct claim first, second;

        begin(&scene, &a, steps, state);
        claim_take(&first, &a);
        claim_give_back(&first);
        claim_begin(&second, &a, 1500);
        for (uint64_t i = 0; i < steps; i++) {
            scene_steps(&scene, 1);
        }
        sim_check_containers(scene.sim);
        claim_await(&second, 1000);
        assert_true(second.token > first.token);
        claim_give_back(&second);
        scene_end(&scene);
    }
}

/* A race that is never won ends with the deadline, and with nothing else. */
static void only_the_deadline_ends_it(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claim;

        begin(&scene, &a, seed, state);
        assert_true(process_await_connected(&a, 1000));
        uint64_t due_ms = sim_now(scene.sim) + 1500;
        claim_begin(&claim, &a, 1500);
        while (claim.acquired == 0) {
            (void)remove_directory(&scene, false);
            scene_steps(&scene, 1);
        }
        assert_int_equal(claim.status, UV_ETIMEDOUT);
        assert_in_range(claim.acquired_ms, due_ms, due_ms + 8);
        scene_end(&scene);
    }
}

/* Two processes make and use the directory at once, while it keeps going. */
static void two_processes_in_the_race(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim claims[2];

        begin(&scene, &a, seed, state);
        process_begin(&b, &scene, "b", NULL);
        claim_begin(&claims[0], &a, UVZK_WAIT_FOREVER);
        claim_begin(&claims[1], &b, UVZK_WAIT_FOREVER);
        lose_races(&scene, &claims[0], RACES, seed % 2 == 0);
        for (unsigned i = 0; i < 1000 && claims[0].acquired + claims[1].acquired < 1;
             i++) {
            scene_run_for(&scene, 1);
        }
        size_t first = claims[0].acquired == 1 ? 0 : 1;
        assert_int_equal(claims[first].status, 0);
        scene_run_for(&scene, 500);
        assert_int_equal(claims[1 - first].acquired, 0);
        claim_give_back(&claims[first]);
        claim_await(&claims[1 - first], 1000);
        claim_give_back(&claims[1 - first]);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(the_race_is_run_until_it_is_won),
        SCENE_TEST(the_servers_own_removal),
        SCENE_TEST(only_the_deadline_ends_it),
        SCENE_TEST(two_processes_in_the_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
