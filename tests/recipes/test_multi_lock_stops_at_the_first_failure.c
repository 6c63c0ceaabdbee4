/* Curator's multi lock goes on to acquire after one of its locks has failed, gives each of
 * them the whole time, and two of them with their lists in opposite order wait for each
 * other for ever. Here the first failure ends it, one deadline is for all, and the order
 * is the same for everybody, whatever the caller's is. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS 3
#define SEEDS 8U
#define ROUNDS 20U

static const char *const paths[MEMBERS] = {"/m/a", "/m/b", "/m/c"};

struct side {
    struct process process;
    uvzk_mutex_t members[MEMBERS];
    uvzk_multilock_t multilock;
    struct hold bid;
};

/* A multi lock in each of two processes, listed forwards in the one and backwards in
 * the other. */
struct couple {
    struct world world;
    struct side sides[2];
};

static int errors; /* told by error_cb */

static void on_error(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    (void)lock;
    (void)member;
    (void)status;
    errors++;
}

static void open_side(struct side *side, struct world *world, const char *name,
                      bool backwards, unsigned flags)
{
    uvzk_lock_t *list[MEMBERS];
    uvzk_client_t *client = &side->process.client;

    process_begin(&side->process, world, name, NULL);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(uvzk_mutex_init(client, &side->members[i], paths[i]), 0);
        list[backwards ? MEMBERS - 1 - i : i] = &side->members[i];
    }
    assert_int_equal(
        uvzk_multilock_init(client, &side->multilock, list, MEMBERS, flags, on_error), 0);
}

static void begin(struct couple *couple, uint64_t seed, void *const *state,
                  unsigned flags)
{
    memset(couple, 0, sizeof(*couple));
    errors = 0;
    world_begin(&couple->world, seed, state);
    open_side(&couple->sides[0], &couple->world, "a", false, flags);
    open_side(&couple->sides[1], &couple->world, "b", true, flags);
    assert_true(process_await_connected(&couple->sides[0].process, 1000));
    assert_true(process_await_connected(&couple->sides[1].process, 1000));
}

static size_t nodes(const struct couple *couple, int member)
{
    return world_children(&couple->world, paths[member]);
}

static void end(struct couple *couple)
{
    world_run_for(&couple->world, 1000);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(nodes(couple, i), 0);
    }
    world_end(&couple->world);
}

static void ask(struct side *side, int64_t timeout_ms)
{
    hold_begin_on(&side->bid, &side->process, &side->multilock, 0, timeout_ms);
}

/* ------------------------------------------------------------- opposite orders */

static void check_orders(void *const *state, unsigned flags)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct couple couple;

        begin(&couple, seed, state, flags);
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct hold *bids[2] = {&couple.sides[0].bid, &couple.sides[1].bid};
            ask(&couple.sides[round % 2], UVZK_WAIT_FOREVER);
            world_steps(&couple.world, round);
            ask(&couple.sides[1 - round % 2], UVZK_WAIT_FOREVER);
            for (int i = 0; i < 3000 && bids[0]->answered + bids[1]->answered == 0; i++) {
                world_run_for(&couple.world, 1);
            }
            int first = bids[0]->answered ? 0 : 1;
            assert_int_equal(bids[first]->status, 0);
            world_run_for(&couple.world, 300);
            assert_int_equal(bids[1 - first]->answered, 0);
            hold_give_back(bids[first]);
            hold_await(bids[1 - first], 3000);
            hold_give_back(bids[1 - first]);
        }
        assert_int_equal(errors, 0);
        end(&couple);
    }
}

static void opposite_orders_never_deadlock_at_once(void **state)
{
    check_orders(state, 0);
}

static void opposite_orders_never_deadlock_in_turn(void **state)
{
    check_orders(state, UVZK_MULTILOCK_IN_TURN);
}

/* ----------------------------------------------------------------- one deadline */

/* Each member becomes free after 700 ms more; there are 1000 for all of them. */
static void check_deadline(void *const *state, unsigned flags)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct couple couple;
        struct hold held[MEMBERS] = {0};
        struct side *side, *other;

        begin(&couple, seed, state, flags);
        side = &couple.sides[0];
        other = &couple.sides[1];
        for (int i = 0; i < MEMBERS; i++) {
            hold_take_on(&held[i], &other->process, &other->members[i], 1);
        }
        uint64_t due_ms = world_now(&couple.world) + 1000;
        ask(side, 1000);
        for (int i = 0; i < MEMBERS; i++) {
            world_run_for(&couple.world, 700);
            hold_give_back(&held[i]);
        }
        assert_int_equal(side->bid.answered, 1);
        assert_int_equal(side->bid.status, UV_ETIMEDOUT);
        assert_in_range(side->bid.answered_ms, due_ms, due_ms + 8);
        end(&couple);
    }
}

static void one_deadline_is_for_all_at_once(void **state)
{
    check_deadline(state, 0);
}

static void one_deadline_is_for_all_in_turn(void **state)
{
    check_deadline(state, UVZK_MULTILOCK_IN_TURN);
}

/* ------------------------------------------------------------ the first failure */

/* The first member's create is refused: nothing is ever made for the others, of whom
 * the last is somebody else's, and would be waited for. */
static void the_first_failure_ends_it(void **state)
{
    const unsigned ways[2] = {0, UVZK_MULTILOCK_IN_TURN};

    for (unsigned way = 0; way < 2; way++) {
        struct couple couple;
        struct hold warm[2] = {0}, held = {0};
        struct side *side, *other;

        begin(&couple, way, state, ways[way]);
        side = &couple.sides[0];
        other = &couple.sides[1];
        for (int i = 0; i < 2; i++) { /* so that the directories are there */
            hold_take_on(&warm[i], &side->process, &side->members[i], 1);
            hold_give_back(&warm[i]);
        }
        hold_take_on(&held, &other->process, &other->members[2], 1);
        size_t from = couple.world.line_count;
        sim_refuse(couple.world.sim, way == 0 ? UVZK__RPC_MULTI : UVZK__RPC_CREATE,
                   UVZK_ENOAUTH, 1);
        ask(side, UVZK_WAIT_FOREVER);
        hold_await_status(&side->bid, 1000, UVZK_ENOAUTH);
        world_run_for(&couple.world, 1000);
        assert_int_equal(world_count(&couple.world, from, "a", "create ->"), way);
        assert_int_equal(world_count(&couple.world, from, "a", "multi ->"), 1 - way);
        assert_int_equal(nodes(&couple, 0) + nodes(&couple, 1), 0);
        hold_give_back(&held);
        end(&couple);
    }
}

/* A member is lost while all are held: the whole is, and the others are given back. */
static void the_loss_of_one_is_the_loss_of_all(void **state)
{
    for (int member = 0; member < MEMBERS; member++) {
        for (unsigned flags = 0; flags <= UVZK_MULTILOCK_IN_TURN; flags++) {
            struct couple couple;
            struct side *side;

            begin(&couple, (uint64_t)member, state, flags);
            side = &couple.sides[0];
            ask(side, UVZK_WAIT_FOREVER);
            hold_await(&side->bid, 1000);
            ask(&couple.sides[1], UVZK_WAIT_FOREVER);
            world_run_for(&couple.world, 500);
            assert_int_equal(sim_delete_by_hand(couple.world.sim,
                                                uvzk_hold_lease_path(&side->bid.request,
                                                                     (uint32_t)member)),
                             0);
            assert_true(world_await(&couple.world, &side->bid.lost, 5000));
            assert_int_equal(side->bid.reason, UVZK_EDELETED);
            assert_int_equal(errors, 1);
            hold_await(&couple.sides[1].bid, 1000);
            hold_give_back(&couple.sides[1].bid);
            end(&couple);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(opposite_orders_never_deadlock_at_once),
        WORLD_TEST(opposite_orders_never_deadlock_in_turn),
        WORLD_TEST(one_deadline_is_for_all_at_once),
        WORLD_TEST(one_deadline_is_for_all_in_turn),
        WORLD_TEST(the_first_failure_ends_it),
        WORLD_TEST(the_loss_of_one_is_the_loss_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
