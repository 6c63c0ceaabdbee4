/* A leader that has been replaced and does not know it answers sync and listings all by
 * itself. A create whose reply was lost and whose caller has given up is searched for
 * there, not found and forgotten, while it stands under the new leader, before everybody
 * else, for as long as the session lives. */
#include "scene.h"

#include <string.h>

#define SEEDS 32U
#define OLD_LEADER 0
#define OTHER 1
#define ELECTION_MS 50U
#define DEPOSED_MS 4000U

/* A's create is done in the new epoch and its reply lost; A has given up, and comes to the
 * old leader. */
struct orphan {
    struct scene scene;
    struct process a, b;
    struct claim claim;
};

static void begin(struct orphan *orphan, uint64_t seed, void *const *state)
{
    struct scene *scene = &orphan->scene;

    memset(orphan, 0, sizeof(*orphan));
    scene_begin_servers(scene, seed, state, 3);
    process_begin(&orphan->a, scene, "a", NULL);
    sim_connect_to(orphan->a.port, OTHER);
    scene_make_directory(scene, &orphan->a);
    size_t from = scene->line_count;
    assert_true(sim_depose(scene->sim, 0, ELECTION_MS, DEPOSED_MS));
    assert_true(scene_await_line(scene, from, "a", "CONNECTED", 2000));
}

/* It is asked for at once, or when whatever the client sends first has been answered. */
static void lose_create(struct orphan *orphan)
{
    struct scene *scene = &orphan->scene;

    claim_begin(&orphan->claim, &orphan->a, UVZK_WAIT_FOREVER);
    while (scene_queue_length(scene) == 0) {
        scene_steps(scene, 1);
    }
    sim_connect_to(orphan->a.port, OLD_LEADER);
    sim_disconnect(orphan->a.port, SIM_RESET, 0);
    scene_steps(scene, 1);
    assert_int_equal(uvzk_hold_cancel(&orphan->claim.request), 0);
    claim_await_status(&orphan->claim, 1000, UV_ECANCELED);
}

static void end(struct orphan *orphan)
{
    struct claim next;

    sim_connect_to(orphan->a.port, -1);
    scene_run_for(&orphan->scene, 2 * DEPOSED_MS);
    assert_int_equal(scene_queue_length(&orphan->scene), 0);
    process_begin(&orphan->b, &orphan->scene, "b", NULL);
    claim_take(&next, &orphan->b);
    claim_give_back(&next);
    scene_end(&orphan->scene);
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
        SCENE_TEST(it_is_looked_for_where_a_quorum_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
