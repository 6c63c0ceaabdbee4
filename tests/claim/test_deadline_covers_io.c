/* CURATOR-559 and others: a timed acquire that is answered long after its time,
 * because the time is only looked at between requests and each of them, retries
 * included, may take longer. Here the deadline covers everything, to the alarm. */
#include "scene.h"

#include <stdio.h>

#define SEEDS 4U
#define TIMEOUT_MS 200
#define LATE_MS 8 /* alarms and hops of the simulation */

static void silence(struct process *process)
{
    sim_disconnect(process->port, SIM_SILENT, 4000);
}

static void reset(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 4000);
}

static void servers_down(struct process *process)
{
    sim_restart(process->scene->sim, 4000);
}

static void lonely_follower(struct process *process)
{
    sim_follower_cut(process->port, 4000);
}

static void delay(struct process *process)
{
    sim_delay(process->port, 1000);
}

static void overload(struct process *process)
{
    sim_refuse(process->scene->sim, UVZK__RPC_CREATE, UVZK_ETHROTTLED, 30);
    sim_refuse(process->scene->sim, UVZK__RPC_CHILDREN, UVZK_ETHROTTLED, 30);
}

static void (*const troubles[])(struct process *) = {
    process_in_peace, silence, reset, servers_down, lonely_follower, delay, overload};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

static void check_in_time(struct claim *claim, uint64_t due_ms)
{
    claim_await_status(claim, 60000, UV_ETIMEDOUT);
    assert_in_range(claim->acquired_ms, due_ms, due_ms + LATE_MS);
}

/* Behind a holder, in any trouble, from any moment of the acquire on: told in time,
 * and what is left is cleaned up when it can be. */
static void told_in_time_whatever_happens(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        for (uint64_t steps = 0; steps < 20; steps++) {
            struct scene scene;
            struct process a, b;
            struct claim held, claim;

            scene_begin_two(&scene, steps, state, &a, &b);
            claim_take(&held, &a);
            assert_true(process_await_connected(&b, 1000));
            scene_run_for(&scene, 3000);
            uint64_t due_ms = sim_now(scene.sim) + TIMEOUT_MS;
            claim_begin(&claim, &b, TIMEOUT_MS);
            scene_steps(&scene, steps);
            troubles[trouble](&b);
            check_in_time(&claim, due_ms);
            scene_run_for(&scene, SCENE_TIMEOUT_MS);
            assert_int_equal(scene_queue_length(&scene), held.lost == 0);
            if (held.lost == 0) {
                claim_give_back(&held);
            }
            scene_end(&scene);
        }
    }
}

/* Nobody holds it, and still the answer cannot come: no server has been reached yet,
 * the directory has to be made, the session is being replaced. */
static void told_in_time_without_a_connection(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim claims[3];

        scene_begin(&scene, seed, state);
        sim_restart(scene.sim, 3000);
        process_begin(&a, &scene, "a", NULL);
        uint64_t due_ms = sim_now(scene.sim) + TIMEOUT_MS;
        claim_begin(&claims[0], &a, TIMEOUT_MS);
        check_in_time(&claims[0], due_ms);
        assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);

        assert_true(process_await_connected(&a, 5000));
        due_ms = sim_now(scene.sim) + TIMEOUT_MS;
        claim_begin(&claims[1], &a, TIMEOUT_MS);
        scene_run_for(&scene, 20);
        sim_disconnect(a.port, SIM_SILENT, 2000);
        check_in_time(&claims[1], due_ms);
        scene_run_for(&scene, 4000);

        sim_restart(scene.sim, 4 * SCENE_TIMEOUT_MS);
        scene_run_for(&scene, 3 * SCENE_TIMEOUT_MS + 500); /* it is given up */
        due_ms = sim_now(scene.sim) + TIMEOUT_MS;
        claim_begin(&claims[2], &a, TIMEOUT_MS);
        check_in_time(&claims[2], due_ms);
        assert_true(process_await_connected(&a, SCENE_TIMEOUT_MS));
        assert_int_equal(scene_queue_length(&scene), 0);
        scene_end(&scene);
    }
}

/* A waiter whose znode is deleted again and again makes new ones, all of them within
 * the one deadline. */
static void told_in_time_over_new_nodes(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a, b;
        struct claim held, claim;
        uvzk_client_options_t patient;

        scene_begin(&scene, seed, state);
        process_options(&patient);
        patient.retry.max_retries = 1000;
        process_begin(&a, &scene, "a", NULL);
        process_begin(&b, &scene, "b", &patient);
        claim_take(&held, &a);
        uint64_t due_ms = sim_now(scene.sim) + 1500;
        claim_begin(&claim, &b, 1500);
        for (unsigned i = 0; i < 60 && claim.acquired == 0; i++) {
            const char *names[2];
            char path[128];
            scene_run_for(&scene, 30);
            if (sim_children(scene.sim, SCENE_PATH, names, 2) == 2) {
                (void)snprintf(path, sizeof(path), SCENE_PATH "/%s", names[1]);
                assert_int_equal(sim_delete_by_hand(scene.sim, path), 0);
            }
        }
        check_in_time(&claim, due_ms);
        assert_true(scene_znodes_made(&scene, 0, "b") > 4);
        scene_run_for(&scene, 500);
        assert_int_equal(scene_queue_length(&scene), 1);
        claim_give_back(&held);
        scene_end(&scene);
    }
}

/* Tried once: a connection that breaks is an answer too. */
static void trying_once_ends_with_the_connection(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct process a;
        struct claim early, late;

        scene_begin_one(&scene, seed, state, &a);
        claim_begin(&early, &a, UVZK_TRY_ONCE);
        claim_await_status(&early, 2, UVZK_ECONNLOSS);
        assert_true(process_await_connected(&a, 1000));
        claim_begin(&late, &a, UVZK_TRY_ONCE);
        sim_lose_reply(a.port);
        claim_await_status(&late, 100, UVZK_ECONNLOSS);
        scene_end(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(told_in_time_whatever_happens),
        SCENE_TEST(told_in_time_without_a_connection),
        SCENE_TEST(told_in_time_over_new_nodes),
        SCENE_TEST(trying_once_ends_with_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
