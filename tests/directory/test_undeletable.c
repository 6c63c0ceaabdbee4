/* SPDX-License-Identifier: Apache-2.0 */
/* DELETE on a lock's directory is missing, be it for a moment, when a znode of ours is to
 * go: who let go is told so, and the delete is tried again, seldom, until the znode or its
 * session has gone. Nobody waits for longer than the right is missing, and a pause. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 8U
#define PAUSE_MAX_MS (WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 4)
#define NODE WORLD_PATH "/lock"

static struct world world;
static struct process a, b;
static struct hold held, waits;

static void take_right(const char *path)
{
    assert_int_equal(sim_set_deletable(world.sim, path, false), 0);
}

static void give_right(const char *path)
{
    assert_int_equal(sim_set_deletable(world.sim, path, true), 0);
}

static uint64_t undeletable(const struct process *process)
{
    return process_metrics(process).undeletable;
}

static void begin(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    world_make_directory(&world, &a);
}

/* B waits behind A, which may not delete its znode. */
static void begin_refused(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_take(&held, &a);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    take_right(WORLD_PATH);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    assert_int_equal(undeletable(&a), 1);
}

/* ------------------------------------------------------------------- until it may */

static void a_release(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    size_t from = world.line_count;
    world_run_for(&world, 60000);
    assert_int_equal(waits.answered, 0);
    size_t tries = world_count(&world, from, "a", "server: delete");
    assert_in_range(tries, 5, 15); /* not six hundred */
    give_right(WORLD_PATH);
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    world_run_for(&world, 100); /* until A knows it, too */
    assert_int_equal(undeletable(&a), 0);
    hold_give_back(&waits);
    world_end(&world);
}

/* It is missing only while a waiter's znode is to go. */
static void a_wait_that_runs_out(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_take(&held, &a);
    hold_begin(&waits, &b, 1000);
    take_right(WORLD_PATH);
    hold_await_status(&waits, 2000, UV_ETIMEDOUT);
    world_run_for(&world, 200);
    assert_int_equal(undeletable(&b), 1);
    give_right(WORLD_PATH);
    hold_give_back(&held);
    hold_begin(&held, &a, UVZK_WAIT_FOREVER);
    hold_await(&held, 3000); /* the first pauses are short */
    world_run_for(&world, 100);
    assert_int_equal(undeletable(&b), 0);
    hold_give_back(&held);
    world_end(&world);
}

/* Who is next there, and ours, has its turn: what stands keeps others out. */
static void the_next_one_of_ours_goes_on(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    struct hold next;
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 5000);
    assert_int_equal(next.answered + waits.answered, 0); /* B is before it */
    give_right(WORLD_PATH);
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    hold_give_back(&waits);
    hold_acquire_release(&next, 3000);
    world_end(&world);
}

/* Many of one directory cost no more than one, and when one may go all go. */
static void many_at_once(uint64_t seed, void *const *state)
{
    static struct hold many[100];
    struct hold last;

    begin(seed, state);
    hold_take(&held, &a);
    for (size_t i = 0; i < 100; i++) {
        hold_begin(&many[i], &b, 2000);
    }
    world_run_for(&world, 1000);
    take_right(WORLD_PATH);
    world_run_for(&world, 2000);
    assert_int_equal(undeletable(&b), 100);
    size_t from = world.line_count;
    uint64_t before = sim_submitted(b.port);
    world_run_for(&world, 60000);
    assert_in_range(sim_submitted(b.port) - before, 10, 80); /* proofs are among them */
    assert_true(world_count(&world, from, "b", "server: delete") < 15);
    give_right(WORLD_PATH);
    hold_release(&held);
    hold_begin(&last, &a, UVZK_WAIT_FOREVER);
    hold_await(&last, PAUSE_MAX_MS + 1000);
    world_run_for(&world, 100);
    assert_int_equal(undeletable(&b), 0);
    hold_give_back(&last);
    world_end(&world);
}

/* A delete of somebody else's turn shows that the right is back: nobody waits for his. */
static void what_is_refused_later_goes_with_what_was_before(uint64_t seed,
                                                            void *const *state)
{
    begin_refused(seed, state);
    struct hold next;
    world_run_for(&world, 60000);
    hold_begin(&next, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    give_right(WORLD_PATH);
    hold_cancel(&next);
    hold_await(&waits, 1000);
    world_run_for(&world, 100);
    assert_int_equal(undeletable(&a), 0);
    hold_give_back(&waits);
    world_end(&world);
}

/* A's znode has gone by other ways, and the look at it is under way when another one's
 * delete shows that the right is back: its own delete leaves, and the look comes to
 * nothing. When the look leaves is a matter of chance. */
static void a_delete_leaves_behind_the_look(uint64_t seed, void *const *state)
{
    for (uint64_t after = 0; after < 2000; after += 100) {
        struct hold next;
        begin_refused(seed, state);
        sim_set_latency(a.port, 100, 100);
        hold_begin(&next, &a, UVZK_WAIT_FOREVER);
        world_run_for(&world, 400 + after);
        give_right(WORLD_PATH);
        world_delete_child(&world, WORLD_PATH, 0);
        hold_release_or_cancel(&next);
        hold_await(&waits, PAUSE_MAX_MS + 1000);
        hold_finish(&next, 2000);
        world_run_for(&world, PAUSE_MAX_MS + 1000);
        assert_int_equal(undeletable(&a), 0);
        hold_give_back(&waits);
        world_end(&world);
    }
}

/* --------------------------------------------------------- it has gone by other ways */

/* Those that have gone need no pauses: A's turn is behind all of theirs. */
static void many_have_gone(uint64_t seed, void *const *state)
{
    static struct hold many[40];

    begin(seed, state);
    hold_take(&held, &a);
    for (size_t i = 0; i < 40; i++) {
        hold_begin(&many[i], &a, 2000);
    }
    world_run_for(&world, 1000);
    take_right(WORLD_PATH);
    world_run_for(&world, 2000);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 30000);
    assert_int_equal(undeletable(&a), 41);
    for (size_t i = 0; i < 40; i++) {
        world_delete_child(&world, WORLD_PATH, 1);
    }
    give_right(WORLD_PATH);
    hold_await(&waits, PAUSE_MAX_MS + 5000);
    world_run_for(&world, 1000);
    assert_int_equal(undeletable(&a), 0);
    hold_give_back(&waits);
    world_end(&world);
}

/* An operator helps himself: the server would say ENOAUTH of what is not there, too. */
static void deleted_by_hand(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    world_delete_child(&world, WORLD_PATH, 0);
    hold_await(&waits, 1000);
    world_run_for(&world, PAUSE_MAX_MS + 1000);
    assert_int_equal(undeletable(&a), 0);
    give_right(WORLD_PATH);
    hold_give_back(&waits);
    world_end(&world);
}

static void the_session_ends(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    process_expire(&a);
    hold_await(&waits, 5000);
    world_run_for(&world, 5000);
    assert_int_equal(undeletable(&a), 0);
    give_right(WORLD_PATH);
    hold_give_back(&waits);
    world_end(&world);
}

/* Closing does not wait for it; the session's end takes it along. */
static void the_client_is_closed(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    process_close(&a);
    assert_true(world_await(&world, &a.closed, 1000));
    hold_await(&waits, 1000);
    give_right(WORLD_PATH);
    hold_give_back(&waits);
    world_end(&world);
}

/* Nor does closing the lock. */
static void the_lock_is_closed(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    process_close_mutex(&a);
    assert_true(world_await(&world, &a.mutex_closed, 1000));
    world_run_for(&world, 20000);
    give_right(WORLD_PATH);
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    hold_give_back(&waits);
    world_end(&world);
}

/* Without a connection nothing is tried, and then it goes on. */
static void through_an_outage(uint64_t seed, void *const *state)
{
    begin_refused(seed, state);
    world_run_for(&world, 300);
    sim_disconnect(a.port, SIM_RESET, 4000);
    world_run_for(&world, 2000);
    give_right(WORLD_PATH);
    hold_await(&waits, PAUSE_MAX_MS + 4000);
    hold_give_back(&waits);
    world_end(&world);
}

/* ----------------------------------------------------------------- the other recipes */

/* The ticket is of no use any more, and stands before everybody; its claim holds. */
static void a_ticket(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, "/app/s", 2);
    process_make_semaphore(&b, "/app/s", 2);
    world_make_path(&world, "/app/s/locks");
    world_make_path(&world, "/app/s/leases");
    struct world_path other = world_foreign_node(&world, "/app/s/leases", "lease-");
    take_right("/app/s/locks");
    hold_take_on(&held, &a, &a.semaphore, 1);
    world_run_for(&world, 1000);
    hold_begin_on(&waits, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 2000);
    hold_give_back(&held); /* not a word of the ticket */
    world_run_for(&world, 20000);
    give_right("/app/s/locks");
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    world_delete(&world, &other);
    hold_give_back(&waits);
    world_end(&world);
}

static void a_lease(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_semaphore(&a, "/app/s", 1);
    process_make_semaphore(&b, "/app/s", 1);
    hold_take_on(&held, &a, &a.semaphore, 1);
    hold_begin_on(&waits, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 1000);
    take_right("/app/s/leases");
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    world_run_for(&world, 20000);
    assert_int_equal(waits.answered, 0);
    give_right("/app/s/leases");
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    hold_give_back(&waits);
    world_end(&world);
}

static void drive(uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = mode == UVZK_NODE_EPHEMERAL ? "lock" : "lock-";
    driver.mode = mode;
    a.persistent = b.persistent = mode == UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(process_drive(&a, &driver), 0);
    assert_int_equal(process_drive(&b, &driver), 0);
}

/* What stands there now is another one's. */
static void a_fixed_name(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    drive(UVZK_NODE_EPHEMERAL);
    hold_take(&held, &a);
    take_right(WORLD_PATH);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    assert_int_equal(sim_delete_by_hand(world.sim, NODE), 0);
    hold_take(&waits, &b);
    give_right(WORLD_PATH);
    world_run_for(&world, 3 * PAUSE_MAX_MS);
    assert_int_equal(waits.lost, 0);
    assert_int_equal(undeletable(&a), 0);
    hold_give_back(&waits);
    hold_take(&held, &a); /* the name is free for A's next one */
    take_right(WORLD_PATH);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    world_run_for(&world, 5000);
    give_right(WORLD_PATH);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    hold_await(&waits, PAUSE_MAX_MS + 1000);
    hold_give_back(&waits);
    world_end(&world);
}

/* A persistent znode outlives the session, and its delete is tried in the next one. */
static void a_persistent_one(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    drive(UVZK_NODE_PERSISTENT_SEQUENTIAL);
    hold_take(&held, &a);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    take_right(WORLD_PATH);
    hold_release(&held);
    hold_await_released(&held, 1000, UVZK_ENOAUTH);
    process_expire(&a);
    world_run_for(&world, 20000);
    assert_int_equal(undeletable(&a), 1);
    give_right(WORLD_PATH);
    hold_await(&waits, 2 * PAUSE_MAX_MS);
    hold_give_back(&waits);
    world_end(&world);
}

/* A server that checks ACLs eagerly says so by itself, also when it is cut off. */
static void a_refusal_proves_nothing(uint64_t seed, void *const *state)
{
    begin(seed, state);
    process_make_rwlock(&a, "/app/rw");
    hold_take(&held, &a);
    hold_take_on(&waits, &a, &a.rwlock.write, 1);
    uint64_t until = uvzk_hold_valid_until(&held.request);
    while (uvzk_hold_valid_until(&held.request) == until) {
        world_run_for(&world, 1); /* until a proof has just come */
    }
    until = uvzk_hold_valid_until(&held.request);
    world_run_for(&world, 1200);
    assert_int_equal(uvzk_hold_valid_until(&held.request), until);
    sim_refuse(world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
    hold_release(&waits);
    hold_await_released(&waits, 1000, UVZK_ENOAUTH);
    assert_int_equal(uvzk_hold_valid_until(&held.request), until);
    hold_give_back(&held);
    world_run_for(&world, PAUSE_MAX_MS);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_release, 1, SEEDS),
        WORLD_SCENARIO(a_wait_that_runs_out, 1, SEEDS),
        WORLD_SCENARIO(the_next_one_of_ours_goes_on, 1, SEEDS),
        WORLD_SCENARIO(many_at_once, 1, SEEDS),
        WORLD_SCENARIO(what_is_refused_later_goes_with_what_was_before, 1, SEEDS),
        WORLD_SCENARIO(a_delete_leaves_behind_the_look, 1, 2),
        WORLD_SCENARIO(many_have_gone, 1, SEEDS),
        WORLD_SCENARIO(deleted_by_hand, 1, SEEDS),
        WORLD_SCENARIO(the_session_ends, 1, SEEDS),
        WORLD_SCENARIO(the_client_is_closed, 1, SEEDS),
        WORLD_SCENARIO(the_lock_is_closed, 1, SEEDS),
        WORLD_SCENARIO(through_an_outage, 1, SEEDS),
        WORLD_SCENARIO(a_ticket, 1, SEEDS),
        WORLD_SCENARIO(a_lease, 1, SEEDS),
        WORLD_SCENARIO(a_fixed_name, 1, SEEDS),
        WORLD_SCENARIO(a_persistent_one, 1, SEEDS),
        WORLD_SCENARIO(a_refusal_proves_nothing, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
