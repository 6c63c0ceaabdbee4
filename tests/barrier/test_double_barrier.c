/* SPDX-License-Identifier: Apache-2.0 */
/* What a double barrier promises, one by one, without faults; test_double_barrier_faults
 * has those. */
#include "barrier_kit.h"

#include <ctype.h>
#include <string.h>

#include "barrier/double_barrier.h"
#include "barrier/member.h"

#define MEMBERS 5
#define AGAIN_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4 + 300U)

static struct world world;
static struct process processes[MEMBERS + 1];
static uvzk_double_barrier_t barriers[MEMBERS + 1];
static struct recorded_call calls[MEMBERS + 1];
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

static void close_barrier(uvzk_double_barrier_t *barrier)
{
    int before = closed;

    assert_int_equal(uvzk_double_barrier_close(barrier, on_closed), 0);
    assert_true(world_await_count(&world, &closed, before + 1, 60000));
}

/* So many processes with one member each, of a barrier for `quantity`. */
static void begin(int count, uint32_t quantity)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

    closed = losses = reason = 0;
    memset(processes, 0, sizeof(processes));
    memset(barriers, 0, sizeof(barriers));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    world.options.default_data = "data";
    world.options.default_data_length = 4;
    for (int i = 0; i < count; i++) {
        process_begin(&processes[i], &world, names[i], NULL);
        assert_int_equal(uvzk_double_barrier_init(&processes[i].client, &barriers[i],
                                                  BARRIER_PATH, quantity, on_lost),
                         0);
    }
    for (int i = 0; i < count; i++) {
        assert_true(process_await_connected(&processes[i], 5000));
    }
    world_run_for(&world, 100);
}

static void end(void)
{
    for (int i = 0; i <= MEMBERS; i++) {
        if (barriers[i].impl != NULL) {
            close_barrier(&barriers[i]);
        }
    }
    assert_int_equal(barrier_members(&world), 0);
    world_end(&world);
}

static void enter(int i)
{
    call_enter(&calls[i], &world, &barriers[i], UVZK_WAIT_FOREVER);
}

static void leave(int i)
{
    call_leave(&calls[i], &world, &barriers[i], UVZK_WAIT_FOREVER);
}

static void all_enter(int count)
{
    for (int i = 0; i < count; i++) {
        enter(i);
    }
    for (int i = 0; i < count; i++) {
        call_await(&calls[i], 0);
    }
}

static void nothing_is_left(void)
{
    world_run_for(&world, 100);
    assert_int_equal(barrier_members(&world), 0);
    assert_false(barrier_is_ready(&world));
    assert_int_equal(sim_watch_count(world.sim), 0);
}

/* ----------------------------------------------------------------------- the znodes */

static void names_and_bytes_are_curators(void **state)
{
    const char *name;
    struct uvzk__stat stat;
    char path[128];
    size_t length;

    (void)state;
    begin(2, 2);
    enter(0);
    barrier_await_members(&world, 1);
    assert_int_equal(sim_children(world.sim, BARRIER_PATH, &name, 1), 1);
    assert_int_equal(strlen(name), 36);
    assert_int_equal(name[14], '4'); /* the version of the UUID */
    for (size_t i = 0; i < 36; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        assert_true(hyphen ? name[i] == '-'
                           : isxdigit((unsigned char)name[i]) &&
                                 !isupper((unsigned char)name[i]));
    }
    (void)snprintf(path, sizeof(path), "%s/%s", BARRIER_PATH, name);
    assert_true(sim_stat(world.sim, path, &stat));
    assert_int_equal(stat.ephemeral_owner, sim_session_id(processes[0].port));
    assert_memory_equal(sim_data(world.sim, path, &length), "data", 4);
    enter(1);
    call_await(&calls[0], 0);
    assert_true(sim_stat(world.sim, BARRIER_READY, &stat));
    assert_int_equal(stat.ephemeral_owner, 0);
    assert_memory_equal(sim_data(world.sim, BARRIER_READY, &length), "data", 4);
    assert_int_equal(length, 4);
    call_await(&calls[1], 0);
    leave(0);
    leave(1);
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
    nothing_is_left();
    /* The barrier's own znode is a container, like its parents. */
    sim_check_containers(world.sim);
    sim_check_containers(world.sim);
    sim_check_containers(world.sim);
    assert_false(sim_exists(world.sim, "/app"));
    end();
}

/* ------------------------------------------------------------------------- rounds */

static void all_enter_together_and_leave_together(void **state)
{
    (void)state;
    begin(MEMBERS, MEMBERS);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MEMBERS - 1; i++) {
            enter(i);
            world_run_for(&world, 50);
        }
        world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
        for (int i = 0; i < MEMBERS - 1; i++) {
            assert_int_equal(calls[i].told, 0);
        }
        enter(MEMBERS - 1);
        for (int i = 0; i < MEMBERS; i++) {
            call_await(&calls[i], 0);
        }
        for (int i = 0; i < MEMBERS - 1; i++) {
            leave((i + round) % MEMBERS);
            world_run_for(&world, 50);
        }
        world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
        for (int i = 0; i < MEMBERS - 1; i++) {
            assert_int_equal(calls[(i + round) % MEMBERS].told, 0);
        }
        leave((MEMBERS - 1 + round) % MEMBERS);
        for (int i = 0; i < MEMBERS; i++) {
            call_await(&calls[i], 0);
        }
        nothing_is_left();
    }
    end();
}

static void requests_are_few(void **state)
{
    (void)state;
    begin(2, 2);
    barrier_create_by_hand(&world, BARRIER_PATH, UVZK__PERSISTENT);
    uint64_t before[] = {sim_submitted(processes[0].port),
                         sim_submitted(processes[1].port)};
    enter(0);
    world_run_for(&world, 100);
    /* exists, getChildren, create, exists, getChildren */
    assert_int_equal(sim_submitted(processes[0].port) - before[0], 5);
    enter(1);
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
    assert_int_equal(sim_submitted(processes[0].port) - before[0], 5);
    /* and the create of `ready` */
    assert_int_equal(sim_submitted(processes[1].port) - before[1], 6);
    end();
}

static void one_member_is_enough_for_one(void **state)
{
    (void)state;
    begin(1, 1);
    all_enter(1);
    leave(0);
    call_await(&calls[0], 0);
    nothing_is_left();
    end();
}

/* Several members in one client share the watches. */
static void members_of_one_client(void **state)
{
    (void)state;
    begin(1, 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(uvzk_double_barrier_init(&processes[0].client, &barriers[i],
                                                  BARRIER_PATH, 3, on_lost),
                         0);
    }
    enter(0);
    enter(1);
    world_run_for(&world, 1000);
    assert_int_equal(sim_armed(processes[0].port), 1);
    enter(2);
    for (int i = 0; i < 3; i++) {
        call_await(&calls[i], 0);
    }
    for (int i = 0; i < 3; i++) {
        leave(i);
    }
    for (int i = 0; i < 3; i++) {
        call_await(&calls[i], 0);
    }
    nothing_is_left();
    end();
}

/* TestDistributedDoubleBarrier.testOverSubscribed */
static void more_members_than_needed(void **state)
{
    (void)state;
    begin(MEMBERS + 1, MEMBERS);
    all_enter(MEMBERS);
    enter(MEMBERS); /* the round is on: it joins */
    call_await(&calls[MEMBERS], 0);
    for (int i = 0; i <= MEMBERS; i++) {
        leave(i);
    }
    for (int i = 0; i <= MEMBERS; i++) {
        call_await(&calls[i], 0);
    }
    nothing_is_left();
    end();
}

/* TestDistributedDoubleBarrier.testSpuriousWakeup, GH-1290: nothing that wakes a lone
 * member lets it through. */
static void lone_member_is_never_let_through(void **state)
{
    (void)state;
    begin(1, 2);
    enter(0);
    world_run_for(&world, 100);
    for (int i = 0; i < 10; i++) {
        sim_repeat_connected(processes[0].port);
        world_run_for(&world, 300);
        sim_disconnect(processes[0].port, SIM_RESET, 100);
        world_run_for(&world, 2000);
        (void)sim_set_by_hand(world.sim, BARRIER_PATH, "x", 1);
        world_run_for(&world, AGAIN_MS);
        assert_int_equal(calls[0].told, 0);
    }
    assert_int_equal(barrier_members(&world), 1);
    assert_int_equal(uvzk_req_cancel(&calls[0].call), 0);
    call_await(&calls[0], UV_ECANCELED);
    nothing_is_left();
    end();
}

/* Curator's fast members: they see enough members, create `ready`, leave, and delete it
 * while the slow one still enters; here all before any answer about it comes. The event
 * of `ready` lets the slow one through. */
static void slow_enter_meets_fast_leavers_of_curator(void **state)
{
    (void)state;
    begin(1, 2);
    barrier_create_by_hand(&world, BARRIER_PATH "/fast", UVZK__EPHEMERAL);
    enter(0);
    barrier_await_members(&world, 2);
    barrier_create_by_hand(&world, BARRIER_READY, UVZK__PERSISTENT);
    barrier_delete_by_hand(&world, BARRIER_PATH "/fast");
    barrier_delete_by_hand(&world, BARRIER_READY);
    call_await(&calls[0], 0);
    leave(0);
    call_await(&calls[0], 0);
    nothing_is_left();
    end();
}

/* The same with members of this library: they cannot leave before the slow one. */
static void slow_enter_meets_fast_leavers(void **state)
{
    (void)state;
    begin(3, 3);
    enter(0);
    barrier_await_members(&world, 1);
    sim_set_latency(processes[0].port, 700, 700);
    enter(1);
    enter(2);
    call_await(&calls[1], 0);
    call_await(&calls[2], 0);
    leave(1);
    leave(2);
    call_await(&calls[0], 0);
    assert_int_equal(calls[1].told, 0);
    assert_int_equal(calls[2].told, 0);
    leave(0);
    for (int i = 0; i < 3; i++) {
        call_await(&calls[i], 0);
    }
    nothing_is_left();
    end();
}

/* The slow one has left by the time that a fast one has come again. Those who still leave
 * do not wait for the next round. */
static void leave_does_not_wait_for_the_next_round(void **state)
{
    (void)state;
    begin(3, 3);
    all_enter(3);
    leave(0);
    world_run_for(&world, 50);
    leave(1);
    world_run_for(&world, 50);
    sim_set_latency(processes[1].port, 500, 500); /* hears late that they have left */
    leave(2);
    call_await(&calls[2], 0);
    call_await(&calls[0], 0);
    enter(0);
    enter(2);
    call_await(&calls[1], 0);
    assert_int_equal(barrier_members(&world), 2);
    sim_set_latency(processes[1].port, 1, 1);
    enter(1);
    for (int i = 0; i < 3; i++) {
        call_await(&calls[i], 0);
    }
    end();
}

/* ------------------------------------------------------------------------- leaving */

static const char *name_of(int i)
{
    const struct uvzk__double_barrier *barrier = barriers[i].impl;

    return barrier->member->path;
}

/* The lowest waits for the highest; all others go at once, and wait for the lowest. */
static void lowest_name_stays_to_the_end(void **state)
{
    int lowest = 0;

    (void)state;
    begin(3, 3);
    all_enter(3);
    for (int i = 1; i < 3; i++) {
        lowest = strcmp(name_of(i), name_of(lowest)) < 0 ? i : lowest;
    }
    leave(lowest);
    world_run_for(&world, 100);
    assert_int_equal(barrier_members(&world), 3);
    leave((lowest + 1) % 3);
    world_run_for(&world, 100);
    assert_int_equal(barrier_members(&world), 2);
    assert_true(sim_exists(world.sim, name_of(lowest)));
    assert_true(barrier_is_ready(&world));
    /* One watch each. */
    assert_int_equal(sim_watch_count(world.sim), 2);
    leave((lowest + 2) % 3);
    for (int i = 0; i < 3; i++) {
        call_await(&calls[i], 0);
    }
    nothing_is_left();
    end();
}

static void given_up_leave_is_out(void **state)
{
    (void)state;
    begin(2, 2);
    all_enter(2);
    uint64_t since = world_now(&world);
    call_leave(&calls[0], &world, &barriers[0], 1000);
    call_await(&calls[0], UV_ETIMEDOUT);
    assert_in_range(calls[0].told_ms - since, 1000, 1020);
    assert_int_equal(barrier_members(&world), 1);
    leave(1);
    call_await(&calls[1], 0);
    nothing_is_left();
    all_enter(2);
    leave(1);
    assert_int_equal(uvzk_req_cancel(&calls[1].call), 0);
    call_await(&calls[1], UV_ECANCELED);
    assert_int_equal(barrier_members(&world), 1);
    end();
}

/* ----------------------------------------------------------------- giving an enter up */

/* CURATOR-80, CURATOR-318: the znode of an enter that has timed out stays, and is
 * counted. */
static void given_up_enter_leaves_no_znode(void **state)
{
    (void)state;
    begin(2, 2);
    uint64_t since = world_now(&world);
    call_enter(&calls[0], &world, &barriers[0], 500);
    call_await(&calls[0], UV_ETIMEDOUT);
    assert_in_range(calls[0].told_ms - since, 500, 520);
    assert_int_equal(barrier_members(&world), 0);
    assert_int_equal(sim_watch_count(world.sim), 0);
    /* Not counted: the other one is alone. */
    enter(1);
    world_run_for(&world, 1000);
    assert_int_equal(calls[1].told, 0);
    enter(0);
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
    end();
}

/* At every moment from the call to the callback, which is about 20 ms. */
static void enter_cancelled_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 30; ms++) {
        begin(2, 2);
        enter(0);
        enter(1);
        world_run_for(&world, ms);
        if (uvzk_req_cancel(&calls[0].call) == 0) {
            call_await(&calls[0], UV_ECANCELED);
            assert_int_equal(
                uvzk_double_barrier_leave(&barriers[0], &calls[0].call, 1000, call_told),
                UVZK_ESTATE);
            world_run_for(&world, 100);
            assert_int_equal(barrier_members(&world), 1);
        } else {
            call_await(&calls[0], 0);
        }
        end();
    }
}

/* Also when it is decided, and its callback is due in the same turn. */
static void cancel_other(struct recorded_call *recorded)
{
    struct recorded_call *other = recorded->data;

    if (other->told == 0) {
        assert_int_equal(uvzk_req_cancel(&other->call), 0);
    }
}

static void enter_cancelled_beside_its_callback(void **state)
{
    (void)state;
    begin(1, 2);
    assert_int_equal(uvzk_double_barrier_init(&processes[0].client, &barriers[1],
                                              BARRIER_PATH, 2, on_lost),
                     0);
    enter(0);
    enter(1);
    calls[0].hook = calls[1].hook = cancel_other;
    calls[0].data = &calls[1];
    calls[1].data = &calls[0];
    assert_true(world_await_count(&world, &calls[0].told, 1, 1000));
    assert_true(world_await_count(&world, &calls[1].told, 1, 1000));
    assert_true(calls[0].status != calls[1].status); /* 0 and UV_ECANCELED */
    assert_int_equal(barrier_members(&world), 1);
    assert_int_equal(losses, 0);
    end();
}

/* ----------------------------------------------------------------------- `ready` */

/* Left over by members that died inside. Curator's next enter would return at once. */
static void ready_without_members_lets_nobody_through(void **state)
{
    (void)state;
    begin(2, 2);
    barrier_create_by_hand(&world, BARRIER_READY, UVZK__PERSISTENT);
    enter(0);
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(calls[0].told, 0);
    assert_false(barrier_is_ready(&world));
    enter(1);
    call_await(&calls[0], 0);
    call_await(&calls[1], 0);
    end();
}

/* Where the barrier's own znode may not be deleted, `ready` alone is. */
static void ready_is_removed_below_a_fixed_znode(void **state)
{
    (void)state;
    begin(1, 2);
    barrier_create_by_hand(&world, BARRIER_READY, UVZK__PERSISTENT);
    assert_int_equal(sim_set_deletable(world.sim, "/app/barriers", false), 0);
    enter(0);
    world_run_for(&world, 1000);
    assert_int_equal(calls[0].told, 0);
    assert_false(barrier_is_ready(&world));
    assert_int_equal(barrier_members(&world), 1);
    assert_int_equal(sim_set_deletable(world.sim, "/app/barriers", true), 0);
    end();
}

/* A member that comes between the getChildren and the removal keeps its `ready`. */
static void ready_of_a_newcomer_is_not_removed(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 8; ms++) {
        begin(1, 3);
        barrier_create_by_hand(&world, BARRIER_READY, UVZK__PERSISTENT);
        enter(0);
        world_run_for(&world, ms);
        if (barrier_is_ready(&world)) {
            barrier_create_by_hand(&world, BARRIER_PATH "/newcomer", UVZK__EPHEMERAL);
            call_await(&calls[0], 0);
            assert_true(barrier_is_ready(&world));
            barrier_delete_by_hand(&world, BARRIER_PATH "/newcomer");
        }
        end();
    }
}

/* The znode of a member whose maker did not come to count is counted by those who
 * wait. */
static void enough_members_are_noticed_without_ready(void **state)
{
    (void)state;
    begin(1, 2);
    enter(0);
    world_run_for(&world, 100);
    barrier_create_by_hand(&world, BARRIER_PATH "/failed", UVZK__EPHEMERAL);
    world_run_for(&world, AGAIN_MS);
    assert_int_equal(calls[0].told, 1);
    assert_int_equal(calls[0].status, 0);
    assert_true(barrier_is_ready(&world));
    barrier_delete_by_hand(&world, BARRIER_PATH "/failed");
    leave(0);
    call_await(&calls[0], 0);
    nothing_is_left();
    end();
}

/* ------------------------------------------------------------------ somebody deletes */

static void deleted_member_is_told(void **state)
{
    (void)state;
    begin(2, 2);
    enter(0);
    barrier_await_members(&world, 1);
    barrier_delete_by_hand(&world, name_of(0));
    call_await(&calls[0], UVZK_ENONODE);
    all_enter(2);
    barrier_delete_by_hand(&world, name_of(0));
    leave(0);
    call_await(&calls[0], UVZK_ENONODE);
    leave(1);
    call_await(&calls[1], 0);
    nothing_is_left();
    end();
}

/* --------------------------------------------------------------------------- ends */

static void close_inside_deletes_the_znode(void **state)
{
    (void)state;
    begin(2, 2);
    all_enter(2);
    leave(1);
    world_run_for(&world, 50);
    close_barrier(&barriers[0]);
    assert_int_equal(losses, 0);
    call_await(&calls[1], 0);
    nothing_is_left();
    end();
}

static void close_ends_the_calls(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 30; ms++) {
        begin(2, 2);
        enter(0);
        enter(1);
        world_run_for(&world, ms);
        close_barrier(&barriers[0]);
        assert_int_equal(calls[0].told, 1);
        assert_true(calls[0].status == 0 || calls[0].status == UVZK_ECLOSED);
        world_run_for(&world, 100);
        assert_int_equal(barrier_members(&world), 1);
        end();
    }
    begin(2, 2);
    all_enter(2);
    leave(0);
    world_run_for(&world, 100);
    close_barrier(&barriers[0]);
    assert_int_equal(calls[0].status, UVZK_ECLOSED);
    assert_int_equal(barrier_members(&world), 1);
    end();
}

static void clients_close_ends_everything(void **state)
{
    (void)state;
    begin(3, 3);
    all_enter(3);
    leave(1);
    world_run_for(&world, 50);
    for (int i = 0; i < 2; i++) {
        process_close(&processes[i]);
        assert_true(world_await_count(&world, &processes[i].closed, 1, 60000));
        assert_null(barriers[i].impl);
    }
    assert_int_equal(losses, 1);
    assert_int_equal(reason, UVZK_ECLOSED);
    assert_int_equal(calls[1].status, UVZK_ECLOSED);
    leave(2);
    call_await(&calls[2], 0);
    nothing_is_left();
    end();
}

static void arguments_and_states_are_checked(void **state)
{
    uvzk_double_barrier_t none;
    struct recorded_call call;

    (void)state;
    begin(2, 2);
    memset(&none, 0, sizeof(none));
    call_prepare(&call, &world);
    uvzk_client_t *client = &processes[0].client;
    assert_int_equal(uvzk_double_barrier_init(NULL, &none, "/b", 2, NULL), UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_init(client, NULL, "/b", 2, NULL), UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_init(client, &none, NULL, 2, NULL), UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_init(client, &none, "/b", 0, NULL), UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_init(client, &none, "b", 2, NULL), UVZK_EPATH);
    assert_int_equal(uvzk_double_barrier_init(client, &barriers[0], "/b", 2, NULL),
                     UV_EBUSY);
    assert_int_equal(uvzk_double_barrier_enter(NULL, &call.call, 1, call_told),
                     UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_enter(&barriers[0], &call.call, 0, call_told),
                     UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_enter(&none, &call.call, 1, call_told),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_double_barrier_leave(&barriers[0], &call.call, 1, call_told),
                     UVZK_ESTATE);
    enter(0);
    assert_int_equal(uvzk_double_barrier_enter(&barriers[0], &call.call, 1, call_told),
                     UVZK_ESTATE);
    assert_int_equal(uvzk_double_barrier_leave(&barriers[0], &call.call, 1, call_told),
                     UVZK_ESTATE);
    enter(1);
    call_await(&calls[0], 0);
    assert_int_equal(uvzk_double_barrier_enter(&barriers[0], &call.call, 1, call_told),
                     UVZK_ESTATE);
    assert_int_equal(uvzk_double_barrier_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_double_barrier_close(&none, NULL), UVZK_ESTATE);
    leave(0);
    leave(1);
    call_await(&calls[0], 0);
    sim_fail_random(processes[0].port, 1);
    assert_int_equal(uvzk_double_barrier_enter(&barriers[0], &call.call, 1, call_told),
                     UV_EIO);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_bytes_are_curators),
        cmocka_unit_test(all_enter_together_and_leave_together),
        cmocka_unit_test(requests_are_few),
        cmocka_unit_test(one_member_is_enough_for_one),
        cmocka_unit_test(members_of_one_client),
        cmocka_unit_test(more_members_than_needed),
        cmocka_unit_test(lone_member_is_never_let_through),
        cmocka_unit_test(slow_enter_meets_fast_leavers_of_curator),
        cmocka_unit_test(slow_enter_meets_fast_leavers),
        cmocka_unit_test(leave_does_not_wait_for_the_next_round),
        cmocka_unit_test(lowest_name_stays_to_the_end),
        cmocka_unit_test(given_up_leave_is_out),
        cmocka_unit_test(given_up_enter_leaves_no_znode),
        cmocka_unit_test(enter_cancelled_at_any_moment),
        cmocka_unit_test(enter_cancelled_beside_its_callback),
        cmocka_unit_test(ready_without_members_lets_nobody_through),
        cmocka_unit_test(ready_is_removed_below_a_fixed_znode),
        cmocka_unit_test(ready_of_a_newcomer_is_not_removed),
        cmocka_unit_test(enough_members_are_noticed_without_ready),
        cmocka_unit_test(deleted_member_is_told),
        cmocka_unit_test(close_inside_deletes_the_znode),
        cmocka_unit_test(close_ends_the_calls),
        cmocka_unit_test(clients_close_ends_everything),
        cmocka_unit_test(arguments_and_states_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
