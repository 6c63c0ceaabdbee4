/* SPDX-License-Identifier: Apache-2.0 */
/* An event says that the znode before one's own is gone, and is no reply: the connection
 * may come back on a server that has not seen it go. Leases that are listed there lack
 * those of whoever has gone, and there are more than allowed. */
#include "world.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES_MAX 4U
#define EACH 3U
#define SEEDS 32U

#define LEADER 0
#define LAGGING 1
#define LAG_MS 4000U

/* A takes leases, and B is behind it. */
static struct world world;
static struct process a, b;
static struct hold before, first, second;

static void begin_process(struct process *process, const char *name)
{
    process_begin(process, &world, name, NULL);
    sim_connect_to(process->port, LEADER);
    process_make_semaphore(process, PATH, LEASES_MAX);
    assert_true(process_await_connected(process, 1000));
}

/* A has its ticket and is stopped before it makes its leases; B waits for that ticket to
 * go. What happens from now on a follower sees late. */
static void begin(uint64_t seed, void *const *state)
{
    world_begin_servers(&world, seed, state, 3);
    begin_process(&a, "a");
    begin_process(&b, "b");
    hold_take_on(&before, &a, &a.semaphore, 1); /* the directories */
    hold_give_back(&before);
    hold_begin_on(&first, &a, &a.semaphore, EACH, UVZK_WAIT_FOREVER);
    while (world_children(&world, TICKETS) == 0) {
        world_steps(&world, 1);
    }
    sim_pause(a.port, UINT64_MAX);
    hold_begin_on(&second, &b, &b.semaphore, EACH, UVZK_WAIT_FOREVER);
    world_run_for(&world, 200);
    assert_int_equal(world_children(&world, TICKETS), 2);
    sim_lag(world.sim, LAGGING, LAG_MS);
    sim_resume(a.port);
}

/* A number of events after B has heard that A's ticket is gone its connection breaks. */
static void comes_back_on_a_server_that_lags(uint64_t seed, void *const *state,
                                             uint64_t steps)
{
    begin(seed, state);
    process_await_line(&b, world.line_count, "watch " TICKETS, 1000);
    world_steps(&world, steps);
    sim_connect_to(b.port, LAGGING);
    sim_disconnect(b.port, SIM_RESET, 0);
    for (unsigned i = 0; i < 2 * LAG_MS; i++) {
        world_run_for(&world, 1);
        assert_false(hold_holds(&first) && hold_holds(&second));
    }
    assert_int_equal(first.answered, 1);
    assert_int_equal(second.answered, 0);
    assert_int_equal(sim_server_of(b.port), LAGGING);
    hold_give_back(&first);
    hold_acquire_release(&second, 1000);
    world_end(&world);
}

static void whoever_has_heard_by_an_event_counts_what_is_there(uint64_t seed,
                                                               void *const *state)
{
    comes_back_on_a_server_that_lags(seed, state, seed % 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(whoever_has_heard_by_an_event_counts_what_is_there, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
