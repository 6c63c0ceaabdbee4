/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-559 and others: a timed acquire that is answered long after its time,
 * because the time is only looked at between requests and each of them, retries
 * included, may take longer. Here the deadline covers everything, to the alarm. */
#include "world.h"

#define SEEDS 4U
#define TIMEOUT_MS 200
#define OUTAGE_MS 4000U
#define LATE_MS 8 /* alarms and hops of the simulation */

static struct world world;
static struct process a, b;
static struct hold held;

static void delay(struct process *process)
{
    sim_delay(process->port, 1000);
}

static void overload(struct process *process)
{
    sim_refuse(process->world->sim, UVZK__RPC_CREATE, UVZK_ETHROTTLED, 30);
    sim_refuse(process->world->sim, UVZK__RPC_CHILDREN, UVZK_ETHROTTLED, 30);
}

static void (*const troubles[])(struct process *) = {
    process_no_fault,    process_silence, process_reset, process_lose_servers,
    process_lose_leader, delay,           overload};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

static void check_in_time(struct hold *hold, uint64_t due_ms, int status)
{
    hold_await_status(hold, 60000, status);
    assert_in_range(hold->answered_ms, due_ms, due_ms + LATE_MS);
}

/* Behind others, or on the way there, or without a connection: as the trouble has it. */
static void check_in_time_however(struct hold *hold, uint64_t due_ms)
{
    hold_await_answer(hold, 60000);
    check_in_time(hold, due_ms,
                  hold->status == UVZK_EUNREACHABLE || hold->status == UVZK_ENOTQUEUED
                      ? hold->status
                      : UV_ETIMEDOUT);
}

/* Behind a holder, in any trouble, from any moment of the acquire on: told in time,
 * and what is left is cleaned up when it can be. */
static void told_in_time_whatever_happens(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        for (uint64_t steps = 0; steps < 20; steps++) {
            struct hold hold;

            world_begin_two(&world, steps, state, &a, &b);
            world.outage_ms = OUTAGE_MS;
            hold_take(&held, &a);
            assert_true(process_await_connected(&b, 1000));
            world_run_for(&world, 3000);
            uint64_t due_ms = world_now(&world) + TIMEOUT_MS;
            hold_begin(&hold, &b, TIMEOUT_MS);
            world_steps(&world, steps);
            troubles[trouble](&b);
            if (troubles[trouble] == process_no_fault) {
                check_in_time(&hold, due_ms, UV_ETIMEDOUT);
            } else {
                check_in_time_however(&hold, due_ms);
            }
            world_run_for(&world, WORLD_TIMEOUT_MS);
            assert_int_equal(world_queue_length(&world), held.lost == 0);
            if (held.lost == 0) {
                hold_give_back(&held);
            }
            world_end(&world);
        }
    }
}

/* Nobody holds it, and still the answer cannot come: no server has been reached yet,
 * the directory has to be made, the session is being replaced. */
static void told_in_time_without_a_connection(uint64_t seed, void *const *state)
{
    struct hold holds[3];

    world_begin(&world, seed, state);
    sim_restart(world.sim, 3000);
    process_begin(&a, &world, "a", NULL);
    uint64_t due_ms = world_now(&world) + TIMEOUT_MS;
    hold_begin(&holds[0], &a, TIMEOUT_MS);
    check_in_time(&holds[0], due_ms, UVZK_EUNREACHABLE);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);

    assert_true(process_await_connected(&a, 5000));
    due_ms = world_now(&world) + TIMEOUT_MS;
    hold_begin(&holds[1], &a, TIMEOUT_MS);
    world_run_for(&world, 20);
    sim_disconnect(a.port, SIM_SILENT, 2000);
    check_in_time(&holds[1], due_ms, UVZK_ENOTQUEUED); /* it does not know yet */
    world_run_for(&world, 4000);

    sim_restart(world.sim, 4 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 3 * WORLD_TIMEOUT_MS + 500); /* it is given up */
    due_ms = world_now(&world) + TIMEOUT_MS;
    hold_begin(&holds[2], &a, TIMEOUT_MS);
    check_in_time(&holds[2], due_ms, UVZK_EUNREACHABLE);
    assert_true(process_await_connected(&a, WORLD_TIMEOUT_MS));
    assert_int_equal(world_queue_length(&world), 0);
    world_end(&world);
}

/* A waiter whose znode is deleted again and again makes new ones, all of them within
 * the one deadline. */
static void told_in_time_over_new_nodes(uint64_t seed, void *const *state)
{
    struct hold hold;
    uvzk_client_options_t patient;

    world_begin(&world, seed, state);
    process_options(&patient);
    patient.retry.max_retries = 1000;
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", &patient);
    hold_take(&held, &a);
    uint64_t due_ms = world_now(&world) + 1500;
    hold_begin(&hold, &b, 1500);
    for (unsigned i = 0; i < 60 && hold.answered == 0; i++) {
        world_run_for(&world, 30);
        if (world_queue_length(&world) == 2) {
            world_delete_child(&world, WORLD_PATH, 1);
        }
    }
    check_in_time_however(&hold, due_ms); /* its znode may have been deleted just then */
    assert_true(world_znodes_made(&world, 0, "b") > 4);
    world_run_for(&world, 500);
    assert_int_equal(world_queue_length(&world), 1);
    hold_give_back(&held);
    world_end(&world);
}

/* Tried once: a connection that breaks is an answer too. */
static void trying_once_ends_with_the_connection(uint64_t seed, void *const *state)
{
    struct hold early, late;

    world_begin_one(&world, seed, state, &a);
    hold_begin(&early, &a, UVZK_TRY_ONCE);
    hold_await_status(&early, 2, UVZK_ECONNLOSS);
    assert_true(process_await_connected(&a, 1000));
    hold_begin(&late, &a, UVZK_TRY_ONCE);
    sim_lose_reply(a.port);
    hold_await_status(&late, 100, UVZK_ECONNLOSS);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(told_in_time_whatever_happens),
        WORLD_SCENARIO(told_in_time_without_a_connection, 1, SEEDS),
        WORLD_SCENARIO(told_in_time_over_new_nodes, 1, SEEDS),
        WORLD_SCENARIO(trying_once_ends_with_the_connection, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
