/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about a hold of a multi lock, and done with it, goes by the sessions in
 * which its members live: the one in which it was asked for may have none of them, be cut
 * off, or end. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "directory/directories.h"
#include "engine/session.h"

#define LATENCY 10U
#define MEMBERS 2
#define PATIENCE_MS 60000U
#define DATA "/app"

static struct world world;
static struct process a;
static uvzk_lock_t locks[MEMBERS];
static uvzk_multilock_t multi;
static struct hold hold;

static struct {
    uvzk_req_t request;
    int told, status;
} writing;

static void begin(uint32_t sessions)
{
    uvzk_client_options_t options;

    memset(locks, 0, sizeof(locks));
    memset(&multi, 0, sizeof(multi));
    process_options(&options);
    options.sessions = sessions;
    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    assert_non_null(sim_create_by_hand(world.sim, DATA, UVZK__PERSISTENT));
    process_begin(&a, &world, "a", &options);
    assert_true(process_await_connected(&a, 1000));
}

static const struct uvzk__client *client_inside(void)
{
    return ((const struct uvzk__session *)a.client.impl)->client;
}

/* A mutex at home in that session. */
static void mutex_in(uvzk_lock_t *lock, char first, uint32_t session)
{
    char path[16];
    int number = 0;

    do {
        (void)snprintf(path, sizeof(path), "/%c/%03d", first, number++);
    } while (uvzk__home_of(a.client.impl, path)->number != session);
    assert_int_equal(uvzk_mutex_init(&a.client, lock, path), 0);
}

static void take(void)
{
    uvzk_lock_t *members[MEMBERS] = {&locks[0], &locks[1]};

    assert_int_equal(uvzk_multilock_init(&a.client, &multi, members, MEMBERS,
                                         UVZK_MULTILOCK_IN_TURN, NULL),
                     0);
    hold_begin_on(&hold, &a, &multi, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
}

static size_t znodes_in(int session)
{
    return sim_ephemeral_count(world.sim, sim_session_id(a.ports[session]));
}

/* Both members are in the second session, and their home is the first. */
static void begin_away(void)
{
    begin(2);
    mutex_in(&locks[0], 'm', 0);
    mutex_in(&locks[1], 'n', 0);
    client_inside()->sessions[0]->directories->node_bytes_max = 1;
    take();
    assert_int_equal(znodes_in(0), 0);
    assert_int_equal(znodes_in(1), MEMBERS);
}

/* The first member is in the first session, the second in the second. */
static void begin_apart(void)
{
    begin(2);
    mutex_in(&locks[0], 'm', 0);
    mutex_in(&locks[1], 'n', 1);
    take();
    assert_int_equal(znodes_in(0), 1);
    assert_int_equal(znodes_in(1), 1);
}

static int init_durable(uvzk_lock_t *lock, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    a.persistent = true;
    return uvzk_lock_init_with_driver(&a.client, lock, path, &driver);
}

static void begin_durable(void)
{
    begin(1);
    assert_int_equal(init_durable(&locks[0], "/m"), 0);
    assert_int_equal(init_durable(&locks[1], "/n"), 0);
    take();
}

static void on_written(uvzk_req_t *request, int status)
{
    (void)request;
    writing.told++;
    writing.status = status;
}

static void write_by_hold(const char *text, int status)
{
    uvzk_write_op_t op = {UVZK_WRITE_SET, -1, DATA, text, strlen(text)};

    memset(&writing, 0, sizeof(writing));
    assert_int_equal(uvzk_hold_write(&hold.request, &writing.request, &op, 1, on_written),
                     0);
    assert_true(world_await(&world, &writing.told, 1000));
    assert_int_equal(writing.status, status);
}

static bool has(const char *text)
{
    size_t length;
    const void *data = sim_data(world.sim, DATA, &length);

    return data != NULL && length == strlen(text) && memcmp(data, text, length) == 0;
}

/* The session has ended, and the answer to a question says so first. */
static void verify_as_it_ends(int session, int answer)
{
    sim_refuse(world.sim, UVZK__RPC_MULTI, UVZK_EEXPIRED, 1);
    hold_verify(&hold, 1000, answer);
    assert_true(sim_expire(a.ports[session]));
}

/* ------------------------------------------------------------------ the home's session */

static void the_home_is_cut_off(void **state)
{
    (void)state;
    begin_away();
    sim_disconnect(a.ports[0], SIM_RESET, WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, 100);
    hold_verify(&hold, 1000, 0);
    write_by_hold("one", 0);
    assert_true(has("one") && uvzk_hold_is_valid(&hold.request));
    world_release_and_end(&world);
}

/* The question is on its way when the home's session ends. */
static void the_home_ends(void **state)
{
    (void)state;
    begin_away();
    assert_true(sim_expire(a.ports[0]));
    hold_verify(&hold, 1000, 0);
    write_by_hold("two", 0);
    assert_true(has("two") && hold_holds(&hold));
    world_release_and_end(&world);
}

/* ----------------------------------------------------------------- the members' sessions */

/* Either one can be asked about all of them. */
static void one_of_two_is_cut_off(void **state)
{
    (void)state;
    for (int cut = 0; cut < MEMBERS; cut++) {
        begin_apart();
        sim_disconnect(a.ports[cut], SIM_RESET, WORLD_TIMEOUT_MS / 2);
        world_run_for(&world, 100);
        hold_verify(&hold, 1000, 0);
        write_by_hold("three", 0);
        assert_true(has("three") && uvzk_hold_is_valid(&hold.request));
        world_release_and_end(&world);
    }
}

/* Each member counts, whichever session is asked. */
static void one_of_two_is_gone(void **state)
{
    (void)state;
    for (uint32_t gone = 0; gone < MEMBERS; gone++) {
        for (int cut = 0; cut < MEMBERS; cut++) {
            begin_apart();
            sim_disconnect(a.ports[cut], SIM_RESET, WORLD_TIMEOUT_MS / 2);
            world_run_for(&world, 100);
            assert_int_equal(
                sim_delete_by_hand(world.sim, uvzk_hold_node_path(&hold.request, gone)),
                0);
            write_by_hold("four", UVZK_EDELETED);
            assert_false(has("four"));
            world_release_and_end(&world);
        }
    }
    begin_apart();
    sim_disconnect(a.ports[1], SIM_RESET, WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, 100);
    assert_int_equal(sim_delete_by_hand(world.sim, uvzk_hold_node_path(&hold.request, 1)),
                     0);
    hold_verify(&hold, 1000, UVZK_EDELETED);
    world_release_and_end(&world);
}

/* The one that is asked says what is true: the end of a member's session is the hold's. */
static void one_of_two_ends(void **state)
{
    (void)state;
    begin_apart();
    verify_as_it_ends(0, UVZK_EEXPIRED);
    hold_await_lost(&hold, 1000, UVZK_EEXPIRED);
    world_release_and_end(&world);
}

/* None is connected: it is not known. */
static void both_are_cut_off(void **state)
{
    (void)state;
    begin_apart();
    sim_disconnect(a.ports[0], SIM_RESET, WORLD_TIMEOUT_MS / 2);
    sim_disconnect(a.ports[1], SIM_RESET, WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, 100);
    hold_verify(&hold, 1000, UVZK_ENOTSENT);
    write_by_hold("five", UVZK_ENOTSENT);
    world_release_and_end(&world);
}

/* -------------------------------------------------------------------- persistent znodes */

/* They stand, so their session's end is no answer. */
static void persistent_members_outlive_the_session_that_is_asked(void **state)
{
    (void)state;
    begin_durable();
    verify_as_it_ends(0, UVZK_ECONNLOSS);
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    world_run_for(&world, 1000);
    hold_verify(&hold, 1000, 0); /* in the next session */
    write_by_hold("six", 0);
    assert_true(has("six"));
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_home_is_cut_off),
        cmocka_unit_test(the_home_ends),
        cmocka_unit_test(one_of_two_is_cut_off),
        cmocka_unit_test(one_of_two_is_gone),
        cmocka_unit_test(one_of_two_ends),
        cmocka_unit_test(both_are_cut_off),
        cmocka_unit_test(persistent_members_outlive_the_session_that_is_asked),
    };

    return cmocka_run_group_tests_name("members are asked about in their sessions", tests,
                                       NULL, NULL);
}
