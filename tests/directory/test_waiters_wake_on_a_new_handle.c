/* When the servers have moved, a new handle goes on with the session, and the watches
 * of the old one are gone: who waits for one of them would wait for ever. */
#include "scene.h"

#define SEEDS 8U
#define OUTAGE_MS (SCENE_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 1000U

struct wait {
    struct scene scene;
    struct process a, b;
    struct claim held, waits;
    int64_t session;
};

/* B waits behind A, and is cut off. */
static void begin(struct wait *wait, uint64_t seed, void *const *state)
{
    scene_begin_queued(&wait->scene, seed, state, &wait->a, &wait->held, &wait->b,
                       &wait->waits);
    scene_run_for(&wait->scene, 500);
    wait->session = sim_session_id(wait->b.port);
    assert_true(sim_armed(wait->b.port) > 0);
    sim_replace_handle(wait->b.port);
    sim_disconnect(wait->b.port, SIM_RESET, OUTAGE_MS);
}

static void end(struct wait *wait)
{
    claim_await(&wait->waits, PROOF_MS);
    assert_true(sim_session_id(wait->b.port) == wait->session);
    assert_int_equal(scene_znodes_made(&wait->scene, 0, "b"), 1);
    assert_true(scene_count(&wait->scene, 0, "b", "a new handle") == 1);
    claim_give_back(&wait->waits);
    scene_end(&wait->scene);
}

static void released_during_the_outage(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct wait wait;

        begin(&wait, seed, state);
        scene_run_for(&wait.scene, 200);
        claim_give_back(&wait.held);
        scene_run_for(&wait.scene, 2 * OUTAGE_MS);
        end(&wait);
    }
}

static void released_after_the_outage(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct wait wait;

        begin(&wait, seed, state);
        scene_run_for(&wait.scene, 2 * OUTAGE_MS);
        assert_int_equal(wait.waits.acquired, 0);
        claim_give_back(&wait.held);
        end(&wait);
    }
}

/* Before it looks for itself whether its predecessor stands. */
static void released_when_it_is_back(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct wait wait;
        size_t from;

        begin(&wait, seed, state);
        from = wait.scene.line_count;
        assert_true(scene_await_line(&wait.scene, from, "b", "CONNECTED", 8000));
        scene_run_for(&wait.scene, 500);
        claim_give_back(&wait.held);
        end(&wait);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(released_during_the_outage),
        SCENE_TEST(released_when_it_is_back),
        SCENE_TEST(released_after_the_outage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
