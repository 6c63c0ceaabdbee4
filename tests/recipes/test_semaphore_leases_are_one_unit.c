/* Curator's semaphore takes several leases one by one. Two clients that want two of two
 * then have one each, and wait for each other for ever; and who wants more than there
 * are keeps everybody else out while it waits. Here all leases of an acquire are made in
 * one transaction, when there is room for all, or none is. */
#include "world.h"

#include <string.h>

#define SEEDS 6U
#define ROUNDS 25U
#define PATH "/s"
#define LEASES PATH "/leases"

/* Two processes with the same semaphore. */
struct pair {
    struct world world;
    struct process processes[2];
    uvzk_semaphore_t semaphores[2];
};

static void begin(struct pair *pair, uint64_t seed, void *const *state, uint32_t max)
{
    static const char *const names[2] = {"a", "b"};

    world_begin(&pair->world, seed, state);
    for (int i = 0; i < 2; i++) {
        process_begin(&pair->processes[i], &pair->world, names[i], NULL);
        memset(&pair->semaphores[i], 0, sizeof(pair->semaphores[i]));
        assert_int_equal(uvzk_semaphore_init(&pair->processes[i].client,
                                             &pair->semaphores[i], PATH, max, NULL),
                         0);
    }
}

static void start(struct pair *pair, struct hold *hold, int who, uint32_t leases)
{
    hold_begin_on(hold, &pair->processes[who], &pair->semaphores[who], leases,
                  UVZK_WAIT_FOREVER);
}

static size_t leases(const struct pair *pair)
{
    return world_children(&pair->world, LEASES);
}

static void end(struct pair *pair)
{
    world_run_for(&pair->world, 1000);
    assert_int_equal(leases(pair), 0);
    assert_int_equal(world_children(&pair->world, PATH "/locks"), 0);
    world_end(&pair->world);
}

/* Each of the two, round after round, wants both, at the same time or a little later. */
static void two_clients_want_two_of_two(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct pair pair;

        begin(&pair, seed, state, 2);
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct hold bids[2] = {0};
            start(&pair, &bids[0], 0, 2);
            world_steps(&pair.world, round);
            start(&pair, &bids[1], 1, 2);
            for (int i = 0; i < 1000 && bids[0].answered + bids[1].answered == 0; i++) {
                world_run_for(&pair.world, 1);
                assert_true(leases(&pair) == 0 || leases(&pair) == 2);
            }
            int first = bids[0].answered ? 0 : 1;
            assert_int_equal(bids[first].status, 0);
            world_run_for(&pair.world, 200);
            assert_int_equal(bids[1 - first].answered, 0);
            assert_int_equal(leases(&pair), 2);
            hold_give_back(&bids[first]);
            hold_await(&bids[1 - first], 1000);
            assert_true(bids[1 - first].token > bids[first].token);
            hold_give_back(&bids[1 - first]);
        }
        end(&pair);
    }
}

static uint32_t held; /* leases, by valid holds */
static uint32_t most;

static void count_held(struct hold *hold)
{
    if (hold_holds(hold) && !hold->releasing) {
        held += hold->leases;
        assert_in_range(held, 1, most);
        hold_release(hold);
        held -= hold->leases;
    }
}

/* Many at a time, each of which lets go at once: all of them come to their turn. */
static void a_crowd_of_large_and_small(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct pair pair;
        struct hold bids[40];

        begin(&pair, seed, state, most = 5);
        memset(bids, 0, sizeof(bids));
        held = 0;
        for (unsigned i = 0; i < 40; i++) {
            start(&pair, &bids[i], (int)sim_random(pair.world.sim, 2),
                  1 + (uint32_t)sim_random(pair.world.sim, 5));
            bids[i].hook = count_held;
        }
        for (unsigned i = 0; i < 40; i++) {
            assert_true(world_await(&pair.world, &bids[i].released, 20000));
            assert_int_equal(bids[i].status, 0);
        }
        end(&pair);
    }
}

/* Whoever wants all waits for all, and nothing of it is there before; gives it up, and
 * nothing of it is left. */
static void no_part_of_it_is_ever_there(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct pair pair;
        struct hold one = {0}, all = {0}, next = {0};

        begin(&pair, seed, state, 3);
        start(&pair, &one, 0, 1);
        hold_await(&one, 1000);
        hold_begin_on(&all, &pair.processes[1], &pair.semaphores[1], 3,
                      seed % 2 == 0 ? 1500 : UVZK_WAIT_FOREVER);
        world_run_for(&pair.world, 1000);
        assert_int_equal(all.answered, 0);
        assert_int_equal(leases(&pair), 1);
        if (seed % 2 == 1) {
            hold_cancel(&all);
        }
        hold_await_status(&all, 600, seed % 2 == 0 ? UV_ETIMEDOUT : UV_ECANCELED);
        start(&pair, &next, 1, 2); /* there is room for those */
        hold_await(&next, 1000);
        assert_int_equal(leases(&pair), 3);
        hold_give_back(&next);
        hold_give_back(&one);
        end(&pair);
    }
}

/* More than there are is refused by the call itself; nobody waits for it. */
static void more_than_there_are_is_refused_at_once(void **state)
{
    struct pair pair;
    struct hold impossible = {0}, possible = {0};
    uvzk_acquire_options_t options;

    begin(&pair, 1, state, 3);
    uvzk_acquire_options_init(&options);
    options.leases = 4;
    assert_int_equal(
        hold_ask(&impossible, &pair.processes[0], &pair.semaphores[0], &options),
        UV_EINVAL);
    start(&pair, &possible, 1, 3);
    hold_await(&possible, 500);
    hold_give_back(&possible);
    assert_int_equal(impossible.answered, 0);
    assert_int_equal(sim_submitted(pair.processes[0].port), 1); /* the barrier */
    end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(two_clients_want_two_of_two),
        WORLD_TEST(a_crowd_of_large_and_small),
        WORLD_TEST(no_part_of_it_is_ever_there),
        WORLD_TEST(more_than_there_are_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
