/* SPDX-License-Identifier: Apache-2.0 */
/* The reply to the multi that has made a claim's leases is lost. Before they are searched
 * for, one of them is deleted by hand, and so is the claim's ticket. Its new ticket may be
 * behind that of another claim of the same client. That one is not granted before it, and
 * it creates nothing before that one is granted: its leases must be withdrawn, or both wait
 * for ever. */
#include "world.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define SEEDS 4U
#define STEPS 60U

static struct world world;
static struct process a;
static struct hold several, one;

/* Both ask; so many events later a reply is lost. If it is that of the multi, a lease and
 * the first ticket are deleted during the outage. */
static void check(uint64_t seed, uint64_t steps, void *const *state)
{
    world_begin_one(&world, seed, state, &a);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    assert_true(process_await_connected(&a, 1000));
    hold_begin_on(&several, &a, &a.semaphore, LEASES_MAX, UVZK_WAIT_FOREVER);
    hold_begin_on(&one, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_steps(&world, steps);
    size_t before = world_children(&world, LEASES);
    process_lose_reply(&a);
    if (world_await(&world, &a.suspended, 1000) && before == 0 &&
        world_children(&world, LEASES) == LEASES_MAX) {
        world_delete_child(&world, LEASES, 1);
        world_delete_child(&world, TICKETS, 0);
    }
    world_release_and_end(&world);
}

static void both_are_answered(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            check(seed, steps, state);
        }
    }
}

/* Whoever waits for room behind others' leases learns that its ticket has gone, also where
 * no proof checks it, and gets a new one. Otherwise others would create leases beside those
 * that it has. */
static void a_deleted_ticket_is_noticed(void **state)
{
    struct process b;

    world_begin(&world, 1, state);
    world.options.proof = UVZK_PROOF_SYNC;
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    process_make_semaphore(&b, PATH, LEASES_MAX);
    hold_take_on(&several, &b, &b.semaphore, LEASES_MAX);
    hold_begin_on(&one, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2000);
    assert_int_equal(world_children(&world, TICKETS), 1);
    world_delete_child(&world, TICKETS, 0);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(world_children(&world, TICKETS), 1);
    world_release_and_end(&world);
}

/* Each claim has a ticket of its own. */
static unsigned unshared =
    UVZK__TUNE_ALL & ~(UVZK__TUNE_SHARED_TICKET | UVZK__TUNE_DIRECT_LEASE);

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(both_are_answered),
        WORLD_TEST(a_deleted_ticket_is_noticed),
        {"both_are_answered, unshared", both_are_answered, NULL, NULL, &unshared},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
