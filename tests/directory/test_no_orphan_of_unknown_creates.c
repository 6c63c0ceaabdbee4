/* CURATOR-45, 62, 79, 202, 205: a create whose outcome the client does not learn is
 * given up, and its znode stays in the queue for as long as the session lives. */
#include "scene.h"

#define SEEDS 6U

static void reset(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 2000);
}

static void silence(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, 2000);
}

static void (*const troubles[])(struct process *) = {
    process_lose_request, process_lose_reply, process_spoil_reply, reset, silence};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

enum end { CANCEL, DEADLINE, TRY_ONCE, CLOSE_MUTEX, ENDS };

static void check_gone(struct scene *scene, struct process *process, size_t expected)
{
    uvzk_client_stats_t stats;

    assert_true(process_await_connected(process, 5000));
    scene_run_for(scene, 3000);
    uvzk_client_stats(&process->client, &stats);
    assert_int_equal(stats.contenders, expected);
    assert_int_equal(scene_queue_length(scene), expected);
}

/* The claim is given up `steps` events after its begin, into a trouble of that moment;
 * nothing of it is left while the session is still the same, and the next one gets
 * the lock. */
static void check(void *const *state, uint64_t seed, enum end end, size_t trouble,
                  uint64_t steps)
{
    struct scene scene;
    struct process a, b;
    struct claim claim, next;

    scene_begin_two(&scene, seed, state, &a, &b);
    sim_note(scene.sim, "end %d, trouble %zu, steps %d", (int)end, trouble, (int)steps);
    scene_make_directory(&scene, &b);
    assert_true(process_await_connected(&a, 1000));
    int64_t session = sim_session_id(a.port);
    claim_begin(&claim, &a,
                end == DEADLINE   ? 1 + (int64_t)steps
                : end == TRY_ONCE ? UVZK_TRY_ONCE
                                  : UVZK_WAIT_FOREVER);
    scene_steps(&scene, steps);
    troubles[trouble](&a);
    scene_steps(&scene, steps % 3);
    if (end == CANCEL && claim.acquired == 0) {
        assert_int_equal(uvzk_hold_cancel(&claim.request), 0);
    } else if (end == CLOSE_MUTEX) {
        assert_int_equal(uvzk_lock_close(&a.mutex, NULL), 0);
    }
    assert_true(scene_await(&scene, &claim.acquired, 5000));
    if (claim.status == 0 && claim.lost == 0) {
        claim_release(&claim);
    }
    check_gone(&scene, &a, 0);
    assert_true(sim_session_id(a.port) == session);
    claim_take(&next, &b);
    claim_give_back(&next);
    scene_end(&scene);
}

static void nothing_given_up_is_left(void **state)
{
    for (enum end end = 0; end < ENDS; end++) {
        for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
            for (uint64_t steps = 0; steps < 12; steps++) {
                check(state, steps % SEEDS, end, trouble, steps);
            }
        }
    }
}

/* The connection breaks again and again while what may be left is cleaned up: the
 * requests of the clean-up are lost, its replies too, its deletes as well. */
static void the_clean_up_survives_interruptions(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim first, claims[5];

        scene_begin_held(&scene, seed, state, &a, &first);
        int64_t session = sim_session_id(a.port);
        for (size_t i = 0; i < 5; i++) {
            claim_begin(&claims[i], &a, UVZK_WAIT_FOREVER);
        }
        sim_lose_reply(a.port);
        scene_steps(&scene, 4);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(uvzk_hold_cancel(&claims[i].request), 0);
        }
        for (unsigned i = 0; i < 8; i++) {
            assert_true(process_await_connected(&a, 2000));
            troubles[(seed + i) % 3](&a);
            scene_run_for(&scene, 30);
        }
        check_gone(&scene, &a, 1);
        assert_true(sim_session_id(a.port) == session);
        claim_give_back(&first);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(nothing_given_up_is_left),
        SCENE_TEST(the_clean_up_survives_interruptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
