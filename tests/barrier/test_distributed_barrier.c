/* SPDX-License-Identifier: Apache-2.0 */
/* What a distributed barrier promises, one by one. */
#include "barrier_kit.h"

#include <string.h>

#include "engine/barrier.h"

#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)
#define WAITS 5

static struct world world;
static struct process a, b;
static uvzk_barrier_t barrier, theirs;
static struct recorded_call call, other, calls[WAITS];
static int closed;

static void on_closed(uvzk_barrier_t *of)
{
    assert_null(of->impl);
    closed++;
}

static void close_barrier(uvzk_barrier_t *of)
{
    closed = 0;
    assert_int_equal(uvzk_barrier_close(of, on_closed), 0);
    assert_true(world_await_count(&world, &closed, 1, 1000));
}

static void begin_unconnected(void)
{
    memset(&barrier, 0, sizeof(barrier));
    memset(&theirs, 0, sizeof(theirs));
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    assert_int_equal(uvzk_barrier_init(&a.client, &barrier, BARRIER_PATH), 0);
    assert_int_equal(uvzk_barrier_init(&b.client, &theirs, BARRIER_PATH), 0);
}

static void begin(void)
{
    begin_unconnected();
    assert_true(process_await_connected(&a, 5000));
    assert_true(process_await_connected(&b, 5000));
    world_run_for(&world, 100);
}

static void end(void)
{
    if (barrier.impl != NULL) {
        close_barrier(&barrier);
    }
    close_barrier(&theirs);
    world_end(&world);
}

static void set_by_b(void)
{
    call_set(&other, &world, &theirs);
    call_await(&other, 0);
    assert_true(sim_exists(world.sim, BARRIER_PATH));
}

static void remove_by_b(void)
{
    call_remove(&other, &world, &theirs);
    call_await(&other, 0);
    assert_false(sim_exists(world.sim, BARRIER_PATH));
}

/* --------------------------------------------------------------- set and remove */

static void set_makes_curators_znode(void **state)
{
    struct uvzk__stat stat;

    (void)state;
    begin();
    set_by_b();
    assert_true(sim_stat(world.sim, BARRIER_PATH, &stat));
    assert_int_equal(stat.ephemeral_owner, 0);
    /* A barrier that is set may be set again. */
    call_set(&call, &world, &barrier);
    call_await(&call, 0);
    remove_by_b();
    call_remove(&call, &world, &barrier);
    call_await(&call, 0);
    /* Its parents are containers. */
    sim_check_containers(world.sim);
    sim_check_containers(world.sim);
    assert_false(sim_exists(world.sim, "/app"));
    end();
}

/* The default data are the address of the connection, which is not known at the call. */
static void set_before_the_connection_has_the_address(void **state)
{
    size_t length = 0;

    (void)state;
    begin_unconnected();
    call_set(&call, &world, &barrier);
    call_await(&call, 0);
    assert_non_null(sim_data(world.sim, BARRIER_PATH, &length));
    assert_true(length > 0);
    end();
}

static void lost_replies_are_made_good(void **state)
{
    static void (*const losses[])(struct process *) = {
        process_lose_reply, process_lose_request, process_reply_enomem};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin();
        barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
        barrier_delete_by_hand(&world, BARRIER_PATH);
        losses[i](&a);
        call_set(&call, &world, &barrier);
        call_await(&call, 0);
        assert_true(sim_exists(world.sim, BARRIER_PATH));
        losses[i](&a);
        call_remove(&call, &world, &barrier);
        call_await(&call, 0);
        assert_false(sim_exists(world.sim, BARRIER_PATH));
        end();
    }
}

static void set_outlives_its_session(void **state)
{
    (void)state;
    begin();
    sim_disconnect(a.port, SIM_RESET, 3 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 10);
    call_set(&call, &world, &barrier);
    call_await(&call, 0); /* in the next session */
    assert_true(a.lost > 0);
    process_close(&a);
    assert_true(world_await_count(&world, &a.closed, 1, 60000));
    assert_true(sim_exists(world.sim, BARRIER_PATH));
    remove_by_b();
    end();
}

/* The set was carried out, its session has ended, and no other one can be opened. */
static void set_that_may_be_carried_out_is_not_unsent(void **state)
{
    (void)state;
    begin();
    a.may_log_errors = true;
    process_lose_reply(&a);
    call_set(&calls[0], &world, &barrier);
    while (!sim_exists(world.sim, BARRIER_PATH)) {
        world_run_for(&world, 1);
    }
    sim_disconnect(a.port, SIM_RESET, 3 * WORLD_TIMEOUT_MS);
    call_wait(&calls[1], &world, &barrier, UVZK_WAIT_FOREVER);
    for (int i = 0; i < 1000 && calls[0].told == 0; i++) {
        sim_fail_open(a.port, UV_EAI_AGAIN);
        world_run_for(&world, 50);
    }
    call_await(&calls[0], UVZK_ECONNLOSS);
    call_await(&calls[1], UVZK_ENOTSENT);
    end();
}

static void refused_changes_say_why(void **state)
{
    (void)state;
    begin();
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 1);
    call_set(&call, &world, &barrier);
    call_await(&call, UVZK_ENOAUTH);
    sim_refuse(world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
    call_remove(&call, &world, &barrier);
    call_await(&call, UVZK_ENOAUTH);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ETHROTTLED, 3);
    call_set(&call, &world, &barrier);
    call_await(&call, 0);
    call_prepare(&other, &world);
    assert_int_equal(uvzk_barrier_remove(&barrier, &other.call, call_told), 0);
    assert_int_equal(uvzk_req_cancel(&other.call), UVZK_ESTATE);
    call_await(&other, 0);
    end();
}

/* -------------------------------------------------------------------------- wait */

static void absent_barrier_lets_through(void **state)
{
    (void)state;
    begin();
    uint64_t before = sim_submitted(a.port);
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    assert_int_equal(call.told, 0); /* not inside the call */
    call_await(&call, 0);
    /* exists; a quorum, and exists behind it */
    assert_int_equal(sim_submitted(a.port) - before, 3);
    world_run_for(&world, 100);
    assert_int_equal(sim_armed(a.port), 0);
    end();
}

static void waits_end_when_it_is_removed(void **state)
{
    (void)state;
    begin();
    set_by_b();
    for (int i = 0; i < WAITS; i++) {
        call_wait(&calls[i], &world, &barrier, i % 2 == 0 ? UVZK_WAIT_FOREVER : 3600000);
    }
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(sim_armed(a.port), 1); /* one watch for all of them */
    for (int i = 0; i < WAITS; i++) {
        assert_int_equal(calls[i].told, 0);
    }
    uint64_t before = sim_submitted(a.port);
    remove_by_b();
    for (int i = 0; i < WAITS; i++) {
        call_await(&calls[i], 0);
        assert_true(calls[i].told_ms <= other.told_ms + 10);
    }
    /* A quorum, and exists behind it, for all of them. */
    assert_int_equal(sim_submitted(a.port) - before, 2);
    world_run_for(&world, 100);
    assert_int_equal(sim_watch_count(world.sim), 0);
    end();
}

/* CURATOR-654: the watch of a wait that is over stays at the server. */
static void given_up_wait_leaves_no_watch(void **state)
{
    (void)state;
    begin();
    set_by_b();
    uint64_t since = world_now(&world);
    call_wait(&call, &world, &barrier, 500);
    call_wait(&other, &world, &barrier, UVZK_WAIT_FOREVER);
    call_await(&call, UV_ETIMEDOUT);
    assert_in_range(call.told_ms - since, 500, 520);
    assert_int_equal(sim_watch_count(world.sim), 1); /* the other one's */
    assert_int_equal(uvzk_req_cancel(&other.call), 0);
    assert_int_equal(uvzk_req_cancel(&other.call), UVZK_ESTATE);
    call_await(&other, UV_ECANCELED);
    world_run_for(&world, 100);
    assert_int_equal(sim_watch_count(world.sim), 0);
    assert_int_equal(uvzk_req_cancel(&other.call), UVZK_ESTATE);
    end();
}

static void wait_survives_an_outage(void **state)
{
    static const uint64_t outages[] = {3000, 4 * WORLD_TIMEOUT_MS};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin();
        set_by_b();
        call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
        world_run_for(&world, 100);
        sim_disconnect(a.port, SIM_RESET, outages[i]);
        world_run_for(&world, 1000);
        remove_by_b();
        world_run_for(&world, 1000);
        assert_int_equal(call.told, 0);
        call_await(&call, 0);
        end();
    }
}

static void timeout_covers_the_outage(void **state)
{
    (void)state;
    begin();
    set_by_b();
    uint64_t since = world_now(&world);
    call_wait(&call, &world, &barrier, 2000);
    world_run_for(&world, 100);
    sim_disconnect(a.port, SIM_RESET, 5000);
    call_await(&call, UV_ETIMEDOUT);
    assert_in_range(call.told_ms - since, 2000, 2020);
    end();
}

static void lost_event_is_made_up_for(void **state)
{
    (void)state;
    begin();
    set_by_b();
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    sim_lose_events(a.port, 1);
    remove_by_b();
    world_run_for(&world, 500);
    assert_int_equal(call.told, 0);
    world_run_for(&world, AGAIN_MS);
    assert_int_equal(call.told, 1);
    end();
}

/* A server that lags behind shows no znode, although the barrier had been set before the
 * wait began. */
static void stale_absence_lets_nobody_through(void **state)
{
    struct sim_options options;

    (void)state;
    memset(&barrier, 0, sizeof(barrier));
    world_exact_options(&options, 1);
    options.servers = 3;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    process_make(&a, &world, "a", NULL);
    int follower = (sim_leader(world.sim) + 1) % 3;
    sim_connect_to(a.port, follower);
    process_start(&a);
    assert_int_equal(uvzk_barrier_init(&a.client, &barrier, BARRIER_PATH), 0);
    assert_true(process_await_connected(&a, 5000));
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    barrier_delete_by_hand(&world, BARRIER_PATH);
    world_run_for(&world, 1000);
    sim_lag(world.sim, follower, 3000);
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    world_run_for(&world, 10);
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    world_run_for(&world, 20000);
    assert_int_equal(call.told, 0);
    barrier_delete_by_hand(&world, BARRIER_PATH);
    call_await(&call, 0);
    close_barrier(&barrier);
    world_end(&world);
}

/* The event of a removal of before is not an absence of now. */
static void stale_event_lets_nobody_through(void **state)
{
    struct sim_options options;

    (void)state;
    memset(&barrier, 0, sizeof(barrier));
    world_exact_options(&options, 1);
    options.servers = 3;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    process_make(&a, &world, "a", NULL);
    int follower = (sim_leader(world.sim) + 1) % 3;
    sim_connect_to(a.port, follower);
    process_start(&a);
    assert_int_equal(uvzk_barrier_init(&a.client, &barrier, BARRIER_PATH), 0);
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    assert_true(process_await_connected(&a, 5000));
    world_run_for(&world, 1000);
    sim_lag(world.sim, follower, 3000);
    barrier_delete_by_hand(&world, BARRIER_PATH);
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    world_run_for(&world, 10);
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    world_run_for(&world, 20000);
    assert_int_equal(call.told, 0);
    barrier_delete_by_hand(&world, BARRIER_PATH);
    call_await(&call, 0);
    close_barrier(&barrier);
    world_end(&world);
}

static void unreadable_barrier_is_told(void **state)
{
    (void)state;
    begin();
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, 1);
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    call_await(&call, UVZK_ENOAUTH);
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ETHROTTLED, 3);
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    call_await(&call, 0);
    end();
}

/* --------------------------------------------------------------------------- ends */

static void close_ends_the_calls(void **state)
{
    (void)state;
    begin();
    set_by_b();
    call_wait(&calls[0], &world, &barrier, UVZK_WAIT_FOREVER);
    call_wait(&calls[1], &world, &barrier, 10000);
    world_run_for(&world, 100);
    call_set(&calls[2], &world, &barrier);
    call_remove(&calls[3], &world, &barrier); /* both are on their way */
    closed = 0;
    assert_int_equal(uvzk_barrier_close(&barrier, on_closed), 0);
    assert_int_equal(uvzk_barrier_close(&barrier, on_closed), UVZK_ESTATE);
    call_prepare(&calls[4], &world);
    assert_int_equal(uvzk_barrier_wait(&barrier, &calls[4].call, 10, call_told),
                     UVZK_ECLOSED);
    assert_true(world_await_count(&world, &closed, 1, 1000));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(calls[i].told, 1);
        assert_int_equal(calls[i].status, UVZK_ECLOSED);
    }
    end();
}

static void clients_close_ends_the_calls(void **state)
{
    (void)state;
    begin();
    set_by_b();
    call_wait(&calls[0], &world, &barrier, UVZK_WAIT_FOREVER);
    call_set(&calls[1], &world, &barrier);
    process_close(&a);
    assert_true(world_await_count(&world, &a.closed, 1, 60000));
    assert_int_equal(calls[0].status, UVZK_ECLOSED);
    assert_int_equal(calls[1].status, UVZK_ECLOSED);
    assert_null(barrier.impl);
    end();
}

static void refused_credentials_end_the_calls(void **state)
{
    (void)state;
    begin();
    a.may_log_errors = true;
    set_by_b();
    call_wait(&calls[0], &world, &barrier, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    sim_fail_auth(a.port);
    call_await(&calls[0], UVZK_EAUTH);
    call_wait(&calls[0], &world, &barrier, UVZK_WAIT_FOREVER);
    call_set(&calls[1], &world, &barrier);
    call_await(&calls[0], UVZK_EAUTH);
    call_await(&calls[1], UVZK_EAUTH);
    end();
}

static void again(struct recorded_call *recorded)
{
    call_wait(recorded, &world, &barrier, UVZK_WAIT_FOREVER);
}

static void callback_may_call_again(void **state)
{
    (void)state;
    begin();
    call_wait(&call, &world, &barrier, UVZK_WAIT_FOREVER);
    call.hook = again;
    world_run_for(&world, 5);
    call_await(&call, 0);
    end();
}

static void arguments_are_checked(void **state)
{
    uvzk_barrier_t none;

    (void)state;
    begin();
    memset(&none, 0, sizeof(none));
    assert_int_equal(uvzk_barrier_init(NULL, &none, "/b"), UV_EINVAL);
    assert_int_equal(uvzk_barrier_init(&a.client, NULL, "/b"), UV_EINVAL);
    assert_int_equal(uvzk_barrier_init(&a.client, &none, NULL), UV_EINVAL);
    assert_int_equal(uvzk_barrier_init(&a.client, &none, "b"), UVZK_EPATH);
    assert_int_equal(uvzk_barrier_init(&a.client, &none, "/"), UVZK_EPATH);
    assert_int_equal(uvzk_barrier_init(&a.client, &barrier, "/b"), UV_EBUSY);
    call_prepare(&call, &world);
    assert_int_equal(uvzk_barrier_set(NULL, &call.call, call_told), UV_EINVAL);
    assert_int_equal(uvzk_barrier_set(&barrier, NULL, call_told), UV_EINVAL);
    assert_int_equal(uvzk_barrier_set(&barrier, &call.call, NULL), UV_EINVAL);
    assert_int_equal(uvzk_barrier_set(&none, &call.call, call_told), UVZK_ECLOSED);
    assert_int_equal(uvzk_barrier_wait(&barrier, &call.call, 0, call_told), UV_EINVAL);
    assert_int_equal(uvzk_barrier_wait(&barrier, &call.call, -2, call_told), UV_EINVAL);
    assert_int_equal(uvzk_barrier_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_barrier_close(&none, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_req_cancel(NULL), UV_EINVAL);
    assert_int_equal(uvzk_req_cancel(&call.call), UVZK_ESTATE);
    call_set(&call, &world, &barrier);
    assert_int_equal(uvzk_barrier_wait(&barrier, &call.call, 10, call_told), UV_EBUSY);
    call_await(&call, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_makes_curators_znode),
        cmocka_unit_test(set_before_the_connection_has_the_address),
        cmocka_unit_test(lost_replies_are_made_good),
        cmocka_unit_test(set_outlives_its_session),
        cmocka_unit_test(set_that_may_be_carried_out_is_not_unsent),
        cmocka_unit_test(refused_changes_say_why),
        cmocka_unit_test(absent_barrier_lets_through),
        cmocka_unit_test(waits_end_when_it_is_removed),
        cmocka_unit_test(given_up_wait_leaves_no_watch),
        cmocka_unit_test(wait_survives_an_outage),
        cmocka_unit_test(timeout_covers_the_outage),
        cmocka_unit_test(lost_event_is_made_up_for),
        cmocka_unit_test(stale_absence_lets_nobody_through),
        cmocka_unit_test(stale_event_lets_nobody_through),
        cmocka_unit_test(unreadable_barrier_is_told),
        cmocka_unit_test(close_ends_the_calls),
        cmocka_unit_test(clients_close_ends_the_calls),
        cmocka_unit_test(refused_credentials_end_the_calls),
        cmocka_unit_test(callback_may_call_again),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
