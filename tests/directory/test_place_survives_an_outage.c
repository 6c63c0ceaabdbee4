/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's acquire throws when its retries are used up before the connection is
 * back, and gives its place in the queue away although the session lives on. Here
 * only the user's deadline or cancel, or the session's end, ends an acquire. */
#include "world.h"

#define SEEDS 6U
#define OUTAGE_MS (WORLD_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 3000U

/* A holder, A that waits, and one behind it. */
static struct world world;
static struct process holder, a, behind;
static struct hold held, waits, later;

static void begin(uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1;
    world_begin(&world, seed, state);
    process_begin(&holder, &world, "holder", NULL);
    process_begin(&a, &world, "a", &no_retries);
    process_begin(&behind, &world, "behind", NULL);
    hold_take(&held, &holder);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&behind, 1000));
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
}

/* A waits, and the one behind it. */
static void begin_with_both(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world_run_for(&world, 200);
    hold_begin(&later, &behind, UVZK_WAIT_FOREVER);
    world_run_for(&world, 200);
}

static void cut_off(uint64_t seed)
{
    sim_disconnect(a.port, seed % 2 == 0 ? SIM_SILENT : SIM_RESET, OUTAGE_MS);
}

static void end(void)
{
    hold_give_back(&waits);
    if (later.released == 0) {
        hold_acquire_release(&later, PROOF_MS);
    }
    world_end(&world);
}

/* Cut off at any moment of the acquire, for half a session: one znode is made, ever,
 * and it is granted when its turn comes. Another contender that comes after the cut stays
 * behind it if it had been made. */
static void one_node_from_the_begin_to_the_grant(uint64_t steps, void *const *state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed + steps, state);
        int64_t session = sim_session_id(a.port);
        world_steps(&world, steps);
        cut_off(seed);
        bool made = world_znodes_made(&world, 0, "a") == 1;
        world_run_for(&world, 100);
        hold_begin(&later, &behind, UVZK_WAIT_FOREVER);
        world_run_for(&world, OUTAGE_MS + 2000);
        assert_int_equal(waits.answered, 0);
        assert_true(sim_session_id(a.port) == session);
        assert_int_equal(world_queue_length(&world), 3);
        hold_give_back(&held);
        if (!made && !world_await(&world, &waits.answered, PROOF_MS)) {
            assert_true(later.answered > 0);
            hold_give_back(&later);
        }
        hold_await(&waits, PROOF_MS);
        assert_int_equal(world_znodes_made(&world, 0, "a"), 1);
        end();
    }
}

/* What it waits for happens during the outage: it learns so after it. */
static void the_turn_that_comes_during_the_outage(uint64_t seed, void *const *state)
{
    begin_with_both(seed, state);
    cut_off(seed);
    world_run_for(&world, 200);
    hold_give_back(&held);
    world_run_for(&world, OUTAGE_MS - 500);
    assert_int_equal(waits.answered, 0);
    assert_int_equal(later.answered, 0);
    hold_await(&waits, 500 + PROOF_MS);
    assert_int_equal(world_znodes_made(&world, 0, "a"), 1);
    end();
}

/* All servers are away for longer than the session timeout, which the sessions
 * survive. What the holder had is lost; the places are not. */
static void an_outage_of_the_ensemble(uint64_t seed, void *const *state)
{
    begin_with_both(seed, state);
    assert_int_equal(world_queue_length(&world), 3);
    struct world_path first = world_child(&world, WORLD_PATH, 1);
    struct world_path second = world_child(&world, WORLD_PATH, 2);
    sim_restart(world.sim, 2 * WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(held.lost, 1);
    assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));
    assert_int_equal(waits.answered, 0);
    hold_await(&waits, WORLD_TIMEOUT_MS);
    world_run_for(&world, 500);
    assert_int_equal(later.answered, 0);
    assert_int_equal(world_queue_length(&world), 2);
    assert_string_equal(world_child(&world, WORLD_PATH, 0).text, first.text);
    assert_string_equal(world_child(&world, WORLD_PATH, 1).text, second.text);
    end();
}

/* The outage does not stretch what the user has asked for. */
static void deadline_and_cancel_still_end_it(uint64_t seed, void *const *state)
{
    struct hold timed;

    begin(seed, state);
    hold_begin(&timed, &a, 2000);
    world_run_for(&world, 500);
    sim_disconnect(a.port, SIM_RESET, OUTAGE_MS);
    hold_await_status(&timed, 1600, UVZK_EUNREACHABLE);
    hold_cancel(&waits);
    hold_await_status(&waits, 10, UV_ECANCELED);
    world_run_for(&world, OUTAGE_MS + 1000);
    assert_int_equal(world_queue_length(&world), 1);
    hold_give_back(&held);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(one_node_from_the_begin_to_the_grant, 0, 29),
        WORLD_SCENARIO(the_turn_that_comes_during_the_outage, 1, 4 * SEEDS),
        WORLD_SCENARIO(an_outage_of_the_ensemble, 1, 4 * SEEDS),
        WORLD_SCENARIO(deadline_and_cancel_still_end_it, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
