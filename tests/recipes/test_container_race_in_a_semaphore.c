/* CURATOR-180: the servers remove an empty directory of the semaphore between the moment
 * it was seen or made and the create in it; Curator's acquire then dies of it. Here the
 * race is run until it is won, and costs none of the retries. */
#include "world.h"

#include <string.h>

#define PATH "/s"
#define RACES 30U
#define SEEDS 12U

struct single {
    struct world world;
    struct process a;
    uvzk_semaphore_t semaphore;
};

static void begin(struct single *single, uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    memset(single, 0, sizeof(*single));
    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    world_begin(&single->world, seed, state);
    process_begin(&single->a, &single->world, "a", &no_retries);
    assert_int_equal(
        uvzk_semaphore_init(&single->a.client, &single->semaphore, PATH, 2, NULL), 0);
}

/* Whichever of them are empty, up to `depth` of them. */
static unsigned remove_directories(struct single *single, uint64_t depth)
{
    static const char *const paths[] = {PATH "/leases", PATH "/locks", PATH};
    unsigned removed = 0;

    for (uint64_t i = 0; i < depth; i++) {
        removed += sim_delete_by_hand(single->world.sim, paths[i]) == 0;
    }
    return removed;
}

static void the_race_is_run_until_it_is_won(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct single single;
        struct hold bids[3] = {0};

        begin(&single, seed, state);
        for (unsigned i = 0; i < 3; i++) {
            hold_begin_on(&bids[i], &single.a, &single.semaphore, 1 + i % 2,
                          UVZK_WAIT_FOREVER);
        }
        for (unsigned races = 0; races < RACES;) {
            assert_int_equal(bids[0].answered, 0);
            races += remove_directories(&single, 1 + seed % 3);
            world_steps(&single.world, 1);
        }
        for (unsigned i = 0; i < 3; i++) {
            hold_finish(&bids[i], 3000);
            assert_int_equal(bids[i].status, 0);
        }
        world_end(&single.world);
    }
}

/* The servers' own removal, at any moment, of directories that were in use until then. */
static void the_servers_own_removal(void **state)
{
    for (uint64_t steps = 0; steps < 30; steps++) {
        struct single single;
        struct hold first = {0}, second = {0};

        begin(&single, steps, state);
        hold_take_on(&first, &single.a, &single.semaphore, 2);
        hold_give_back(&first);
        hold_begin_on(&second, &single.a, &single.semaphore, 2, 1500);
        world_steps(&single.world, steps);
        sim_check_containers(single.world.sim);
        sim_check_containers(single.world.sim); /* the parent, now that it is empty */
        hold_await(&second, 1500);
        assert_true(second.token > first.token);
        hold_give_back(&second);
        world_end(&single.world);
    }
}

/* A race that is never won ends with the deadline, and with nothing else. */
static void only_the_deadline_ends_it(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct single single;
        struct hold bid = {0};

        begin(&single, seed, state);
        assert_true(process_await_connected(&single.a, 1000));
        hold_begin_on(&bid, &single.a, &single.semaphore, 1, 1500);
        while (bid.answered == 0) {
            (void)remove_directories(&single, 1);
            world_steps(&single.world, 1);
        }
        assert_int_equal(bid.status, UV_ETIMEDOUT);
        world_end(&single.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_race_is_run_until_it_is_won),
        WORLD_TEST(the_servers_own_removal),
        WORLD_TEST(only_the_deadline_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
