/* When the servers have moved, a new handle goes on with the session, and the watches
 * of the old one are gone: who waits for one of them would wait for ever. */
#include "world.h"

#define SEEDS 8U
#define OUTAGE_MS (WORLD_TIMEOUT_MS / 2U)

/* Who was cut off is granted when its session has been proved afresh. */
#define PROOF_MS 1000U

struct wait {
    struct world world;
    struct process a, b;
    struct hold held, waits;
    int64_t session;
};

/* B waits behind A, and is cut off. */
static void begin(struct wait *wait, uint64_t seed, void *const *state)
{
    world_begin_queued(&wait->world, seed, state, &wait->a, &wait->held, &wait->b,
                       &wait->waits);
    world_run_for(&wait->world, 500);
    wait->session = sim_session_id(wait->b.port);
    assert_true(sim_armed(wait->b.port) > 0);
    sim_replace_handle(wait->b.port);
    sim_disconnect(wait->b.port, SIM_RESET, OUTAGE_MS);
}

static void end(struct wait *wait)
{
    hold_await(&wait->waits, PROOF_MS);
    assert_true(sim_session_id(wait->b.port) == wait->session);
    assert_int_equal(world_znodes_made(&wait->world, 0, "b"), 1);
    assert_true(world_count(&wait->world, 0, "b", "a new handle") == 1);
    hold_give_back(&wait->waits);
    world_end(&wait->world);
}

static void released_during_the_outage(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct wait wait;

        begin(&wait, seed, state);
        world_run_for(&wait.world, 200);
        hold_give_back(&wait.held);
        world_run_for(&wait.world, 2 * OUTAGE_MS);
        end(&wait);
    }
}

static void released_after_the_outage(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct wait wait;

        begin(&wait, seed, state);
        world_run_for(&wait.world, 2 * OUTAGE_MS);
        assert_int_equal(wait.waits.answered, 0);
        hold_give_back(&wait.held);
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
        from = wait.world.line_count;
        assert_true(world_await_line(&wait.world, from, "b", "CONNECTED", 8000));
        world_run_for(&wait.world, 500);
        hold_give_back(&wait.held);
        end(&wait);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(released_during_the_outage),
        WORLD_TEST(released_when_it_is_back),
        WORLD_TEST(released_after_the_outage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
