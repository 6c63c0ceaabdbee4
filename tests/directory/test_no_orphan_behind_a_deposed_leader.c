/* SPDX-License-Identifier: Apache-2.0 */
/* A leader that has been replaced and does not know it answers sync and listings all by
 * itself. A create whose reply was lost and whose caller has given up is searched for
 * there, not found and forgotten, while it stands under the new leader, before everybody
 * else, for as long as the session lives. */
#include "world.h"

#define SEEDS 32U
#define OLD_LEADER 0
#define OTHER 1
#define ELECTION_MS 50U
#define DEPOSED_MS 4000U

/* A's create is done in the new epoch and its reply lost; A has given up, and comes to the
 * old leader. */
static struct world world;
static struct process a, b;

static void begin(uint64_t seed, void *const *state)
{
    world_begin_servers(&world, seed, state, 3);
    process_begin(&a, &world, "a", NULL);
    sim_connect_to(a.port, OTHER);
    world_make_directory(&world, &a);
    size_t from = world.line_count;
    assert_true(sim_depose(world.sim, 0, ELECTION_MS, DEPOSED_MS));
    process_await_line(&a, from, "CONNECTED", 2000);
}

/* It is asked for at once, or when whatever the client sends first has been answered. */
static void lose_create(void)
{
    struct hold hold;

    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    while (world_queue_length(&world) == 0) {
        world_steps(&world, 1);
    }
    sim_connect_to(a.port, OLD_LEADER);
    sim_disconnect(a.port, SIM_RESET, 0);
    world_steps(&world, 1);
    hold_cancel(&hold);
    hold_await_status(&hold, 1000, UV_ECANCELED);
}

static void end(void)
{
    sim_connect_to(a.port, -1);
    world_run_for(&world, 2 * DEPOSED_MS);
    assert_int_equal(world_queue_length(&world), 0);
    process_begin(&b, &world, "b", NULL);
    process_take_turn(&b);
    world_end(&world);
}

static void it_is_looked_for_where_a_quorum_answers(uint64_t seed, void *const *state)
{
    begin(seed, state);
    lose_create();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(it_is_looked_for_where_a_quorum_answers, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
