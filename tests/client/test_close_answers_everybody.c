/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's untimed waiters hang for ever when their client is closed. Here a close
 * completes everything that is pending, once, in every state, and comes last. */
#include "world.h"

#define OWNER ((void *)&world_plain)
#define OUTAGE_MS (3 * WORLD_TIMEOUT_MS)

static struct world world;
static struct process a, b;
static struct hold held, reentry, waits[3], timed, once;
static uvzk_req_t verify;
static uvzk_req_t participants;
static int verified, listed;

static void on_verified(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
    assert_int_equal(a.closed, 0);
    verified++;
}

static void on_participants(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
    assert_int_equal(a.closed, 0);
    listed++;
}

static void before_the_close(struct hold *hold)
{
    assert_int_equal(hold->process->closed, 0);
}

static void ask(struct hold *hold, void *owner, int64_t timeout_ms)
{
    hold_begin_for(hold, &a, owner, timeout_ms);
    hold->hook = before_the_close;
}

/* A little of everything, as far as it is possible at the moment. */
static void ask_for_everything(void)
{
    ask(&held, OWNER, UVZK_WAIT_FOREVER);
    ask(&reentry, OWNER, UVZK_WAIT_FOREVER);
    for (size_t i = 0; i < 3; i++) {
        ask(&waits[i], NULL, UVZK_WAIT_FOREVER);
    }
    ask(&timed, NULL, 60000);
    assert_int_equal(uvzk_lock_participants(&a.mutex, &participants, on_participants), 0);
}

static int ask_more(void)
{
    int asked = 0;

    ask(&once, NULL, UVZK_TRY_ONCE);
    if (uvzk_hold_is_valid(&held.request)) {
        asked = uvzk_hold_verify(&held.request, &verify, on_verified) == 0;
        hold_release(&reentry);
        hold_release(&held);
    }
    return asked;
}

static void expire(struct process *process)
{
    (void)sim_expire(process->port);
    process->killed = true;
}

static void refuse_credentials(struct process *process)
{
    sim_fail_auth(process->port);
}

static void fail_to_open(struct process *process)
{
    process->may_log_errors = true;
    sim_fail_open(process->port, UV_EAI_NONAME);
    expire(process);
}

static void (*const troubles[])(struct process *) = {
    process_no_fault,    process_silence,    process_reset, expire,
    process_lose_leader, refuse_credentials, fail_to_open,  process_lose_reply};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

static void check_everybody_is_answered(int verifies)
{
    assert_null(world.holds);
    for (size_t i = 0; i < 3; i++) {
        assert_true(waits[i].status < 0 || waits[i].lost == 1);
    }
    assert_int_equal(listed, 1);
    assert_int_equal(verified, verifies);
    assert_null(a.client.impl);
    assert_null(a.mutex.impl);
    assert_int_equal(a.closed, 1);
}

/* The close comes `steps` events after everything was begun, `lag` events after the
 * trouble. */
static void check(void *const *state, size_t trouble, uint64_t steps, uint64_t lag)
{
    verified = listed = 0;
    world_begin_one(&world, steps + lag, state, &a);
    world.outage_ms = OUTAGE_MS;
    if (steps > 20) {
        assert_true(process_await_connected(&a, 1000));
    }
    ask_for_everything();
    world_steps(&world, steps);
    troubles[trouble](&a);
    world_steps(&world, lag);
    int verifies = ask_more();
    process_close(&a);
    assert_int_equal(a.closed, 0); /* never from inside the call */
    assert_true(world_await(&world, &a.closed, 5000));
    check_everybody_is_answered(verifies);
    world_run_for(&world, WORLD_TIMEOUT_MS); /* a session may begin late */
    world_end(&world);
}

static void everybody_is_answered(void **state)
{
    for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
        for (uint64_t steps = 0; steps < 60; steps += 3) {
            check(state, trouble, steps, 0);
            check(state, trouble, steps, 1 + steps % 7);
        }
        check(state, trouble, 200, 0);
        check(state, trouble, 200, 60);
    }
}

/* What waits for somebody else's lock is told ECLOSED at once, and so is a hold; the
 * other one is not disturbed. */
static void waiters_are_told_closed_at_once(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &held, &b, &waits[0]);
    waits[0].hook = before_the_close;
    world_run_for(&world, 500);
    if (seed % 2 == 0) {
        sim_disconnect(b.port, SIM_RESET, WORLD_TIMEOUT_MS);
        world_run_for(&world, 100);
    }
    process_close(&b);
    hold_await_status(&waits[0], 2, UVZK_ECLOSED);
    assert_true(world_await(&world, &b.closed, 2000));
    assert_true(uvzk_hold_is_valid(&held.request));
    process_close(&a);
    hold_await_lost(&held, 2, UVZK_ECLOSED);
    world_end(&world);
}

/* Its znode goes before its session does, and it is told 0. */
static void a_release_under_way_is_waited_for(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
    hold_release(&held);
    process_close(&a);
    assert_true(world_await(&world, &a.closed, 2000));
    hold_await_released(&held, 0, 0);
    world_end(&world);
}

/* A client that is closing refuses, and calls nothing back. */
static void a_closing_client_refuses(void **state)
{
    uvzk_mutex_t another = {0};

    world_begin_one(&world, 1, state, &a);
    process_take_turn(&a);
    process_close(&a);
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&a.client, &another, "/other"), UVZK_ESTATE);
    assert_int_equal(hold_ask(&held, &a, NULL, NULL), UVZK_ECLOSED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(everybody_is_answered),
        WORLD_SCENARIO(waiters_are_told_closed_at_once, 1, 10),
        WORLD_SCENARIO(a_release_under_way_is_waited_for, 1, 10),
        WORLD_TEST(a_closing_client_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
