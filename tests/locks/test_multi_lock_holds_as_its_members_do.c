/* SPDX-License-Identifier: Apache-2.0 */
/* A multi lock whose members are acquired in turn has no znode of its own: its hold is
 * as valid as its members' are, and nothing else counts. The session in which it was
 * asked for proves nothing when the members live in others, or are there by znodes
 * that outlive it. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "claim/lock.h"
#include "directory/contender.h"
#include "engine/session.h"
#include "proof/prover.h"
#include "proof/validity.h"

#define LATENCY 2U
#define MEMBERS 2
#define PATIENCE_MS 60000U

static struct world world;
static struct process a, b;
static uvzk_lock_t locks[MEMBERS];
static uvzk_multilock_t multi;
static struct hold hold;

static void begin(uint32_t sessions)
{
    uvzk_client_options_t options;

    memset(locks, 0, sizeof(locks));
    memset(&multi, 0, sizeof(multi));
    process_options(&options);
    options.sessions = sessions;
    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
}

static void combine(void)
{
    uvzk_lock_t *members[MEMBERS] = {&locks[0], &locks[1]};

    assert_int_equal(uvzk_multilock_init(&a.client, &multi, members, MEMBERS,
                                         UVZK_MULTILOCK_IN_TURN, NULL),
                     0);
}

static int init_persistent(struct process *process, uvzk_lock_t *lock, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    process->persistent = true;
    return uvzk_lock_init_with_driver(&process->client, lock, path, &driver);
}

static void begin_persistent(void)
{
    begin(1);
    assert_int_equal(init_persistent(&a, &locks[0], "/m/a"), 0);
    assert_int_equal(init_persistent(&a, &locks[1], "/m/b"), 0);
    combine();
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS); /* what connecting proved is old */
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
}

/* ------------------------------------------------------------ members in other sessions */

static const struct uvzk__client *client_inside(void)
{
    return ((const struct uvzk__session *)a.client.impl)->client;
}

/* Two mutexes at home in the first session, which has room for neither. */
static void begin_away(void)
{
    begin(2);
    for (int i = 0, number = 0; i < MEMBERS; i++) {
        char path[16];
        do {
            (void)snprintf(path, sizeof(path), "/m/%03d", number++);
        } while (uvzk__home_of(a.client.impl, path)->number != 0);
        assert_int_equal(uvzk_mutex_init(&a.client, &locks[i], path), 0);
    }
    combine();
    client_inside()->sessions[0]->directories->node_bytes_max = 1;
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS); /* what connecting proved is old */
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(a.ports[0])), 0);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(a.ports[1])), MEMBERS);
}

static void its_home_has_no_room(void **state)
{
    (void)state;
    begin_away();
    assert_true(uvzk_lock_is_held(&multi));
    for (int i = 0; i < 6; i++) { /* proofs come and go, of the other session alone */
        world_run_for(&world, WORLD_TIMEOUT_MS / 2);
        assert_true(uvzk_hold_is_valid(&hold.request));
        assert_int_equal(uvzk_hold_valid_until(&hold.request),
                         uvzk__validity_end(client_inside()->sessions[1]));
    }
    hold_verify(&hold, 1000, 0);
    assert_true(sim_expire(a.ports[0])); /* the home's end is not the members' */
    world_run_for(&world, 1000);
    assert_true(uvzk_hold_is_valid(&hold.request) && hold_holds(&hold));
    world_release_and_end(&world);
}

/* Another session proves nothing of theirs: it is lost, and told, when theirs is. */
static void lost_with_the_session_of_its_members(void **state)
{
    (void)state;
    begin_away();
    sim_disconnect(a.ports[1], SIM_RESET, 3ULL * WORLD_TIMEOUT_MS);
    uint64_t until = uvzk_hold_valid_until(&hold.request);
    hold_await_lost(&hold, WORLD_TIMEOUT_MS, UVZK_EPROOF);
    assert_in_range(world_now(&world), until, until + LATENCY);
    assert_false(uvzk_lock_is_held(&multi));
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------- persistent members */

static void persistent_members_outlive_the_session(void **state)
{
    struct hold waits;
    uvzk_lock_t other = {.data = NULL};
    (void)state;

    begin_persistent();
    assert_true(uvzk_hold_valid_until(&hold.request) == UINT64_MAX);
    assert_true(uvzk_lock_is_held(&multi));
    hold_verify(&hold, 1000, 0);
    assert_int_equal(init_persistent(&b, &other, "/m/b"), 0);
    hold_begin_on(&waits, &b, &other, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    assert_true(sim_expire(a.port));
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_true(process_was_told(&a, 0, UVZK_STATE_LOST));
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    sim_disconnect(a.port, SIM_RESET, 4ULL * WORLD_TIMEOUT_MS);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS); /* there is no session at all */
    assert_true(hold_holds(&hold) && uvzk_lock_is_held(&multi) && hold_pending(&waits));
    hold_release(&hold);
    hold_await(&waits, PATIENCE_MS);
    hold_await_released(&hold, PATIENCE_MS, 0);
    world_release_and_end(&world);
}

static void a_persistent_member_is_deleted_by_hand(void **state)
{
    (void)state;
    begin_persistent();
    world_delete_child(&world, "/m/b", 0);
    hold_await_lost(&hold, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    world_run_for(&world, 1000);
    assert_int_equal(world_children(&world, "/m/a"), 0); /* with one of them all */
    world_release_and_end(&world);
}

/* Of both kinds: the mutex's proof is what ends the hold, and the other one is given
 * back. */
static void the_first_of_them_to_end(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(init_persistent(&a, &locks[0], "/m/a"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &locks[1], "/m/b"), 0);
    combine();
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(uvzk_hold_valid_until(&hold.request),
                     uvzk__validity_end(a.client.impl));
    sim_disconnect(a.port, SIM_RESET, 3ULL * WORLD_TIMEOUT_MS / 2);
    hold_await_lost(&hold, WORLD_TIMEOUT_MS, UVZK_EPROOF);
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(world_children(&world, "/m/a"), 0);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------- a grant is never put aside */

static struct hold first, second;

static const struct uvzk__lock *lock_of(const uvzk_lock_t *handle)
{
    return handle->impl;
}

/* What the other one is told next has run out by now; and nobody looks after it. */
static void on_first(struct hold *told)
{
    if (told->lost > 0) {
        return;
    }
    struct uvzk__claim *claim = uvzk__lock_first_claim(lock_of(&a.mutex));
    uvzk__prover_remove_held(claim->session,
                             &uvzk__claim_first_contender(claim)->proof_subject);
    sim_jump_clock(a.port, 2ULL * WORLD_TIMEOUT_MS);
}

/* Whatever is wrong with a grant that has become untrue before it was told: there is an
 * answer. */
static void a_grant_that_nobody_takes_back_is_refused(void **state)
{
    (void)state;
    begin(1);
    hold_begin_for(&first, &a, &a, UVZK_WAIT_FOREVER);
    hold_begin_for(&second, &a, &a, UVZK_WAIT_FOREVER); /* the same claim's */
    first.hook = on_first;
    hold_await(&first, 1000);
    hold_await_status(&second, 0, UVZK_EPROOF);
    hold_await_lost(&first, 0, UVZK_EPROOF);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_home_has_no_room),
        cmocka_unit_test(lost_with_the_session_of_its_members),
        cmocka_unit_test(persistent_members_outlive_the_session),
        cmocka_unit_test(a_persistent_member_is_deleted_by_hand),
        cmocka_unit_test(the_first_of_them_to_end),
        cmocka_unit_test(a_grant_that_nobody_takes_back_is_refused),
    };

    return cmocka_run_group_tests_name("multi lock holds as its members do", tests, NULL,
                                       NULL);
}
