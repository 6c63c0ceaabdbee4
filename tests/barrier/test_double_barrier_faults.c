/* SPDX-License-Identifier: Apache-2.0 */
/* A double barrier whose connections, sessions and servers fail. */
#include "barrier_kit.h"

#include <string.h>

#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)
#define STEPS_MAX 400

static struct world world;
static struct process a, b;
static uvzk_double_barrier_t ours, theirs;
static struct recorded_call call, other;
static int closed, losses, reason;

static void on_closed(uvzk_double_barrier_t *barrier)
{
    assert_null(barrier->impl);
    closed++;
}

static void on_lost(uvzk_double_barrier_t *barrier, int why)
{
    (void)barrier;
    losses++;
    reason = why;
}

static void begin(void)
{
    closed = losses = reason = 0;
    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    assert_int_equal(uvzk_double_barrier_init(&a.client, &ours, BARRIER_PATH, 2, on_lost),
                     0);
    assert_int_equal(uvzk_double_barrier_init(&b.client, &theirs, BARRIER_PATH, 2, NULL),
                     0);
    assert_true(process_await_connected(&a, 5000));
    assert_true(process_await_connected(&b, 5000));
    world_run_for(&world, 100);
}

static void end(void)
{
    assert_int_equal(uvzk_double_barrier_close(&ours, on_closed), 0);
    assert_int_equal(uvzk_double_barrier_close(&theirs, on_closed), 0);
    assert_true(world_await_count(&world, &closed, 2, 60000));
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(barrier_members(&world), 0);
    world_end(&world);
}

static void both_enter(void)
{
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
}

static void both_leave(void)
{
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
    world_run_for(&world, 100);
    assert_false(barrier_is_ready(&world));
    assert_int_equal(barrier_members(&world), 0);
}

/* ------------------------------------------------------------------- one request lost */

/* Before each step of a round, one after the other, one request or reply of A is lost,
 * its memory fails, or its connection. Both members come in and out, once. */
static void fault_before_every_step(void **state)
{
    static void (*const faults[])(struct process *) = {
        process_lose_request, process_lose_reply, process_reply_enomem, process_reset,
        process_silence};
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        for (uint64_t steps = 0; steps < STEPS_MAX; steps += 3) {
            begin();
            world.outage_ms = 2000;
            call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
            call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
            world_steps(&world, steps < STEPS_MAX / 2 ? steps : 0);
            if (steps < STEPS_MAX / 2) {
                faults[i](&a);
            }
            call_await(&call, 0);
            call_await(&other, 0);
            call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
            call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
            if (steps >= STEPS_MAX / 2) {
                world_steps(&world, steps - STEPS_MAX / 2);
                faults[i](&a);
            }
            call_await(&call, 0);
            call_await(&other, 0);
            world_run_for(&world, 3000);
            assert_false(barrier_is_ready(&world));
            assert_int_equal(barrier_members(&world), 0);
            end();
        }
    }
}

/* The create was carried out, and its reply is lost: the znode is ours, and the only
 * one. */
static void lost_reply_to_the_create(void **state)
{
    (void)state;
    begin();
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    while (barrier_members(&world) == 0) {
        world_steps(&world, 1);
    }
    sim_disconnect(a.port, SIM_RESET, 100);
    world_run_for(&world, 5000);
    assert_int_equal(barrier_members(&world), 1);
    assert_int_equal(call.told, 0);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
    both_leave();
    end();
}

/* ------------------------------------------------------------------------- outages */

static void enter_survives_an_outage(void **state)
{
    (void)state;
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    sim_disconnect(a.port, SIM_RESET, 4000);
    world_run_for(&world, 1000);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&other, 0);
    call_await(&call, 0);
    call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1);
    sim_disconnect(a.port, SIM_RESET, 4000);
    call_await(&other, 0);
    call_await(&call, 0);
    end();
}

/* It is told in time, and its znode goes as soon as there is a connection. */
static void timeout_covers_the_outage(void **state)
{
    (void)state;
    begin();
    uint64_t since = world_now(&world);
    call_enter(&call, &world, &ours, 2000);
    world_run_for(&world, 100);
    sim_disconnect(a.port, SIM_RESET, 5000);
    call_await(&call, UV_ETIMEDOUT);
    assert_in_range(call.told_ms - since, 2000, 2020);
    assert_int_equal(barrier_members(&world), 1);
    world_run_for(&world, 6000);
    assert_int_equal(barrier_members(&world), 0);
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

/* The delete is under way when the connection goes: nothing more can be known. */
static void connection_lost_while_it_gives_up(void **state)
{
    (void)state;
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_int_equal(uvzk_req_cancel(&call.call), 0);
    sim_disconnect(a.port, SIM_RESET, 5000);
    world_run_for(&world, 100);
    assert_int_equal(call.told, 1);
    assert_int_equal(call.status, UV_ECANCELED);
    /* The next enter has a znode of its own. */
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
    world_run_for(&world, 100);
    assert_int_equal(barrier_members(&world), 2);
    end();
}

static void lost_event_is_made_up_for(void **state)
{
    (void)state;
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    sim_lose_events(a.port, 1);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&other, 0);
    world_run_for(&world, AGAIN_MS);
    assert_int_equal(call.told, 1);
    sim_lose_events(a.port, 1);
    sim_lose_events(b.port, 1);
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
    end();
}

/* ------------------------------------------------------------------------ sessions */

static void expiry_inside_is_told(void **state)
{
    (void)state;
    begin();
    both_enter();
    assert_true(sim_expire(a.port));
    assert_true(world_await_count(&world, &losses, 1, 60000));
    assert_int_equal(reason, UVZK_EEXPIRED);
    call_prepare(&call, &world);
    assert_int_equal(uvzk_double_barrier_enter(&ours, &call.call, 1000, call_told),
                     UVZK_ESTATE);
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_await(&call, UVZK_EEXPIRED);
    /* The other one has nobody to wait for. */
    call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&other, 0);
    both_enter();
    both_leave();
    end();
}

static void expiry_while_entering_and_leaving(void **state)
{
    (void)state;
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_true(sim_expire(a.port));
    call_await(&call, UVZK_EEXPIRED);
    assert_int_equal(losses, 0);
    both_enter();
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_true(sim_expire(a.port));
    call_await(&call, UVZK_EEXPIRED);
    assert_int_equal(losses, 0);
    call_leave(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&other, 0);
    end();
}

/* An enter that has sent no create goes on in the next session. */
static void enter_waits_for_a_session(void **state)
{
    (void)state;
    begin();
    sim_disconnect(a.port, SIM_RESET, 4 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 100);
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_enter(&other, &world, &theirs, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    call_await(&other, 0);
    assert_true(a.lost > 0);
    both_leave();
    end();
}

static void refused_credentials_are_told(void **state)
{
    (void)state;
    begin();
    a.may_log_errors = true;
    both_enter();
    sim_fail_auth(a.port);
    assert_true(world_await_count(&world, &losses, 1, 60000));
    assert_int_equal(reason, UVZK_EAUTH);
    call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_await(&call, UVZK_EAUTH);
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    call_await(&call, UVZK_EAUTH);
    end();
}

/* Whoever waits is told, and may try again; so it goes on trying to connect. */
static void host_names_that_do_not_resolve_are_told(void **state)
{
    struct process c;
    uvzk_double_barrier_t late;
    uvzk_barrier_t gate;
    struct recorded_call wait;

    (void)state;
    begin();
    memset(&late, 0, sizeof(late));
    memset(&gate, 0, sizeof(gate));
    process_make(&c, &world, "c", NULL);
    c.may_log_errors = true;
    assert_int_equal(uvzk_double_barrier_init(&c.client, &late, BARRIER_PATH, 1, NULL),
                     0);
    assert_int_equal(uvzk_barrier_init(&c.client, &gate, "/app/gate"), 0);
    call_enter(&call, &world, &late, UVZK_WAIT_FOREVER);
    call_wait(&wait, &world, &gate, UVZK_WAIT_FOREVER);
    call_set(&other, &world, &gate);
    for (int i = 0; i < 5 && call.told == 0; i++) {
        sim_fail_open(c.port, UV_EAI_AGAIN);
        if (i == 0) {
            process_start(&c);
        }
        world_run_for(&world, 50);
    }
    call_await(&call, UVZK_ENOTSENT);
    call_await(&wait, UVZK_ENOTSENT);
    call_await(&other, UVZK_ENOTSENT);
    assert_true(process_await_connected(&c, 5000));
    call_enter(&call, &world, &late, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    process_close(&c);
    assert_true(world_await_count(&world, &c.closed, 1, 60000));
    end();
}

/* ------------------------------------------------------------------------ refusals */

static void refusals_are_told(void **state)
{
    static const enum uvzk__rpc_kind kinds[] = {UVZK__RPC_CHILDREN, UVZK__RPC_CREATE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin();
        sim_refuse(world.sim, kinds[i], UVZK_ENOAUTH, 1);
        call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
        call_await(&call, UVZK_ENOAUTH);
        assert_int_equal(barrier_members(&world), 0);
        sim_refuse(world.sim, kinds[i], UVZK_ETHROTTLED, 3);
        both_enter();
        sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ENOAUTH, 1);
        call_leave(&call, &world, &ours, UVZK_WAIT_FOREVER);
        call_await(&call, UVZK_ENOAUTH);
        assert_int_equal(barrier_members(&world), 1);
        end();
    }
    /* Refused, and cancelled while its znode is deleted. */
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, 2);
    while (barrier_members(&world) == 0) {
        world_steps(&world, 1);
    }
    while (barrier_members(&world) == 1) {
        world_steps(&world, 1);
    }
    assert_int_equal(uvzk_req_cancel(&call.call), 0);
    call_await(&call, UVZK_ENOAUTH);
    end();
    begin();
    call_enter(&call, &world, &ours, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    sim_refuse(world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
    assert_int_equal(uvzk_req_cancel(&call.call), 0);
    call_await(&call, UVZK_ENOAUTH);
    assert_int_equal(barrier_members(&world), 1); /* until the session ends */
    assert_int_equal(uvzk_double_barrier_close(&ours, on_closed), 0);
    assert_int_equal(uvzk_double_barrier_close(&theirs, on_closed), 0);
    assert_true(world_await_count(&world, &closed, 2, 60000));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault_before_every_step),
        cmocka_unit_test(lost_reply_to_the_create),
        cmocka_unit_test(enter_survives_an_outage),
        cmocka_unit_test(timeout_covers_the_outage),
        cmocka_unit_test(connection_lost_while_it_gives_up),
        cmocka_unit_test(lost_event_is_made_up_for),
        cmocka_unit_test(expiry_inside_is_told),
        cmocka_unit_test(expiry_while_entering_and_leaving),
        cmocka_unit_test(enter_waits_for_a_session),
        cmocka_unit_test(refused_credentials_are_told),
        cmocka_unit_test(host_names_that_do_not_resolve_are_told),
        cmocka_unit_test(refusals_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
