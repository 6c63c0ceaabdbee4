/* Curator's acquire throws when its retries are used up before the connection is
 * back, and gives its place in the queue away although the session lives on. Here
 * only the user's deadline or cancel, or the session's end, ends an acquire. */
#include "world.h"

#include <stdio.h>

#define SEEDS 6U
#define OUTAGE_MS (WORLD_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 3000U

/* A holder, the claim at hand, and one behind it. */
struct line {
    struct world world;
    struct process holder, a, behind;
    struct hold held, hold, later;
};

static void begin(struct line *line, uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1;
    world_begin(&line->world, seed, state);
    process_begin(&line->holder, &line->world, "holder", NULL);
    process_begin(&line->a, &line->world, "a", &no_retries);
    process_begin(&line->behind, &line->world, "behind", NULL);
    hold_take(&line->held, &line->holder);
    assert_true(process_await_connected(&line->a, 1000));
    assert_true(process_await_connected(&line->behind, 1000));
    hold_begin(&line->hold, &line->a, UVZK_WAIT_FOREVER);
}

static void end(struct line *line)
{
    hold_give_back(&line->hold);
    if (line->later.released == 0) {
        hold_await(&line->later, PROOF_MS);
        hold_give_back(&line->later);
    }
    world_end(&line->world);
}

/* Cut off at any moment of the acquire, for half a session: one znode is made, ever,
 * and it is granted when its turn comes. Another claim that comes after the cut stays
 * behind it if it had been made. */
static void one_node_from_the_begin_to_the_grant(void **state)
{
    for (uint64_t steps = 0; steps < 30; steps++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct line line;
            enum sim_cut cut = seed % 2 == 0 ? SIM_SILENT : SIM_RESET;

            begin(&line, seed + steps, state);
            int64_t session = sim_session_id(line.a.port);
            world_steps(&line.world, steps);
            sim_disconnect(line.a.port, cut, OUTAGE_MS);
            bool made = world_znodes_made(&line.world, 0, "a") == 1;
            world_run_for(&line.world, 100);
            hold_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
            world_run_for(&line.world, OUTAGE_MS + 2000);
            assert_int_equal(line.hold.answered, 0);
            assert_true(sim_session_id(line.a.port) == session);
            assert_int_equal(world_queue_length(&line.world), 3);
            hold_give_back(&line.held);
            if (!made && !world_await(&line.world, &line.hold.answered, PROOF_MS)) {
                assert_true(line.later.answered > 0);
                hold_give_back(&line.later);
            }
            hold_await(&line.hold, PROOF_MS);
            assert_int_equal(world_znodes_made(&line.world, 0, "a"), 1);
            end(&line);
        }
    }
}

/* What it waits for happens during the outage: it learns so after it. */
static void the_turn_that_comes_during_the_outage(void **state)
{
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct line line;

        begin(&line, seed, state);
        world_run_for(&line.world, 200);
        hold_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
        world_run_for(&line.world, 200);
        sim_disconnect(line.a.port, seed % 2 == 0 ? SIM_SILENT : SIM_RESET, OUTAGE_MS);
        world_run_for(&line.world, 200);
        hold_give_back(&line.held);
        world_run_for(&line.world, OUTAGE_MS - 500);
        assert_int_equal(line.hold.answered, 0);
        assert_int_equal(line.later.answered, 0);
        hold_await(&line.hold, 500 + PROOF_MS);
        assert_int_equal(world_znodes_made(&line.world, 0, "a"), 1);
        end(&line);
    }
}

/* All servers are away for longer than the session timeout, which the sessions
 * survive. The holder's hold is lost; the places are not. */
static void an_outage_of_the_ensemble(void **state)
{
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct line line;
        const char *names[3], *after[3];
        char first[128], second[128];

        begin(&line, seed, state);
        world_run_for(&line.world, 200);
        hold_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
        world_run_for(&line.world, 200);
        assert_int_equal(sim_children(line.world.sim, WORLD_PATH, names, 3), 3);
        (void)snprintf(first, sizeof(first), "%s", names[1]);
        (void)snprintf(second, sizeof(second), "%s", names[2]);
        sim_restart(line.world.sim, 2 * WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 2);
        world_run_for(&line.world, 2 * WORLD_TIMEOUT_MS);
        assert_int_equal(line.held.lost, 1);
        assert_true(process_was_told(&line.a, 0, UVZK_STATE_LOST));
        assert_int_equal(line.hold.answered, 0);
        hold_await(&line.hold, WORLD_TIMEOUT_MS);
        world_run_for(&line.world, 500);
        assert_int_equal(line.later.answered, 0);
        assert_int_equal(sim_children(line.world.sim, WORLD_PATH, after, 3), 2);
        assert_string_equal(after[0], first);
        assert_string_equal(after[1], second);
        end(&line);
    }
}

/* The outage does not stretch what the user has asked for. */
static void deadline_and_cancel_still_end_it(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct line line;
        struct hold timed;

        begin(&line, seed, state);
        hold_begin(&timed, &line.a, 2000);
        world_run_for(&line.world, 500);
        sim_disconnect(line.a.port, SIM_RESET, OUTAGE_MS);
        hold_await_status(&timed, 1600, UV_ETIMEDOUT);
        hold_cancel(&line.hold);
        hold_await_status(&line.hold, 10, UV_ECANCELED);
        world_run_for(&line.world, OUTAGE_MS + 1000);
        assert_int_equal(world_queue_length(&line.world), 1);
        hold_give_back(&line.held);
        world_end(&line.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(one_node_from_the_begin_to_the_grant),
        WORLD_TEST(the_turn_that_comes_during_the_outage),
        WORLD_TEST(an_outage_of_the_ensemble),
        WORLD_TEST(deadline_and_cancel_still_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
