/* SPDX-License-Identifier: Apache-2.0 */
/* UVZK_STATE_LOST: at that moment no hold in that session is valid any more, however
 * its end was learnt of and whatever proves ownership, and each is told in the same
 * turn. What is held by persistent znodes, or in another session of the client, stays. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "engine/session.h"

#define SESSIONS 2U
#define LATENCY 2U

static struct world world;
static struct process a;
static uvzk_lock_t locks[SESSIONS];
static struct hold holds[SESSIONS];

static struct {
    int told;
    uint64_t at_ms;
    bool valid[SESSIONS]; /* by any of the ways to ask */
} lost;

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    (void)client;
    if (state != UVZK_STATE_LOST || lost.told++ > 0) {
        return;
    }
    lost.at_ms = world_now(&world);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        lost.valid[i] =
            hold_holds(&holds[i]) &&
            (uvzk_hold_is_valid(&holds[i].request) || uvzk_lock_is_held(&locks[i]) ||
             uvzk_hold_valid_until(&holds[i].request) > world_now(&world));
    }
}

static void begin(uint32_t sessions, uint32_t proof)
{
    uvzk_client_options_t options;

    memset(&lost, 0, sizeof(lost));
    memset(locks, 0, sizeof(locks));
    memset(holds, 0, sizeof(holds));
    process_options(&options);
    options.sessions = sessions;
    options.proof = proof;
    options.state_cb = on_state;
    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    process_begin(&a, &world, "a", &options);
    world_run_for(&world, 100);
    a.killed = true; /* an operator's hand is outside the promise */
}

static void take(int index, const char *path)
{
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[index], path), 0);
    hold_take_on(&holds[index], &a, &locks[index], 1);
}

/* ------------------------------------------------------------------- how it comes to it */

static void expires(void)
{
    assert_true(sim_expire(a.port));
}

static void expires_at_once(void)
{
    assert_true(sim_expire_connected(a.port));
}

static void is_out_of_reach(void)
{
    sim_disconnect(a.port, SIM_RESET, 2ULL * WORLD_TIMEOUT_MS);
}

static void is_out_of_reach_in_silence(void)
{
    sim_disconnect(a.port, SIM_SILENT, 3ULL * WORLD_TIMEOUT_MS);
}

static void stands_still(void)
{
    sim_pause(a.port, 2ULL * WORLD_TIMEOUT_MS);
}

static void is_refused(void)
{
    sim_fail_auth(a.port);
}

static void (*const ends[])(void) = {
    expires,      expires_at_once, is_out_of_reach, is_out_of_reach_in_silence,
    stands_still, is_refused,
};

static void no_hold_is_valid(void **state)
{
    (void)state;
    for (uint32_t proof = UVZK_PROOF_QUORUM; proof <= UVZK_PROOF_NONE; proof++) {
        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
            begin(1, proof);
            take(0, "/l/a");
            ends[i]();
            assert_true(world_await(&world, &lost.told, 4ULL * WORLD_TIMEOUT_MS));
            assert_false(lost.valid[0]);
            hold_await_lost(&holds[0], 1, holds[0].reason);
            assert_true(holds[0].lost_ms <= lost.at_ms);
            world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
            world_release_and_end(&world);
        }
    }
}

/* ----------------------------------------------------------------------- what is not lost */

static void other_sessions_hold_on(void **state)
{
    (void)state;
    begin(SESSIONS, UVZK_PROOF_QUORUM);
    for (uint32_t i = 0, number = 0; i < SESSIONS; i++) {
        char path[16];
        do {
            (void)snprintf(path, sizeof(path), "/l/%03u", (unsigned)number++);
        } while (uvzk__home_of(a.client.impl, path)->number != i);
        take((int)i, path);
    }
    assert_true(sim_expire(a.ports[1]));
    assert_true(world_await(&world, &lost.told, WORLD_TIMEOUT_MS));
    assert_true(lost.valid[0] && !lost.valid[1]);
    hold_await_lost(&holds[1], 1, UVZK_EEXPIRED);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&holds[0]) && uvzk_hold_is_valid(&holds[0].request));
    world_release_and_end(&world);
}

static void begin_persistent(void)
{
    uvzk_lock_driver_t driver;

    begin(1, UVZK_PROOF_QUORUM);
    a.persistent = true;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &locks[0], "/l/d", &driver),
                     0);
    hold_take_on(&holds[0], &a, &locks[0], 1);
}

static void persistent_znodes_stay(void **state)
{
    (void)state;
    begin_persistent();
    take(1, "/l/e");
    expires();
    assert_true(world_await(&world, &lost.told, WORLD_TIMEOUT_MS));
    assert_true(lost.valid[0] && !lost.valid[1]);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&holds[0]) && uvzk_hold_is_valid(&holds[0].request));
    world_release_and_end(&world);
}

/* No host name resolves until then. */
static void await_without_a_name(const int *flag)
{
    a.may_log_errors = true;
    for (unsigned i = 0; i < 4 * WORLD_TIMEOUT_MS && *flag == 0; i++) {
        sim_fail_open(a.port, UV_EAI_NONAME);
        world_run_for(&world, 1);
    }
    assert_true(*flag != 0);
}

/* The next session cannot be opened until the retry policy is used up. A pending acquire
 * ends then, a hold by a persistent znode does not. */
static void persistent_znodes_stay_without_a_session(void **state)
{
    (void)state;
    begin_persistent();
    expires();
    await_without_a_name(&lost.told);
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[1], "/l/e"), 0);
    hold_begin_on(&holds[1], &a, &locks[1], 1, UVZK_WAIT_FOREVER);
    await_without_a_name(&holds[1].answered);
    assert_int_equal(holds[1].status, UVZK_ECONNLOSS);
    assert_true(hold_holds(&holds[0]) && uvzk_hold_is_valid(&holds[0].request));
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_hold_is_valid),
        cmocka_unit_test(other_sessions_hold_on),
        cmocka_unit_test(persistent_znodes_stay),
        cmocka_unit_test(persistent_znodes_stay_without_a_session),
    };

    return cmocka_run_group_tests_name("what LOST says", tests, NULL, NULL);
}
