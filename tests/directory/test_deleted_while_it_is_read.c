/* SPDX-License-Identifier: Apache-2.0 */
/* A waiting contender's znode, deleted by hand while a listing and a read of it are
 * under way: the listing says that it is gone, and the rest before a new one begins,
 * as the policy of retries has it. The read says the same, and must not end that rest. */
#include "world.h"

#define SEEDS 8U
#define STEPS 24U
#define REST_MS 300U

static struct world world;
static struct process a, b;
static struct hold held, waits;
static struct world_path before, own; /* who has given up before it, and its own */

static void on_revoke(uvzk_hold_t *request)
{
    (void)request;
}

static void begin_both(uint64_t seed, void *const *state)
{
    uvzk_client_options_t rests;

    process_options(&rests);
    rests.retry.base_ms = REST_MS;
    world_begin(&world, seed, state);
    process_begin(&a, &world, "a", &rests);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
}

/* Who may be asked to let go reads its own znode while it waits. */
static void begin(uint64_t seed, void *const *state)
{
    uvzk_acquire_options_t options;

    begin_both(seed, state);
    hold_take(&held, &b);
    before = world_foreign_node(&world, WORLD_PATH, "lock-");
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoke;
    assert_int_equal(hold_ask(&waits, &a, NULL, &options), 0);
    world_run_for(&world, 200);
    own = world_child(&world, WORLD_PATH, 2);
}

/* The one before it goes, so it lists; a revocation comes, so its own znode is read. */
static void check(uint64_t seed, uint64_t steps, void *const *state)
{
    begin(seed, state);
    world_delete(&world, &before);
    assert_int_equal(sim_set_by_hand(world.sim, own.text, "__REVOKE__", 10), 0);
    world_steps(&world, steps);
    world_delete(&world, &own);
    world_run_for(&world, REST_MS);
    assert_int_equal(world_queue_length(&world), 1);
    world_run_for(&world, 2 * REST_MS);
    assert_int_equal(world_queue_length(&world), 2);
    hold_give_back(&held);
    hold_acquire_release(&waits, 1000);
    world_end(&world);
}

static void it_rests_all_the_same(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint64_t steps = 0; steps < STEPS; steps++) {
            check(seed, steps, state);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(it_rests_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
