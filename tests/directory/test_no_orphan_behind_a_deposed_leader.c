/* A leader that has been replaced and does not know it answers sync and listings all by
 * itself. A create whose reply was lost and whose caller has given up is searched for
 * there, not found and forgotten, while it stands under the new leader, before everybody
 * else, for as long as the session lives. */
#include "world.h"

#include <string.h>

#define SEEDS 32U
#define OLD_LEADER 0
#define OTHER 1
#define ELECTION_MS 50U
#define DEPOSED_MS 4000U

/* A's create is done in the new epoch and its reply lost; A has given up, and comes to the
 * old leader. */
struct orphan {
    struct world world;
    struct process a, b;
    struct hold hold;
};

static void begin(struct orphan *orphan, uint64_t seed, void *const *state)
{
    struct world *world = &orphan->world;

    memset(orphan, 0, sizeof(*orphan));
    world_begin_servers(world, seed, state, 3);
    process_begin(&orphan->a, world, "a", NULL);
    sim_connect_to(orphan->a.port, OTHER);
    world_make_directory(world, &orphan->a);
    size_t from = world->line_count;
    assert_true(sim_depose(world->sim, 0, ELECTION_MS, DEPOSED_MS));
    assert_true(world_await_line(world, from, "a", "CONNECTED", 2000));
}

/* It is asked for at once, or when whatever the client sends first has been answered. */
static void lose_create(struct orphan *orphan)
{
    struct world *world = &orphan->world;

    hold_begin(&orphan->hold, &orphan->a, UVZK_WAIT_FOREVER);
    while (world_queue_length(world) == 0) {
        world_steps(world, 1);
    }
    sim_connect_to(orphan->a.port, OLD_LEADER);
    sim_disconnect(orphan->a.port, SIM_RESET, 0);
    world_steps(world, 1);
    hold_cancel(&orphan->hold);
    hold_await_status(&orphan->hold, 1000, UV_ECANCELED);
}

static void end(struct orphan *orphan)
{
    struct hold next;

    sim_connect_to(orphan->a.port, -1);
    world_run_for(&orphan->world, 2 * DEPOSED_MS);
    assert_int_equal(world_queue_length(&orphan->world), 0);
    process_begin(&orphan->b, &orphan->world, "b", NULL);
    hold_take(&next, &orphan->b);
    hold_give_back(&next);
    world_end(&orphan->world);
}

static void it_is_looked_for_where_a_quorum_answers(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct orphan orphan;

        begin(&orphan, seed, state);
        lose_create(&orphan);
        end(&orphan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(it_is_looked_for_where_a_quorum_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
