/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's semaphore takes several leases one by one. Two clients that want two of two
 * then have one each, and wait for each other for ever; and who wants more than there
 * are keeps everybody else out while it waits. Here all leases of an acquire are made in
 * one transaction, when there is room for all, or none is. */
#include "world.h"

#define SEEDS 6U
#define ROUNDS 25U
#define PATH "/s"
#define LEASES PATH "/leases"

static struct world world;
static struct process a, b;

static void begin(uint64_t seed, void *const *state, uint32_t max)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PATH, max);
    process_make_semaphore(&b, PATH, max);
}

static void start(struct hold *hold, struct process *process, uint32_t leases)
{
    hold_begin_on(hold, process, &process->semaphore, leases, UVZK_WAIT_FOREVER);
}

static size_t leases(void)
{
    return world_children(&world, LEASES);
}

static void end(void)
{
    world_run_for(&world, 1000);
    assert_int_equal(leases(), 0);
    assert_int_equal(world_children(&world, PATH "/locks"), 0);
    world_end(&world);
}

static void none_or_two(struct world *at)
{
    (void)at;
    assert_true(leases() == 0 || leases() == 2);
}

/* Each of the two, round after round, wants both, at the same time or a little later. */
static void two_clients_want_two_of_two(uint64_t seed, void *const *state)
{
    begin(seed, state, 2);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct hold of_a, of_b;
        start(&of_a, &a, 2);
        world_steps(&world, round);
        start(&of_b, &b, 2);
        world.each_ms = none_or_two;
        struct hold *first = hold_await_first(&of_a, &of_b, 1000);
        world.each_ms = NULL;
        struct hold *second = first == &of_a ? &of_b : &of_a;
        world_run_for(&world, 200);
        assert_int_equal(second->answered, 0);
        assert_int_equal(leases(), 2);
        hold_give_back(first);
        hold_acquire_release(second, 1000);
        assert_true(second->token > first->token);
    }
    end();
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
static void a_crowd_of_large_and_small(uint64_t seed, void *const *state)
{
    struct hold requests[40];

    begin(seed, state, most = 5);
    held = 0;
    for (unsigned i = 0; i < 40; i++) {
        struct process *process = sim_random(world.sim, 2) == 0 ? &a : &b;
        start(&requests[i], process, 1 + (uint32_t)sim_random(world.sim, 5));
        requests[i].hook = count_held;
    }
    for (unsigned i = 0; i < 40; i++) {
        assert_true(world_await(&world, &requests[i].released, 20000));
    }
    end();
}

/* Whoever wants all waits for all, and nothing of it is there before; gives it up, and
 * nothing of it is left. */
static void no_part_of_it_is_ever_there(uint64_t seed, void *const *state)
{
    struct hold one, all, next;

    begin(seed, state, 3);
    start(&one, &a, 1);
    hold_await(&one, 1000);
    hold_begin_on(&all, &b, &b.semaphore, 3, seed % 2 == 0 ? 1500 : UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    assert_int_equal(all.answered, 0);
    assert_int_equal(leases(), 1);
    if (seed % 2 == 1) {
        hold_cancel(&all);
    }
    hold_await_status(&all, 600, seed % 2 == 0 ? UV_ETIMEDOUT : UV_ECANCELED);
    start(&next, &b, 2); /* there is room for those */
    hold_await(&next, 1000);
    assert_int_equal(leases(), 3);
    hold_give_back(&next);
    hold_give_back(&one);
    end();
}

/* More than there are is refused by the call itself; nobody waits for it. */
static void more_than_there_are_is_refused_at_once(void **state)
{
    struct hold impossible, possible;
    uvzk_acquire_options_t options;

    begin(1, state, 3);
    uvzk_acquire_options_init(&options);
    options.leases = 4;
    assert_int_equal(hold_ask(&impossible, &a, &a.semaphore, &options), UV_EINVAL);
    start(&possible, &b, 3);
    hold_acquire_release(&possible, 500);
    assert_int_equal(impossible.answered, 0);
    assert_int_equal(sim_submitted(a.port), 1); /* the barrier */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(two_clients_want_two_of_two, 1, SEEDS),
        WORLD_SCENARIO(a_crowd_of_large_and_small, 1, SEEDS),
        WORLD_SCENARIO(no_part_of_it_is_ever_there, 1, SEEDS),
        WORLD_TEST(more_than_there_are_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
