/* Curator's acquire throws when its retries are used up before the connection is
 * back, and gives its place in the queue away although the session lives on. Here
 * only the user's deadline or cancel, or the session's end, ends an acquire. */
#include "scene.h"

#include <stdio.h>

#define SEEDS 6U
#define OUTAGE_MS (SCENE_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 3000U

/* A holder, the claim at hand, and one behind it. */
struct line {
    struct scene scene;
    struct process holder, a, behind;
    struct claim held, claim, later;
};

static void begin(struct line *line, uint64_t seed, void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    no_retries.retry.base_ms = 1;
    scene_begin(&line->scene, seed, state);
    process_begin(&line->holder, &line->scene, "holder", NULL);
    process_begin(&line->a, &line->scene, "a", &no_retries);
    process_begin(&line->behind, &line->scene, "behind", NULL);
    claim_take(&line->held, &line->holder);
    assert_true(process_await_connected(&line->a, 1000));
    assert_true(process_await_connected(&line->behind, 1000));
    claim_begin(&line->claim, &line->a, UVZK_WAIT_FOREVER);
}

static void end(struct line *line)
{
    claim_give_back(&line->claim);
    if (line->later.released == 0) {
        claim_await(&line->later, PROOF_MS);
        claim_give_back(&line->later);
    }
    scene_end(&line->scene);
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
            scene_steps(&line.scene, steps);
            sim_disconnect(line.a.port, cut, OUTAGE_MS);
            bool made = scene_znodes_made(&line.scene, 0, "a") == 1;
            scene_run_for(&line.scene, 100);
            claim_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
            scene_run_for(&line.scene, OUTAGE_MS + 2000);
            assert_int_equal(line.claim.acquired, 0);
            assert_true(sim_session_id(line.a.port) == session);
            assert_int_equal(scene_queue_length(&line.scene), 3);
            claim_give_back(&line.held);
            if (!made && !scene_await(&line.scene, &line.claim.acquired, PROOF_MS)) {
                assert_true(line.later.acquired > 0);
                claim_give_back(&line.later);
            }
            claim_await(&line.claim, PROOF_MS);
            assert_int_equal(scene_znodes_made(&line.scene, 0, "a"), 1);
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
        scene_run_for(&line.scene, 200);
        claim_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
        scene_run_for(&line.scene, 200);
        sim_disconnect(line.a.port, seed % 2 == 0 ? SIM_SILENT : SIM_RESET, OUTAGE_MS);
        scene_run_for(&line.scene, 200);
        claim_give_back(&line.held);
        scene_run_for(&line.scene, OUTAGE_MS - 500);
        assert_int_equal(line.claim.acquired, 0);
        assert_int_equal(line.later.acquired, 0);
        claim_await(&line.claim, 500 + PROOF_MS);
        assert_int_equal(scene_znodes_made(&line.scene, 0, "a"), 1);
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
        scene_run_for(&line.scene, 200);
        claim_begin(&line.later, &line.behind, UVZK_WAIT_FOREVER);
        scene_run_for(&line.scene, 200);
        assert_int_equal(sim_children(line.scene.sim, SCENE_PATH, names, 3), 3);
        (void)snprintf(first, sizeof(first), "%s", names[1]);
        (void)snprintf(second, sizeof(second), "%s", names[2]);
        sim_restart(line.scene.sim, 2 * SCENE_TIMEOUT_MS + SCENE_TIMEOUT_MS / 2);
        scene_run_for(&line.scene, 2 * SCENE_TIMEOUT_MS);
        assert_int_equal(line.held.lost, 1);
        assert_true(process_was_told(&line.a, 0, UVZK_STATE_LOST));
        assert_int_equal(line.claim.acquired, 0);
        claim_await(&line.claim, SCENE_TIMEOUT_MS);
        scene_run_for(&line.scene, 500);
        assert_int_equal(line.later.acquired, 0);
        assert_int_equal(sim_children(line.scene.sim, SCENE_PATH, after, 3), 2);
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
        struct claim timed;

        begin(&line, seed, state);
        claim_begin(&timed, &line.a, 2000);
        scene_run_for(&line.scene, 500);
        sim_disconnect(line.a.port, SIM_RESET, OUTAGE_MS);
        claim_await_status(&timed, 1600, UV_ETIMEDOUT);
        assert_int_equal(uvzk_hold_cancel(&line.claim.request), 0);
        claim_await_status(&line.claim, 10, UV_ECANCELED);
        scene_run_for(&line.scene, OUTAGE_MS + 1000);
        assert_int_equal(scene_queue_length(&line.scene), 1);
        claim_give_back(&line.held);
        scene_end(&line.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(one_node_from_the_begin_to_the_grant),
        SCENE_TEST(the_turn_that_comes_during_the_outage),
        SCENE_TEST(an_outage_of_the_ensemble),
        SCENE_TEST(deadline_and_cancel_still_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
