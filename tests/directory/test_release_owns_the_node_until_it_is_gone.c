/* CURATOR-486, 678, 202: a release that fails forgets the hold, while its znode stands
 * on and blocks everybody, the same process included. Here a release lasts until the
 * znode is gone, through whatever happens, and then says so. */
#include "scene.h"

#define SEEDS 4U
#define OUTAGE_MS (SCENE_TIMEOUT_MS / 2U)
#define PROOF_MS 3000U /* until a session that was cut off is proved afresh */

static void cut(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, OUTAGE_MS);
}

static void cut_silently(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, OUTAGE_MS);
}

static void servers_down(struct process *process)
{
    sim_restart(process->scene->sim, OUTAGE_MS);
}

static void follower(struct process *process)
{
    sim_follower_cut(process->port, OUTAGE_MS);
}

static void overload(struct process *process)
{
    sim_refuse(process->scene->sim, UVZK__RPC_DELETE, UVZK_ETHROTTLED, 3);
}

/* The last one strikes the next reply, whichever: only where that is the release's. */
static void (*const troubles[])(struct process *) = {
    process_in_peace,   process_lose_request, process_lose_reply, cut,
    cut_silently,       servers_down,         follower,           overload,
    process_spoil_reply};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

/* The trouble comes `before` the release or `after` it, by so many events. Behind the
 * released hold stands another process, behind that the same one again. */
static void check(void *const *state, size_t trouble, uint64_t before, uint64_t after)
{
    struct scene scene;
    struct process a, b;
    struct claim held, other, again;

    scene_begin_queued(&scene, before + after, state, &a, &held, &b, &other);
    sim_note(scene.sim, "trouble %zu", trouble);
    scene_run_for(&scene, 3000);
    int64_t session = sim_session_id(a.port);
    if (before > 0) {
        troubles[trouble](&a);
        scene_steps(&scene, before);
    }
    claim_release(&held);
    assert_false(uvzk_hold_is_valid(&held.request));
    claim_begin(&again, &a, UVZK_WAIT_FOREVER);
    if (before == 0) {
        scene_steps(&scene, after);
        troubles[trouble](&a);
    }
    while (held.released == 0) {
        assert_int_equal(other.acquired == 1 && sim_exists(scene.sim, held.path), 0);
        scene_run_for(&scene, 1);
        assert_true(sim_now(scene.sim) < 60000);
    }
    assert_int_equal(held.release_status, 0);
    assert_false(held.stood_when_released);
    assert_true(sim_session_id(a.port) == session);
    claim_await(&other, OUTAGE_MS + PROOF_MS);
    scene_run_for(&scene, OUTAGE_MS);
    assert_int_equal(again.acquired, 0);
    claim_give_back(&other);
    claim_await(&again, PROOF_MS);
    assert_true(again.token > other.token);
    claim_give_back(&again);
    scene_end(&scene);
}

static void it_lasts_until_the_node_is_gone(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES - 1; trouble++) {
        for (uint64_t steps = 1; steps < 12; steps++) {
            check(state, trouble, steps, 0);
            check(state, trouble, 0, steps);
        }
    }
}

/* The same process, or the same owner, asks again while its release is under way: it
 * comes after it, and is not in its own way. */
static void the_same_process_comes_after_it(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct scene scene;
            struct process a;
            struct claim held, again;
            void *owner = seed % 2 == 0 ? &scene : NULL;

            scene_begin_one(&scene, seed, state, &a);
            claim_begin_for(&held, &a, owner, UVZK_WAIT_FOREVER);
            claim_await(&held, 1000);
            scene_run_for(&scene, 3000);
            troubles[trouble](&a);
            claim_release(&held);
            scene_run_for(&scene, 5);
            claim_begin_for(&again, &a, owner, UVZK_WAIT_FOREVER);
            claim_await(&again, OUTAGE_MS + PROOF_MS);
            assert_true(again.token > held.token);
            assert_true(scene_await(&scene, &held.released, 500));
            assert_int_equal(held.release_status, 0);
            assert_false(held.stood_when_released);
            assert_true(uvzk_hold_is_valid(&again.request));
            claim_give_back(&again);
            scene_end(&scene);
        }
    }
}

static void never_told(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
    fail();
}

/* It is one state, seen from outside: nothing is held, and nothing more can be done
 * with it, until it is over. */
static void a_release_under_way_is_visible(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim held;
        uvzk_client_stats_t stats;

        scene_begin_held(&scene, seed, state, &a, &held);
        cut(&a);
        claim_release(&held);
        for (unsigned i = 0; i < OUTAGE_MS; i += 100) {
            assert_false(uvzk_hold_is_valid(&held.request));
            assert_false(uvzk_lock_is_held(&a.mutex));
            assert_int_equal(uvzk_hold_release(&held.request, never_told), UVZK_ENOTHELD);
            assert_int_equal(uvzk_hold_cancel(&held.request), UVZK_ESTATE);
            uvzk_client_stats(&a.client, &stats);
            assert_int_equal(stats.contenders, 1);
            assert_int_equal(held.released, 0);
            scene_run_for(&scene, 100);
        }
        assert_true(scene_await(&scene, &held.released, 1000));
        assert_int_equal(held.release_status, 0);
        scene_end(&scene);
    }
}

/* The session ends during the release: then the znode is gone as well. */
static void it_ends_with_the_session(void **state)
{
    for (uint64_t steps = 0; steps < 12; steps++) {
        struct scene scene;
        struct process a;
        struct claim held;

        scene_begin_held(&scene, steps, state, &a, &held);
        claim_release(&held);
        scene_steps(&scene, steps % 4);
        if (sim_exists(scene.sim, held.path)) {
            sim_lose_request(a.port);
        }
        process_expire(&a);
        assert_true(scene_await(&scene, &held.released, 1000));
        assert_false(held.stood_when_released);
        assert_true(held.release_status == 0 || held.release_status == UVZK_ELOST);
        scene_end(&scene);
    }
}

/* The client gives the session up, or is shut out of it, and it lives on at the servers
 * for a while, with the znode: that is not known to be gone, and nobody says so. */
static void a_session_given_up_is_not_known_to_be_gone(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim held;

        scene_begin_held(&scene, seed, state, &a, &held);
        if (seed % 2 == 0) {
            sim_restart(scene.sim, 3 * SCENE_TIMEOUT_MS + 900);
            claim_release(&held);
        } else {
            sim_lose_request(a.port);
            claim_release(&held);
            sim_fail_auth(a.port);
        }
        assert_true(scene_await(&scene, &held.released, 5 * SCENE_TIMEOUT_MS));
        assert_true(held.release_status != 0 || !held.stood_when_released);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(it_lasts_until_the_node_is_gone),
        SCENE_TEST(the_same_process_comes_after_it),
        SCENE_TEST(a_release_under_way_is_visible),
        SCENE_TEST(it_ends_with_the_session),
        SCENE_TEST(a_session_given_up_is_not_known_to_be_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
