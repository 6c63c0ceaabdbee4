/* An event says that the znode before one's own is gone, and is no reply: the connection
 * may come back on a server that has not seen it go. Leases that are listed there lack
 * those of whoever has gone, and there are more than allowed. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES_MAX 4U
#define EACH 3U
#define SEEDS 32U

#define LEADER 0
#define LAGGING 1
#define LAG_MS 4000U

/* A takes leases, and B is behind it. */
struct taking {
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct hold before, first, second;
};

static void begin_process(struct taking *taking, struct process *process,
                          const char *name, uvzk_semaphore_t *semaphore)
{
    process_begin(process, &taking->world, name, NULL);
    sim_connect_to(process->port, LEADER);
    assert_int_equal(
        uvzk_semaphore_init(&process->client, semaphore, PATH, LEASES_MAX, NULL), 0);
    assert_true(process_await_connected(process, 1000));
}

static bool leases_allowed(const struct taking *taking)
{
    return !hold_holds(&taking->first) || !hold_holds(&taking->second);
}

/* A has its ticket and is stopped before it makes its leases; B waits for that ticket to
 * go. What happens from now on a follower sees late. */
static void begin(struct taking *taking, uint64_t seed, void *const *state)
{
    memset(taking, 0, sizeof(*taking));
    world_begin_servers(&taking->world, seed, state, 3);
    begin_process(taking, &taking->a, "a", &taking->of_a);
    begin_process(taking, &taking->b, "b", &taking->of_b);
    hold_take_on(&taking->before, &taking->a, &taking->of_a, 1); /* the directories */
    hold_give_back(&taking->before);
    hold_begin_on(&taking->first, &taking->a, &taking->of_a, EACH, UVZK_WAIT_FOREVER);
    while (world_children(&taking->world, TICKETS) == 0) {
        world_steps(&taking->world, 1);
    }
    sim_pause(taking->a.port, UINT64_MAX);
    hold_begin_on(&taking->second, &taking->b, &taking->of_b, EACH, UVZK_WAIT_FOREVER);
    world_run_for(&taking->world, 200);
    assert_int_equal(world_children(&taking->world, TICKETS), 2);
    sim_lag(taking->world.sim, LAGGING, LAG_MS);
    sim_resume(taking->a.port);
}

/* A number of events after B has heard that A's ticket is gone its connection breaks. */
static void comes_back_on_a_server_that_lags(uint64_t seed, void *const *state,
                                             uint64_t steps)
{
    static struct taking taking;

    begin(&taking, seed, state);
    assert_true(world_await_line(&taking.world, taking.world.line_count, "b",
                                 "watch " TICKETS, 1000));
    world_steps(&taking.world, steps);
    sim_connect_to(taking.b.port, LAGGING);
    sim_disconnect(taking.b.port, SIM_RESET, 0);
    for (unsigned i = 0; i < 2 * LAG_MS; i++) {
        world_run_for(&taking.world, 1);
        assert_true(leases_allowed(&taking));
    }
    assert_int_equal(taking.first.answered, 1);
    assert_int_equal(taking.second.answered, 0);
    assert_int_equal(sim_server_of(taking.b.port), LAGGING);
    hold_give_back(&taking.first);
    hold_await(&taking.second, 1000);
    hold_give_back(&taking.second);
    world_end(&taking.world);
}

static void whoever_has_heard_by_an_event_counts_what_is_there(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        comes_back_on_a_server_that_lags(seed, state, seed % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(whoever_has_heard_by_an_event_counts_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
