/* SPDX-License-Identifier: Apache-2.0 */
/* A znode of a fixed name does not say whose it is. Whoever has lost the reply to a
 * create, or to a delete, and goes by the name alone, takes another one's lock for his
 * own, or deletes it. So its stat is asked for, behind a barrier: the server may lag
 * behind what the lost request has done. */
#include "world.h"

#include "drivers.h"

#define SEEDS 16U
#define NODE WORLD_PATH "/lock"

static struct world world;
static struct process a, b;
static struct hold held, next;

static void begin(uint64_t seed, void *const *state)
{
    uvzk_lock_driver_t driver;

    exclusive_driver(&driver);
    world_begin_two(&world, seed, state, &a, &b);
    assert_int_equal(process_drive(&a, &driver), 0);
    assert_int_equal(process_drive(&b, &driver), 0);
}

/* A's next request is lost, or, done by the servers all the same, the reply to it. The
 * line from which on that is to be seen. */
static size_t lose_next(bool done)
{
    if (done) {
        process_lose_reply(&a);
    } else {
        process_lose_request(&a);
    }
    return world.line_count;
}

/* The barrier is answered before the stat is asked for, and that before anything is made
 * or deleted. */
static void check_order(size_t from)
{
    size_t connected = world_line(&world, from, "a", "CONNECTED");
    size_t barrier = world_line(&world, connected, "a", "multi -> ok");
    size_t stat = world_line(&world, connected, "a", "server: exists " NODE);

    assert_true(connected < barrier && barrier < stat && stat != WORLD_NO_LINE);
    assert_true(world_line(&world, connected, "a", "create " NODE) > stat);
    assert_true(world_line(&world, connected, "a", "delete " NODE) > stat);
}

/* Its own is found to be its own; another's, made meanwhile, to be another's. */
static void after_a_lost_create(uint64_t seed, void *const *state)
{
    for (int made = 0; made < 2; made++) {
        struct hold ours, others;

        begin(seed, state);
        world_make_directory(&world, &a);
        assert_true(process_await_connected(&b, 1000));
        size_t from = lose_next(made);
        hold_begin(&ours, &a, UVZK_WAIT_FOREVER);
        process_await_line(
            &a, from, made ? "loses the reply of create" : "loses the request create",
            1000);
        hold_begin(&others, &b, UVZK_WAIT_FOREVER);
        world_run_for(&world, 3000);
        check_order(from);
        assert_int_equal(ours.answered + others.answered, 1);
        struct hold *holds = hold_await_first(&ours, &others, 0);
        assert_true(holds == &ours || !made);
        hold_give_back(holds);
        hold_acquire_release(holds == &ours ? &others : &ours, 3000);
        world_end(&world);
    }
}

/* A holds, and B waits. */
static void begin_held(uint64_t seed, void *const *state)
{
    begin(seed, state);
    hold_take(&held, &a);
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
}

static void after_a_lost_delete(uint64_t seed, void *const *state)
{
    for (int done = 0; done < 2; done++) {
        begin_held(seed, state);
        size_t from = lose_next(done);
        hold_release(&held);
        hold_await(&next, 3000);
        hold_await_released(&held, 3000, 0);
        check_order(from);
        world_run_for(&world, 2000);
        assert_int_equal(next.lost, 0);
        hold_give_back(&next);
        world_end(&world);
    }
}

/* Whose it is may not be told for a while. It is looked at again: if it is its own and
 * was given up it would stand before everybody, for as long as the session lives. */
static void after_a_lost_delete_that_may_not_be_read(uint64_t seed, void *const *state)
{
    begin_held(seed, state);
    (void)lose_next(false);
    hold_release(&held);
    sim_refuse(world.sim, UVZK__RPC_EXISTS, UVZK_ENOAUTH, 2);
    hold_await(&next, 8000);
    hold_await_released(&held, 1000, 0);
    hold_give_back(&next);
    world_end(&world);
}

/* Its own is deleted by hand, and another made, before it looks after it: nobody is told
 * of that by an event, and every proof finds the name. */
static void before_the_first_look(uint64_t seed, void *const *state)
{
    begin(seed, state);
    world.holder_deleted = true;
    world_make_directory(&world, &a);
    size_t from = world.line_count;
    hold_begin(&held, &a, UVZK_WAIT_FOREVER);
    process_await_line(&a, from, "server: create " NODE, 1000);
    assert_int_equal(sim_delete_by_hand(world.sim, NODE), 0);
    assert_non_null(sim_create_by_hand(world.sim, NODE, UVZK__EPHEMERAL));
    hold_await_lost(&held, 1000, UVZK_EDELETED);
    world_run_for(&world, 3000);
    assert_int_equal(sim_delete_by_hand(world.sim, NODE), 0);
    world_end(&world);
}

/* A server that has lost its place in history has answered a create with an error, and
 * the quorum has carried it out: its own znode is in the way, for as long as the
 * session lives. It is known by its owner, and by a czxid that is greater than what
 * the lock had before. */
static void what_was_made_in_spite_of_an_error_is_its_own(uint64_t seed,
                                                          void *const *state)
{
    begin(seed, state);
    hold_take(&held, &a);
    hold_give_back(&held);
    assert_non_null(
        sim_create_in_session(world.sim, sim_session_id(a.port), NODE, UVZK__EPHEMERAL));
    hold_begin(&next, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_take(&held, &a);
    assert_int_equal(next.answered, 0);
    hold_give_back(&held);
    hold_acquire_release(&next, 3000);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(after_a_lost_create, 1, SEEDS),
        WORLD_SCENARIO(after_a_lost_delete, 1, SEEDS),
        WORLD_SCENARIO(after_a_lost_delete_that_may_not_be_read, 1, SEEDS),
        WORLD_SCENARIO(before_the_first_look, 1, SEEDS),
        WORLD_SCENARIO(what_was_made_in_spite_of_an_error_is_its_own, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
