/* SPDX-License-Identifier: Apache-2.0 */
/* When the servers have moved, a new handle goes on with the session, and the watches
 * of the old one are gone: who waits for one of them would wait for ever. */
#include "world.h"

#define SEEDS 8U
#define OUTAGE_MS (WORLD_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 1000U

static struct world world;
static struct process a, b;
static struct hold held, waits;
static int64_t session;

/* B waits behind A, and is cut off. */
static void begin(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &held, &b, &waits);
    world_run_for(&world, 500);
    session = sim_session_id(b.port);
    assert_true(sim_armed(b.port) > 0);
    sim_replace_handle(b.port);
    sim_disconnect(b.port, SIM_RESET, OUTAGE_MS);
}

static void end(void)
{
    hold_await(&waits, PROOF_MS);
    assert_true(sim_session_id(b.port) == session);
    assert_int_equal(world_znodes_made(&world, 0, "b"), 1);
    assert_true(world_count(&world, 0, "b", "a new handle") == 1);
    hold_give_back(&waits);
    world_end(&world);
}

static void released_during_the_outage(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, 200);
    hold_give_back(&held);
    world_run_for(&world, 2 * OUTAGE_MS);
    end();
}

static void released_after_the_outage(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, 2 * OUTAGE_MS);
    assert_int_equal(waits.answered, 0);
    hold_give_back(&held);
    end();
}

/* Before it looks for itself whether its predecessor stands. */
static void released_when_it_is_back(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_await_line(&b, world.line_count, "CONNECTED", 8000);
    world_run_for(&world, 500);
    hold_give_back(&held);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(released_during_the_outage, 1, SEEDS),
        WORLD_SCENARIO(released_when_it_is_back, 1, SEEDS),
        WORLD_SCENARIO(released_after_the_outage, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
