/* SPDX-License-Identifier: Apache-2.0 */
/* Leases that are handed on within a client are held at once, on the credit of who had
 * them. The delete of the new holder's ticket lets the next one in, so it has to show
 * that they stand: else two would hold, one of them without a znode. */
#include "directory/queue.h"
#include "world.h"

#define PATH "/s"
#define SEEDS 16U
#define CROWD (UVZK__EARLY_GRANTS_MAX + 1)

/* B waits behind one of A, to which another one of A hands its lease on. That has been
 * deleted by hand, and no event has told it. */
static void hand_on(uint64_t seed, void *const *state, uint64_t ms)
{
    struct world world;
    struct process a, b;
    uvzk_semaphore_mutex_t of_a = {0}, of_b = {0};
    struct hold first, second, next;

    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &of_a, PATH), 0);
    assert_int_equal(uvzk_semaphore_mutex_init(&b.client, &of_b, PATH), 0);
    hold_take_on(&first, &a, &of_a, 1);
    hold_begin_on(&second, &a, &of_a, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    hold_begin_on(&next, &b, &of_b, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, ms);
    sim_lose_events(a.port, 16);
    assert_int_equal(sim_delete_by_hand(world.sim, first.path), 0);
    a.killed = true; /* it holds on until it has looked */
    hold_release(&first);
    hold_await(&next, 3000);
    assert_false(hold_holds(&second));
    hold_give_back(&next);
    hold_finish(&second, 1000);
    world_end(&world);
}

static void who_lets_the_next_one_in_has_a_lease(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hand_on(seed, state, 250 * seed);
    }
}

/* Of the same client, and its connection is silent: with the proof nearly run out it may
 * lose what it is told the moment it is told so. */
static void nothing_is_handed_over_without_a_proof(void **state)
{
    struct world world;
    struct process a;
    uvzk_semaphore_mutex_t mutex = {0};
    struct hold first, second;

    world_begin_one(&world, 1, state, &a);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &mutex, PATH), 0);
    hold_take_on(&first, &a, &mutex, 1);
    hold_begin_on(&second, &a, &mutex, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    world.outage_ms = 2 * WORLD_TIMEOUT_MS;
    sim_disconnect(a.port, SIM_SILENT, 2 * WORLD_TIMEOUT_MS);
    world_run_until(&world, uvzk_hold_valid_until(&first.request) - 100);
    hold_release(&first);
    world_run_for(&world, 50);
    assert_int_equal(second.answered, 0);
    hold_await_status(&second, 4 * WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    world_end(&world);
}

/* A proof that is just under way has seen the lease, which is then deleted. */
static void a_proof_of_before_is_not_enough(void **state)
{
    for (uint64_t ms = 1500; ms < 3300; ms++) {
        hand_on(5, state, ms); /* whose world tells what has come in one turn */
    }
}

/* More are handed on in one turn than can be granted early. The last of them is the first
 * lease that was ever made there; it was seen often, but not since it was deleted. */
static void who_is_not_granted_early_is_checked_too(void **state)
{
    static struct hold before[CROWD], after[CROWD];
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a = {0}, of_b = {0};
    struct hold next;

    world_begin_two(&world, 1, state, &a, &b);
    assert_int_equal(uvzk_semaphore_init(&a.client, &of_a, PATH, CROWD, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&b.client, &of_b, PATH, CROWD, NULL), 0);
    for (size_t i = 0; i < CROWD; i++) {
        hold_take_on(&before[i], &a, &of_a, 1);
    }
    for (size_t i = 0; i < CROWD; i++) {
        hold_begin_on(&after[i], &a, &of_a, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 300);
    hold_begin_on(&next, &b, &of_b, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2000);
    sim_lose_events(a.port, 16);
    assert_int_equal(sim_delete_by_hand(world.sim, before[0].path), 0);
    a.killed = true; /* it holds on until it has looked */
    for (size_t i = CROWD; i-- > 0;) {
        hold_release(&before[i]);
    }
    hold_await(&next, 3000);
    assert_false(hold_holds(&after[CROWD - 1]));
    hold_give_back(&next);
    for (size_t i = 0; i < CROWD; i++) {
        hold_finish(&after[i], 1000);
    }
    world_end(&world);
}

/* Two are handed on, and B waits. READ has been taken away from one of them, so that its
 * check is refused; the other one has been deleted by hand, and no event has told it. */
static void hand_on_beside_an_unreadable_one(unsigned unreadable, void *const *state)
{
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a = {0}, of_b = {0};
    struct hold before[2], after[2], next;

    world_begin_two(&world, 1, state, &a, &b);
    assert_int_equal(uvzk_semaphore_init(&a.client, &of_a, PATH, 2, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&b.client, &of_b, PATH, 2, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        hold_take_on(&before[i], &a, &of_a, 1);
    }
    for (size_t i = 0; i < 2; i++) {
        hold_begin_on(&after[i], &a, &of_a, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 300);
    hold_begin_on(&next, &b, &of_b, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2000);
    sim_lose_events(a.port, 16);
    assert_int_equal(sim_set_readable(world.sim, before[unreadable].path, false), 0);
    assert_int_equal(sim_delete_by_hand(world.sim, before[1 - unreadable].path), 0);
    a.killed = true; /* it holds on until it has looked */
    for (size_t i = 0; i < 2; i++) {
        hold_release(&before[i]);
    }
    for (unsigned ms = 0; ms < 3000; ms++) {
        world_run_for(&world, 1);
        assert_false(hold_holds(&after[0]) && hold_holds(&after[1]) && hold_holds(&next));
    }
    for (size_t i = 0; i < 2; i++) {
        hold_finish(&after[i], 1000);
    }
    hold_finish(&next, 1000);
    world_end(&world);
}

static void one_that_may_not_be_checked_hides_no_other(void **state)
{
    hand_on_beside_an_unreadable_one(0, state);
    hand_on_beside_an_unreadable_one(1, state);
}

/* One that may not be checked is handed on once, before that is known. Then it is
 * deleted by hand, and no event has told it. */
static void one_that_may_not_be_checked_is_not_handed_on(void **state)
{
    struct world world;
    struct process a, b;
    uvzk_semaphore_mutex_t of_a = {0}, of_b = {0};
    struct hold first, second, third, next;

    world_begin_two(&world, 1, state, &a, &b);
    assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &of_a, PATH), 0);
    assert_int_equal(uvzk_semaphore_mutex_init(&b.client, &of_b, PATH), 0);
    hold_take_on(&first, &a, &of_a, 1);
    hold_begin_on(&second, &a, &of_a, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&third, &a, &of_a, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    hold_begin_on(&next, &b, &of_b, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    assert_int_equal(sim_set_readable(world.sim, first.path, false), 0);
    hold_release(&first);
    hold_await(&second, 1000);
    world_run_for(&world, 1000);
    sim_lose_events(a.port, 16);
    assert_int_equal(sim_delete_by_hand(world.sim, second.path), 0);
    a.killed = true; /* it holds on until it has looked */
    hold_release(&second);
    for (unsigned ms = 0; ms < 3000; ms++) {
        world_run_for(&world, 1);
        assert_false(hold_holds(&third) && hold_holds(&next));
    }
    sim_lose_events(a.port, 0);
    hold_finish(hold_holds(&third) ? &third : &next, 1000);
    hold_finish(&next, 3000);
    hold_finish(&third, 3000);
    world_end(&world);
}

/* Beside the plain algorithm, which hands nothing on. */
static unsigned world_handing_on = UVZK__TUNE_LEASE_HANDOVER;
#define BOTH(test) WORLD_CASE(test, handing_on), WORLD_CASE(test, tuned)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(who_lets_the_next_one_in_has_a_lease),
        BOTH(nothing_is_handed_over_without_a_proof),
        BOTH(a_proof_of_before_is_not_enough),
        BOTH(who_is_not_granted_early_is_checked_too),
        BOTH(one_that_may_not_be_checked_hides_no_other),
        BOTH(one_that_may_not_be_checked_is_not_handed_on)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
