/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's multi lock goes on to acquire after one of its locks has failed, gives each of
 * them the whole time, and two of them with their lists in opposite order wait for each
 * other for ever. Here the first failure ends it, one deadline is for all, and the order
 * is the same for everybody, whatever the caller's is. */
#include "claim/lock.h"
#include "engine/session.h"
#include "world.h"

#define MEMBERS 3
#define SEEDS 8U
#define ROUNDS 20U

static const char *const paths[MEMBERS] = {"/m/a", "/m/b", "/m/c"};

/* A multi lock in each of two processes, listed forwards in the one and backwards in
 * the other. */
struct side {
    struct process process;
    uvzk_mutex_t members[MEMBERS];
    uvzk_multilock_t multilock;
    struct hold request;
};

static struct world world;
static struct side a, b;
static int errors; /* told by error_cb */

static void on_error(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    (void)lock;
    (void)member;
    (void)status;
    errors++;
}

static void open_side(struct side *side, const char *name, bool backwards, unsigned flags)
{
    uvzk_lock_t *list[MEMBERS];
    uvzk_client_t *client = &side->process.client;

    process_begin(&side->process, &world, name, NULL);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(uvzk_mutex_init(client, &side->members[i], paths[i]), 0);
        list[backwards ? MEMBERS - 1 - i : i] = &side->members[i];
    }
    assert_int_equal(
        uvzk_multilock_init(client, &side->multilock, list, MEMBERS, flags, on_error), 0);
}

static void begin(uint64_t seed, void *const *state, unsigned flags)
{
    errors = 0;
    world_begin(&world, seed, state);
    open_side(&a, "a", false, flags);
    open_side(&b, "b", true, flags);
    assert_true(process_await_connected(&a.process, 1000));
    assert_true(process_await_connected(&b.process, 1000));
}

static size_t nodes(int member)
{
    return world_children(&world, paths[member]);
}

static void end(void)
{
    world_run_for(&world, 1000);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(nodes(i), 0);
    }
    world_end(&world);
}

static void ask(struct side *side, int64_t timeout_ms)
{
    hold_begin_on(&side->request, &side->process, &side->multilock, 0, timeout_ms);
}

static void take_member(struct hold *hold, struct side *side, int member)
{
    hold_take_on(hold, &side->process, &side->members[member], 1);
}

/* ------------------------------------------------------------- opposite orders */

static void check_orders(uint64_t seed, void *const *state, unsigned flags)
{
    begin(seed, state, flags);
    for (unsigned round = 0; round < ROUNDS; round++) {
        ask(round % 2 == 0 ? &a : &b, UVZK_WAIT_FOREVER);
        world_steps(&world, round);
        ask(round % 2 == 0 ? &b : &a, UVZK_WAIT_FOREVER);
        struct hold *first = hold_await_first(&a.request, &b.request, 3000);
        struct hold *second = first == &a.request ? &b.request : &a.request;
        world_run_for(&world, 300);
        assert_int_equal(second->answered, 0);
        hold_give_back(first);
        hold_acquire_release(second, 3000);
    }
    assert_int_equal(errors, 0);
    end();
}

static void opposite_orders_never_deadlock_at_once(uint64_t seed, void *const *state)
{
    check_orders(seed, state, 0);
}

static void opposite_orders_never_deadlock_in_turn(uint64_t seed, void *const *state)
{
    check_orders(seed, state, UVZK_MULTILOCK_IN_TURN);
}

/* ----------------------------------------------------------------- one deadline */

/* Each member becomes free after 700 ms more; there are 1000 for all of them. */
static void check_deadline(uint64_t seed, void *const *state, unsigned flags)
{
    struct hold held[MEMBERS];

    begin(seed, state, flags);
    for (int i = 0; i < MEMBERS; i++) {
        take_member(&held[i], &b, i);
    }
    uint64_t due_ms = world_now(&world) + 1000;
    ask(&a, 1000);
    for (int i = 0; i < MEMBERS; i++) {
        world_run_for(&world, 700);
        hold_give_back(&held[i]);
    }
    hold_await_status(&a.request, 0, UV_ETIMEDOUT);
    assert_in_range(a.request.answered_ms, due_ms, due_ms + 8);
    end();
}

static void one_deadline_is_for_all_at_once(uint64_t seed, void *const *state)
{
    check_deadline(seed, state, 0);
}

static void one_deadline_is_for_all_in_turn(uint64_t seed, void *const *state)
{
    check_deadline(seed, state, UVZK_MULTILOCK_IN_TURN);
}

/* ------------------------------------------------------------ the first failure */

/* The first member's create is refused: nothing is ever made for the others, of whom
 * the last is somebody else's, and would be waited for. */
static void the_first_failure_ends_it(void **state)
{
    const unsigned ways[2] = {0, UVZK_MULTILOCK_IN_TURN};

    for (unsigned way = 0; way < 2; way++) {
        struct hold held;

        begin(way, state, ways[way]);
        for (int i = 0; i < 2; i++) { /* so that the directories are there */
            take_member(&held, &a, i);
            hold_give_back(&held);
        }
        take_member(&held, &b, 2);
        size_t from = world.line_count;
        sim_refuse(world.sim, way == 0 ? UVZK__RPC_MULTI : UVZK__RPC_CREATE, UVZK_ENOAUTH,
                   1);
        ask(&a, UVZK_WAIT_FOREVER);
        hold_await_status(&a.request, 1000, UVZK_ENOAUTH);
        world_run_for(&world, 1000);
        assert_int_equal(world_count(&world, from, "a", "create ->"), way);
        assert_int_equal(world_count(&world, from, "a", "multi ->"), 1 - way);
        assert_int_equal(nodes(0) + nodes(1), 0);
        hold_give_back(&held);
        end();
    }
}

/* A member is lost while all are held: the whole is, and the others are given back. */
static void the_loss_of_one_is_the_loss_of_all(void **state)
{
    for (int member = 0; member < MEMBERS; member++) {
        for (unsigned flags = 0; flags <= UVZK_MULTILOCK_IN_TURN; flags++) {
            begin((uint64_t)member, state, flags);
            ask(&a, UVZK_WAIT_FOREVER);
            hold_await(&a.request, 1000);
            ask(&b, UVZK_WAIT_FOREVER);
            world_run_for(&world, 500);
            const char *path = uvzk_hold_node_path(&a.request.request, (uint32_t)member);
            assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
            hold_await_lost(&a.request, 5000, UVZK_EDELETED);
            assert_int_equal(errors, 1);
            hold_acquire_release(&b.request, 1000);
            end();
        }
    }
}

/* How many requests the first member's session of a has sent. */
static uint64_t submitted(void)
{
    return sim_submitted(uvzk__lock_session(&a.members[0])->port);
}

static void lose_the_first_as_the_last_is_granted(uint64_t delay_ms)
{
    struct hold held;

    take_member(&held, &b, MEMBERS - 1);
    ask(&a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500); /* all but the last are held */
    world_delete_child(&world, paths[0], 0);
    uint64_t before = submitted();
    uint64_t limit = world_now(&world) + 5000;
    while (submitted() == before) { /* until the holds are proved again */
        assert_true(world_now(&world) < limit);
        world_steps(&world, 1);
    }
    world_run_for(&world, delay_ms);
    hold_give_back(&held);
    assert_true(world_await(&world, &a.request.answered, 5000));
    if (a.request.status == 0) {
        hold_await_lost(&a.request, 5000, UVZK_EDELETED);
    } else {
        assert_int_equal(a.request.status, UVZK_EDELETED);
    }
    world_run_for(&world, 100);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(nodes(i), 0);
    }
}

/* With as many sessions as it takes for the two members to be in two of them. */
static void begin_in_two_sessions(uint64_t seed, void *const *state)
{
    struct sim_options options;

    sim_options_init(&options);
    options.shuffle_ties = true;
    for (uint32_t sessions = 2; sessions <= 8; sessions++) {
        errors = 0;
        world_begin_with(&world, seed, *(const unsigned *)*state, &options);
        world.holder_deleted = true;
        world.options.sessions = sessions;
        open_side(&a, "a", false, UVZK_MULTILOCK_IN_TURN);
        open_side(&b, "b", true, UVZK_MULTILOCK_IN_TURN);
        assert_true(process_await_connected(&a.process, 1000));
        assert_true(process_await_connected(&b.process, 1000));
        if (uvzk__lock_session(&a.members[0]) !=
            uvzk__lock_session(&a.members[MEMBERS - 1])) {
            return;
        }
        world_end(&world);
    }
    assert_true(false);
}

/* The znode of the first member is deleted while the last one is waited for. With some
 * delay, both sessions learn of it at one moment, and the turn that grants the last one
 * comes before the turn that tells of the loss. */
static void a_member_is_lost_as_the_last_is_granted(uint64_t seed, void *const *state)
{
    begin_in_two_sessions(seed, state);
    for (uint64_t delay_ms = 0; delay_ms < 40; delay_ms++) {
        lose_the_first_as_the_last_is_granted(delay_ms);
    }
    world_run_for(&world, 60000); /* the directories are not followed any more */
    end();
}

/* The reply to all creates is lost, and somebody deletes one of them before they are
 * searched for: it cannot be made anew beside the others. */
static void what_was_torn_while_nobody_looked_ends_it(uint64_t seed, void *const *state)
{
    for (int member = 0; member < MEMBERS; member++) {
        begin(seed, state, 0);
        ask(&a, UVZK_WAIT_FOREVER); /* so that the directories are there */
        hold_acquire_release(&a.request, 1000);
        world_run_for(&world, 300);
        sim_lose_reply(a.process.port);
        ask(&a, UVZK_WAIT_FOREVER);
        while (nodes(member) == 0) {
            world_steps(&world, 1);
        }
        world_delete_child(&world, paths[member], 0);
        hold_await_status(&a.request, 5000, UVZK_EDELETED);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(opposite_orders_never_deadlock_at_once, 1, SEEDS),
        WORLD_SCENARIO(opposite_orders_never_deadlock_in_turn, 1, SEEDS),
        WORLD_SCENARIO(one_deadline_is_for_all_at_once, 1, SEEDS),
        WORLD_SCENARIO(one_deadline_is_for_all_in_turn, 1, SEEDS),
        WORLD_TEST(the_first_failure_ends_it),
        WORLD_TEST(the_loss_of_one_is_the_loss_of_all),
        WORLD_SCENARIO(a_member_is_lost_as_the_last_is_granted, 1, 64),
        WORLD_SCENARIO(what_was_torn_while_nobody_looked_ends_it, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
