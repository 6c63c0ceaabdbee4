/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-180: the servers remove an empty directory of the semaphore between the moment
 * it was seen or made and the create in it; Curator's acquire then dies of it. Here the
 * race is run until it is won, and costs none of the retries. */
#include "world.h"

#define PATH "/s"
#define RACES 30U
#define SEEDS 12U

static struct world world;
static struct process a;
static struct hold requests[3];

static void begin(uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &no_retries);
    process_make_semaphore(&a, PATH, 2);
}

static void ask(struct hold *request, uint32_t leases, int64_t timeout_ms)
{
    hold_begin_on(request, &a, &a.semaphore, leases, timeout_ms);
}

/* Whichever of them are empty, up to `depth` of them. */
static unsigned remove_directories(uint64_t depth)
{
    static const char *const paths[] = {PATH "/leases", PATH "/locks", PATH};
    unsigned removed = 0;

    for (uint64_t i = 0; i < depth; i++) {
        removed += sim_delete_by_hand(world.sim, paths[i]) == 0;
    }
    return removed;
}

static void the_race_is_run_until_it_is_won(uint64_t seed, void *const *state)
{
    begin(seed, state);
    for (unsigned i = 0; i < 3; i++) {
        ask(&requests[i], 1 + i % 2, UVZK_WAIT_FOREVER);
    }
    for (unsigned races = 0; races < RACES;) {
        assert_int_equal(requests[0].answered, 0);
        races += remove_directories(1 + seed % 3);
        world_steps(&world, 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        hold_finish(&requests[i], 3000);
        assert_int_equal(requests[i].status, 0);
    }
    world_end(&world);
}

/* The servers' own removal, at any moment, of directories that were in use until then. */
static void the_servers_own_removal(uint64_t steps, void *const *state)
{
    begin(steps, state);
    hold_take_on(&requests[0], &a, &a.semaphore, 2);
    hold_give_back(&requests[0]);
    ask(&requests[1], 2, 1500);
    world_steps(&world, steps);
    sim_check_containers(world.sim);
    sim_check_containers(world.sim); /* the parent, now that it is empty */
    hold_acquire_release(&requests[1], 1500);
    assert_true(requests[1].token > requests[0].token);
    world_end(&world);
}

/* A race that is never won ends with the deadline, and with nothing else. */
static void only_the_deadline_ends_it(uint64_t seed, void *const *state)
{
    begin(seed, state);
    assert_true(process_await_connected(&a, 1000));
    ask(&requests[0], 1, 1500);
    while (requests[0].answered == 0) {
        (void)remove_directories(1);
        world_steps(&world, 1);
    }
    assert_int_equal(requests[0].status, UVZK_ENOTQUEUED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_race_is_run_until_it_is_won, 1, SEEDS),
        WORLD_SCENARIO(the_servers_own_removal, 0, 29),
        WORLD_SCENARIO(only_the_deadline_ends_it, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
