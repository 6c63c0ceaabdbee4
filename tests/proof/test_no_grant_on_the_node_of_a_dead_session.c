/* CURATOR-604, CURATOR-206: two holders, because a znode made in one session was
 * still there when the next session listed the queue, and counted as its own. */
#include "scene.h"

#include <stdio.h>

#define SEEDS 12U

/* The outage that makes a client give its session up. The servers keep the session,
 * and its znode, for a timeout from their return on. */
#define OUTAGE_MS (3U * SCENE_TIMEOUT_MS + 900U)

enum moment { CREATE_KNOWN, CREATE_UNKNOWN, CREATE_KNOWN_LATE, MOMENTS };

static void lose_the_servers(struct scene *scene, struct process *process,
                             enum moment moment)
{
    size_t from = scene->line_count;

    if (moment == CREATE_UNKNOWN) {
        sim_lose_reply(process->port);
    } else if (moment == CREATE_KNOWN_LATE) {
        sim_delay(process->port, 500); /* its reply too */
    }
    assert_true(scene_await_line(scene, from, process->name,
                                 "server: create " SCENE_PATH "/_c_", 2000));
    sim_restart(scene->sim, OUTAGE_MS);
}

static void check_moment(void *const *state, uint64_t seed, enum moment moment)
{
    struct scene scene;
    struct process a;
    struct claim old, new;
    char old_node[256];
    const char *name = NULL;

    scene_begin_one(&scene, seed, state, &a);
    scene_make_directory(&scene, &a);
    int64_t old_session = sim_session_id(a.port);
    claim_begin(&old, &a, UVZK_WAIT_FOREVER);
    lose_the_servers(&scene, &a, moment);
    assert_int_equal(sim_children(scene.sim, SCENE_PATH, &name, 1), 1);
    (void)snprintf(old_node, sizeof(old_node), "%s/%s", SCENE_PATH, name);

    /* The claim does not outlive its session, and says so. */
    claim_await_status(&old, OUTAGE_MS, UVZK_EEXPIRED);
    assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));

    /* The next one finds the old znode still there, and waits for its end. */
    claim_begin(&new, &a, UVZK_WAIT_FOREVER);
    assert_true(process_await_connected(&a, OUTAGE_MS));
    assert_true(sim_session_id(a.port) != old_session);
    assert_true(sim_session_alive(scene.sim, old_session));
    assert_true(sim_exists(scene.sim, old_node));
    claim_await(&new, 2 * SCENE_TIMEOUT_MS);
    assert_false(sim_exists(scene.sim, old_node));
    assert_string_not_equal(new.path, old_node);
    assert_true(new.owner == sim_session_id(a.port));
    claim_give_back(&new);
    scene_end(&scene);
}

static void a_claim_ends_with_its_session(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum moment moment = 0; moment < MOMENTS; moment++) {
            check_moment(state, seed, moment);
        }
    }
}

/* The same, with a second client that is next in line: it is granted when the old
 * znode has gone, and there is never a second holder. */
static void the_next_client_waits_for_the_old_node(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim old, next, again;

        scene_begin_one(&scene, seed, state, &a);
        scene_make_directory(&scene, &a);
        claim_begin(&old, &a, UVZK_WAIT_FOREVER);
        lose_the_servers(&scene, &a, (enum moment)(seed % MOMENTS));
        claim_await_status(&old, OUTAGE_MS, UVZK_EEXPIRED);
        process_begin(&b, &scene, "b", NULL);
        claim_begin(&next, &b, UVZK_WAIT_FOREVER);
        assert_true(process_await_connected(&b, OUTAGE_MS));
        scene_run_for(&scene, 1000);
        assert_int_equal(next.acquired, 0);
        claim_begin(&again, &a, UVZK_WAIT_FOREVER);
        claim_await(&next, 2 * SCENE_TIMEOUT_MS);
        assert_true(next.owner == sim_session_id(b.port));
        scene_run_for(&scene, 2000);
        assert_int_equal(again.acquired, 0);
        claim_give_back(&next);
        claim_await(&again, 1000);
        assert_true(again.owner == sim_session_id(a.port));
        assert_true(again.token > next.token);
        claim_give_back(&again);
        scene_end(&scene);
    }
}

/* The session is ended by the servers at any moment between the acquire and the
 * grant. Whatever was told before the client heard of it, after that nothing of
 * the old session is held, granted or pending. */
static void nothing_outlives_an_expiry(void **state)
{
    for (uint64_t steps = 0; steps < 40; steps++) {
        struct scene scene;
        struct process a, b;
        struct claim old, next;

        scene_begin_two(&scene, steps, state, &a, &b);
        assert_true(process_await_connected(&b, 1000));
        scene_make_directory(&scene, &a);
        int64_t old_session = sim_session_id(a.port);
        size_t from = scene.line_count;
        claim_begin(&old, &a, UVZK_WAIT_FOREVER);
        scene_steps(&scene, steps);
        size_t made = scene_znodes_made(&scene, from, "a");
        process_expire(&a);
        claim_begin(&next, &b, UVZK_WAIT_FOREVER);
        assert_true(scene_await_line(&scene, from, "a", "EXPIRED", 2000));
        scene_run_for(&scene, 50);
        if (made > 0) {
            assert_int_equal(old.acquired, 1);
            assert_true(old.status == UVZK_EEXPIRED || old.lost == 1);
        } else if (old.acquired == 0) { /* its create never left: it leaves now */
            assert_true(scene_await(&scene, &next.acquired, 2000));
            claim_give_back(&next);
            assert_true(scene_await(&scene, &old.acquired, 2000));
        }
        if (old.status == 0 && old.lost == 0) {
            assert_true(old.owner != old_session);
            assert_true(old.owner == sim_session_id(a.port));
            claim_give_back(&old);
        }
        if (next.released == 0) {
            assert_true(scene_await(&scene, &next.acquired, 2000));
            claim_give_back(&next);
        }
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_claim_ends_with_its_session),
        SCENE_TEST(the_next_client_waits_for_the_old_node),
        SCENE_TEST(nothing_outlives_an_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
