/* SPDX-License-Identifier: Apache-2.0 */
/* Futures over the simulator: what becomes of each call, and of several together; given
 * up, out of time and dropped in any order, they leave nothing behind. */
#include "cmocka_test.h"

#include <string.h>

#include "failing_allocator.h"
#include "world.h"

#define LOCKS 5
#define PATIENCE 60000

/* One who waits for a future. */
struct waiter {
    int calls, status, turn;
    uvzk_future_t *future;
    bool drops; /* the future, in its callback */
};

static struct world world;
static struct process a, b;
static uvzk_client_t *const client = &a.client;
static uvzk_mutex_t ours[LOCKS], theirs[LOCKS];
static uvzk_future_t parts[LOCKS], whole, other;
static int turns, lost, lost_reason;

/* ---------------------------------------------------------- beginning and end */

static void begin(void)
{
    char path[16];

    memset(ours, 0, sizeof(ours));
    memset(theirs, 0, sizeof(theirs));
    memset(parts, 0, sizeof(parts));
    memset(&whole, 0, sizeof(whole));
    memset(&other, 0, sizeof(other));
    turns = lost = 0;
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(path, sizeof(path), "/f/%d", i);
        assert_int_equal(uvzk_mutex_init(client, &ours[i], path), 0);
        assert_int_equal(uvzk_mutex_init(&b.client, &theirs[i], path), 0);
    }
    world_run_for(&world, 100);
}

static size_t znodes(int lock)
{
    char path[16];

    (void)snprintf(path, sizeof(path), "/f/%d", lock);
    return world_children(&world, path);
}

/* All futures have been dropped, or are here; nothing is left of them. */
static void end(void)
{
    for (int i = 0; i < LOCKS; i++) {
        uvzk_future_drop(&parts[i]);
    }
    uvzk_future_drop(&whole);
    uvzk_future_drop(&other);
    world_release_all(&world);
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(znodes(i), 0);
    }
    world_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
}

static void on_done(uvzk_future_t *future, int status, void *context)
{
    struct waiter *waiter = context;

    assert_ptr_equal(future, waiter->future);
    assert_int_equal(uvzk_future_status(future), status);
    waiter->calls++;
    waiter->status = status;
    waiter->turn = ++turns;
    if (waiter->drops) {
        uvzk_future_drop(future);
    }
}

static void wait_for(struct waiter *waiter, uvzk_future_t *future)
{
    memset(waiter, 0, sizeof(*waiter));
    waiter->future = future;
    waiter->status = HOLD_NO_STATUS;
    assert_int_equal(uvzk_future_then(future, on_done, waiter), 0);
    assert_int_equal(waiter->calls, 0); /* never from inside the call */
}

static void await_call(const struct waiter *waiter, int status)
{
    assert_true(world_await(&world, &waiter->calls, PATIENCE));
    assert_int_equal(waiter->status, status);
}

/* Runs until it is done; with which status. */
static int outcome(uvzk_future_t *future)
{
    struct waiter waiter;

    wait_for(&waiter, future);
    assert_true(world_await(&world, &waiter.calls, PATIENCE));
    world_run_for(&world, 5);
    assert_int_equal(waiter.calls, 1);
    return waiter.status;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    lost++;
    lost_reason = reason;
}

static void acquire(int lock)
{
    assert_int_equal(uvzk_lock_acquire_future(&ours[lock], &parts[lock], NULL, on_lost),
                     0);
}

static void take(int lock)
{
    acquire(lock);
    assert_int_equal(outcome(&parts[lock]), 0);
}

/* Somebody else's hold of a lock. */
static void others_take(uvzk_future_t *future, int lock)
{
    assert_int_equal(uvzk_lock_acquire_future(&theirs[lock], future, NULL, on_lost), 0);
    assert_int_equal(outcome(future), 0);
}

/* Its znode is deleted by somebody else. */
static void lose(int lock)
{
    const uvzk_hold_t *hold = uvzk_future_hold(&parts[lock]);

    world.holder_deleted = true;
    assert_int_equal(sim_delete_by_hand(world.sim, uvzk_hold_path(hold)), 0);
}

static void acquire_all(void)
{
    for (int i = 0; i < LOCKS; i++) {
        acquire(i);
    }
}

/* So many of our contenders are left when what was given up has gone. */
static void expect_contenders(uint64_t count)
{
    world_run_for(&world, 200);
    assert_int_equal(process_contenders(&a), count);
}

/* of the futures of all locks */
static int combine(size_t n)
{
    uvzk_future_t *all[LOCKS];

    for (int i = 0; i < LOCKS; i++) {
        all[i] = &parts[i];
    }
    return uvzk_future_n_of(&whole, all, LOCKS, n);
}

/* ----------------------------------------------------------------- one acquire */

static void test_an_acquire(void **state)
{
    struct waiter waiters[3], late;
    (void)state;

    begin();
    acquire(0);
    assert_int_equal(uvzk_future_status(&parts[0]), UV_EAGAIN);
    assert_null(uvzk_future_hold(&parts[0]));
    for (int i = 0; i < 3; i++) {
        wait_for(&waiters[i], &parts[0]);
    }
    assert_int_equal(uvzk_future_deadline(&parts[0], 500), 0);
    assert_true(world_await(&world, &waiters[2].calls, PATIENCE));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waiters[i].calls, 1);
        assert_int_equal(waiters[i].status, 0);
        assert_int_equal(waiters[i].turn, i + 1);
    }
    uvzk_hold_t *hold = uvzk_future_hold(&parts[0]);
    assert_non_null(hold);
    assert_ptr_equal(hold->data, &parts[0]);
    assert_true(uvzk_hold_is_valid(hold));
    assert_int_equal(uvzk_future_cancel(&parts[0]), UVZK_ESTATE); /* done */
    world_run_for(&world, 1000); /* the deadline was that of the wait */
    assert_true(uvzk_hold_is_valid(hold));
    wait_for(&late, &parts[0]);
    await_call(&late, 0);
    assert_int_equal(uvzk_hold_release(hold, NULL), 0);
    assert_int_equal(uvzk_future_end(&other, hold), 0);
    assert_null(uvzk_future_hold(&parts[0]));
    assert_int_equal(outcome(&other), 0);
    assert_int_equal(znodes(0), 0);
    assert_int_equal(uvzk_future_status(&parts[0]), 0);
    end();
}

static void test_given_up(void **state)
{
    struct waiter waiter, second;
    (void)state;

    begin();
    others_take(&other, 0);
    acquire(0);
    wait_for(&waiter, &parts[0]);
    world_run_for(&world, 100);
    assert_int_equal(znodes(0), 2);
    assert_int_equal(uvzk_future_cancel(&parts[0]), 0);
    assert_int_equal(uvzk_future_status(&parts[0]), UV_ECANCELED);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(uvzk_future_cancel(&parts[0]), UVZK_ESTATE);
    await_call(&waiter, UV_ECANCELED);
    world_run_for(&world, 100);
    assert_int_equal(znodes(0), 1);
    uvzk_future_drop(&parts[0]);

    acquire(0); /* the same memory */
    wait_for(&waiter, &parts[0]);
    assert_int_equal(uvzk_future_deadline(&parts[0], 5), 0);
    assert_int_equal(uvzk_future_deadline(&parts[0], 200), 0); /* instead */
    world_run_for(&world, 150);
    assert_int_equal(waiter.calls, 0);
    assert_true(world_await(&world, &waiter.calls, 100));
    assert_int_equal(waiter.status, UV_ETIMEDOUT);
    assert_int_equal(uvzk_future_deadline(&parts[0], 5), UVZK_ESTATE);

    acquire(1);
    wait_for(&second, &parts[1]);
    uvzk_future_drop(&parts[1]);
    assert_int_equal(uvzk_future_status(&parts[1]), UVZK_ESTATE);
    world_run_for(&world, 500);
    assert_int_equal(second.calls, 0);
    assert_int_equal(znodes(1), 0);
    end();
}

/* Granted, and told in the same turn: a hold nobody has seen is given back. */
static void test_dropped_at_every_step(void **state)
{
    struct waiter waiter;
    bool told = false;
    (void)state;

    for (int steps = 0; !told; steps++) {
        begin();
        acquire(0);
        wait_for(&waiter, &parts[0]);
        world_steps(&world, (uint64_t)steps);
        told = waiter.calls > 0;
        uvzk_future_drop(&parts[0]);
        world_run_for(&world, 1000);
        assert_int_equal(waiter.calls, told);
        assert_int_equal(znodes(0), 0);
        assert_int_equal(process_contenders(&a), 0);
        assert_int_equal(lost, 0);
        end();
    }
}

static int released_calls, released_status;

static void on_released(uvzk_hold_t *hold, int status)
{
    assert_null(hold->impl);
    released_calls++;
    released_status = status;
}

/* Whoever has begun a release knows the hold until it is told. */
static void test_dropped_while_it_is_released(void **state)
{
    (void)state;

    begin();
    released_calls = 0;
    take(0);
    take(1);
    assert_int_equal(uvzk_hold_release(uvzk_future_hold(&parts[0]), on_released), 0);
    uvzk_future_drop(&parts[0]);
    assert_true(world_await(&world, &released_calls, PATIENCE));
    assert_int_equal(released_status, 0);
    uvzk_hold_t *hold = uvzk_future_hold(&parts[1]);
    assert_int_equal(uvzk_hold_release(hold, NULL), 0);
    assert_int_equal(uvzk_future_end(&other, hold), 0);
    uvzk_future_drop(&parts[1]);
    assert_int_equal(outcome(&other), 0);
    take(2);
    assert_int_equal(uvzk_hold_release(uvzk_future_hold(&parts[2]), on_released), 0);
    assert_true(world_await_count(&world, &released_calls, 2, PATIENCE));
    uvzk_future_drop(&parts[2]); /* nothing is left to give back */
    end();
}

static void test_dropped_in_its_callback(void **state)
{
    struct waiter first, second;
    (void)state;

    begin();
    acquire(0);
    wait_for(&first, &parts[0]);
    first.drops = true;
    wait_for(&second, &parts[0]);
    await_call(&first, 0);
    world_run_for(&world, 100);
    assert_int_equal(second.calls, 0);
    assert_int_equal(znodes(0), 0);
    end();
}

static void test_a_lost_hold(void **state)
{
    (void)state;

    begin();
    take(0);
    lose(0);
    assert_true(world_await(&world, &lost, PATIENCE));
    assert_int_equal(lost_reason, UVZK_EDELETED);
    assert_null(uvzk_future_hold(&parts[0]));
    assert_int_equal(uvzk_future_status(&parts[0]), 0);
    end();
}

/* ------------------------------------------------------------------- of several */

static void test_three_of_five(void **state)
{
    struct waiter waiter;
    uvzk_future_t held[2] = {{0}, {0}};
    (void)state;

    begin();
    others_take(&held[0], 1);
    others_take(&held[1], 3);
    acquire_all();
    assert_int_equal(combine(3), 0);
    wait_for(&waiter, &whole);
    assert_int_equal(uvzk_future_status(&whole), UV_EAGAIN);
    assert_int_equal(uvzk_future_winner(&whole, 0), SIZE_MAX);
    await_call(&waiter, 0);
    for (size_t place = 0; place < 3; place++) {
        assert_int_equal(uvzk_future_winner(&whole, place), 2 * place); /* 0 2 4 */
        assert_non_null(uvzk_future_hold(&parts[2 * place]));
    }
    assert_int_equal(uvzk_future_winner(&whole, 3), SIZE_MAX);
    assert_int_equal(uvzk_future_status(&parts[1]), UV_ECANCELED);
    assert_int_equal(uvzk_future_status(&parts[3]), UV_ECANCELED);
    expect_contenders(3);
    uvzk_future_drop(&whole); /* the winners stay */
    assert_non_null(uvzk_future_hold(&parts[0]));
    uvzk_future_drop(&held[0]);
    uvzk_future_drop(&held[1]);
    end();
}

static void test_all_or_nothing(void **state)
{
    (void)state;

    begin();
    others_take(&other, 4);
    acquire_all();
    assert_int_equal(uvzk_future_deadline(&parts[4], 500), 0);
    assert_int_equal(combine(LOCKS), 0);
    world_run_for(&world, 300);
    assert_non_null(uvzk_future_hold(&parts[0])); /* for the time being */
    assert_int_equal(outcome(&whole), UV_ETIMEDOUT);
    world_run_for(&world, 100);
    for (int i = 0; i < LOCKS; i++) {
        assert_null(uvzk_future_hold(&parts[i]));
        assert_int_equal(znodes(i), i == 4);
    }
    assert_int_equal(lost, 0);
    end();
}

static void test_two_come_at_once(void **state)
{
    (void)state;

    begin();
    acquire_all();
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(outcome(&parts[i]), 0);
    }
    assert_int_equal(combine(2), 0); /* all are done already */
    assert_int_equal(uvzk_future_status(&whole), 0);
    assert_int_equal(outcome(&whole), 0);
    expect_contenders(2);
    assert_int_equal(uvzk_future_winner(&whole, 1), 1);
    end();
}

/* A combination is given up with all its parts; a part's end counts. */
static void test_combinations_are_given_up(void **state)
{
    (void)state;

    for (int how = 0; how < 4; how++) {
        begin();
        others_take(&other, 4);
        acquire_all();
        assert_int_equal(combine(LOCKS), 0);
        world_run_for(&world, 200);
        if (how == 0) {
            assert_int_equal(uvzk_future_cancel(&whole), 0);
            assert_int_equal(outcome(&whole), UV_ECANCELED);
        } else if (how == 1) {
            uvzk_future_drop(&whole);
        } else if (how == 2) {
            uvzk_future_drop(&parts[0]); /* it was held */
            assert_int_equal(outcome(&whole), UV_ECANCELED);
        } else {
            lose(0);
            assert_int_equal(outcome(&whole), UVZK_EDELETED);
        }
        expect_contenders(0);
        assert_int_equal(lost, how == 3);
        end();
    }
}

/* (0 or 1) and (2 and 3); then 4 is not to be had, and all go. */
static void test_combinations_of_combinations(void **state)
{
    uvzk_future_t either = {0}, both = {0}, spare = {0};
    uvzk_future_t *const first[] = {&parts[0], &parts[1]};
    uvzk_future_t *const second[] = {&parts[2], &parts[3]};
    uvzk_future_t *const everything[] = {&either, &both, &parts[4]};
    (void)state;

    begin();
    others_take(&other, 4);
    acquire_all();
    assert_int_equal(uvzk_future_any_of(&either, first, 2), 0);
    assert_int_equal(uvzk_future_all_of(&both, second, 2), 0);
    assert_int_equal(uvzk_future_all_of(&whole, everything, 3), 0);
    assert_int_equal(outcome(&either), 0);
    assert_int_equal(outcome(&both), 0);
    assert_int_equal(uvzk_future_any_of(&spare, first, 2), UV_EBUSY);
    expect_contenders(4);
    assert_int_equal(uvzk_future_cancel(&parts[4]), 0);
    assert_int_equal(outcome(&whole), UV_ECANCELED);
    expect_contenders(0);
    uvzk_future_drop(&either);
    uvzk_future_drop(&both);
    end();
}

/* What has been done with 0 and lost again is not what it was. */
static void test_a_winner_may_be_combined_again(void **state)
{
    uvzk_future_t *const first[] = {&parts[0], &parts[1]};
    (void)state;

    begin();
    acquire(0);
    acquire(1);
    assert_int_equal(uvzk_future_all_of(&whole, first, 2), 0);
    assert_int_equal(outcome(&whole), 0);
    assert_int_equal(uvzk_future_any_of(&other, first, 2), 0);
    assert_int_equal(outcome(&other), 0);
    expect_contenders(1);
    uvzk_future_drop(&other);
    assert_int_equal(uvzk_future_all_of(&other, first, 2), 0); /* 1 was given up */
    assert_int_equal(outcome(&other), UVZK_ENOTHELD);
    expect_contenders(0);
    end();
}

/* 0 and 2 are there, 0 is lost; with 3 and 4 there are three. */
static void test_a_lost_winner_has_no_place(void **state)
{
    uvzk_future_t held[LOCKS];
    (void)state;

    begin();
    memset(held, 0, sizeof(held));
    others_take(&held[1], 1);
    others_take(&held[3], 3);
    others_take(&held[4], 4);
    acquire_all();
    assert_int_equal(combine(3), 0);
    world_run_for(&world, 200);
    lose(0);
    assert_true(world_await(&world, &lost, PATIENCE));
    uvzk_future_drop(&held[3]);
    uvzk_future_drop(&held[4]);
    assert_int_equal(outcome(&whole), 0);
    for (size_t place = 0; place < 3; place++) {
        assert_int_equal(uvzk_future_winner(&whole, place), 2 + place);
    }
    uvzk_future_drop(&held[1]);
    end();
}

/* Either of 0 and 1, and 4: what the inner one had won is lost before 4 comes. */
static void test_a_winner_is_lost_below(void **state)
{
    uvzk_future_t either = {0};
    uvzk_future_t *const first[] = {&parts[0], &parts[1]};
    uvzk_future_t *const both[] = {&either, &parts[4]};
    (void)state;

    begin();
    others_take(&other, 4);
    take(0);
    acquire(1);
    acquire(4);
    assert_int_equal(uvzk_future_any_of(&either, first, 2), 0);
    assert_int_equal(uvzk_future_all_of(&whole, both, 2), 0);
    world_run_for(&world, 200);
    assert_int_equal(uvzk_future_status(&either), 0);
    lose(0);
    assert_int_equal(outcome(&whole), UVZK_EDELETED);
    expect_contenders(0);
    uvzk_future_drop(&either);
    end();
}

static void test_refuses_bad_combinations(void **state)
{
    uvzk_future_t alien = {0}, deep[70];
    uvzk_future_t *twice[] = {&parts[0], &parts[0]};
    uvzk_future_t *foreign_nodes[] = {&parts[0], &alien};
    uvzk_future_t *unused[] = {&parts[0], &parts[1]};
    uvzk_future_t *null[] = {&parts[0], NULL};
    uvzk_future_t *one[] = {&parts[0]};
    (void)state;

    begin();
    memset(deep, 0, sizeof(deep));
    acquire(0);
    others_take(&alien, 1);
    assert_int_equal(uvzk_future_any_of(&whole, NULL, 1), UV_EINVAL);
    assert_int_equal(uvzk_future_all_of(&whole, one, 0), UV_EINVAL);
    assert_int_equal(uvzk_future_n_of(&whole, one, 1, 2), UV_EINVAL);
    assert_int_equal(uvzk_future_n_of(&whole, one, 1, 0), UV_EINVAL);
    assert_int_equal(uvzk_future_any_of(NULL, one, 1), UV_EINVAL);
    assert_int_equal(uvzk_future_any_of(&whole, null, 2), UV_EINVAL);
    assert_int_equal(uvzk_future_any_of(&whole, twice, 2), UV_EBUSY);
    assert_int_equal(uvzk_future_any_of(&whole, foreign_nodes, 2), UV_EINVAL);
    assert_int_equal(uvzk_future_any_of(&whole, unused, 2), UVZK_ESTATE);
    assert_int_equal(uvzk_future_any_of(&parts[0], one, 1), UV_EBUSY);
    int depth = 0, status = 0;
    while (status == 0) {
        status = uvzk_future_all_of(&deep[depth], one, 1);
        one[0] = &deep[depth];
        depth += status == 0;
    }
    assert_int_equal(depth, 64);
    assert_int_equal(status, UV_EINVAL);
    assert_int_equal(outcome(&deep[63]), 0);
    for (int i = 0; i < depth; i++) {
        uvzk_future_drop(&deep[i]);
    }
    uvzk_future_drop(&alien);
    end();
}

/* ---------------------------------------------------------------- other calls */

static void check_bytes(const char *expected)
{
    const void *data;
    size_t length;

    assert_int_equal(outcome(&other), 0);
    assert_int_equal(uvzk_future_status(&other), 0);
    data = uvzk_future_req(&other)->result->data;
    length = uvzk_future_req(&other)->result->length;
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(data, expected, length);
    uvzk_future_drop(&other);
}

static void check_stat_of_persistent(void)
{
    uvzk_stat_t stat = {0};

    assert_int_equal(uvzk_future_status(&other), 0);
    stat = *uvzk_future_req(&other)->result->stat;
    assert_int_equal(stat.size, sizeof(stat));
    assert_int_equal(stat.session_id, 0);
    assert_true(stat.czxid > 0);
}

static void test_what_is_done_with_a_hold(void **state)
{
    const uvzk_write_op_t ops[] = {{.kind = UVZK_WRITE_CREATE,
                                    .version = -1,
                                    .path = "/written",
                                    .data = "x",
                                    .data_length = 1}};
    const char *const *paths;
    size_t count, holding;
    uvzk_stat_t stat;
    (void)state;

    begin();
    take(0);
    uvzk_hold_t *hold = uvzk_future_hold(&parts[0]);
    assert_int_equal(
        uvzk_hold_verify(hold, uvzk_future_req(&other), uvzk_future_complete), 0);
    assert_int_equal(outcome(&other), 0);
    uvzk_future_drop(&other);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            uvzk_hold_write(hold, uvzk_future_req(&other), ops, 1, uvzk_future_complete),
            0);
        assert_null(uvzk_future_req(&other)->result);
        assert_int_equal(outcome(&other), i == 0 ? 0 : UVZK_ENODEEXISTS);
        assert_int_equal(uvzk_future_req(&other)->result->failed_op,
                         i == 0 ? SIZE_MAX : 0);
        assert_null(uvzk_future_req(&other)->result->data);
        uvzk_future_drop(&other);
    }
    assert_int_equal(uvzk_client_read(client, uvzk_future_req(&other), "/written",
                                      uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&other), 0);
    check_stat_of_persistent();
    check_bytes("x");
    assert_int_equal(
        uvzk_lock_participants(&theirs[0], uvzk_future_req(&other), uvzk_future_complete),
        0);
    assert_null(uvzk_future_req(&other)->result);
    assert_int_equal(outcome(&other), 0);
    paths = uvzk_future_req(&other)->result->paths;
    count = uvzk_future_req(&other)->result->count;
    holding = uvzk_future_req(&other)->result->holding;
    assert_int_equal(count, 1);
    assert_int_equal(holding, 1);
    assert_string_equal(paths[0], uvzk_hold_path(hold));
    uvzk_future_drop(&other);
    assert_int_equal(uvzk_client_revoke(client, uvzk_future_req(&other),
                                        uvzk_hold_path(hold), uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&other), 0);
    uvzk_future_drop(&other);
    assert_int_equal(uvzk_client_read(client, uvzk_future_req(&other),
                                      uvzk_hold_path(hold), uvzk_future_complete),
                     0);
    assert_null(uvzk_future_req(&other)->result); /* not yet */
    assert_int_equal(outcome(&other), 0);
    assert_int_equal(uvzk_future_status(&other), 0);
    stat = *uvzk_future_req(&other)->result->stat;
    assert_int_equal(stat.czxid, uvzk_hold_token(hold));
    assert_int_equal(stat.session_id, uvzk_client_session_id(client));
    check_bytes("__REVOKE__");
    assert_int_equal(uvzk_client_read(client, uvzk_future_req(&other), "/nowhere",
                                      uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&other), UVZK_ENONODE);
    assert_null(uvzk_future_req(&other)->result->stat);
    uvzk_future_drop(&other);
    end();
}

static uvzk_locker_t *working;
static int worked;

static void on_locked(uvzk_locker_t *locker)
{
    assert_ptr_equal(locker->data, &other);
    working = locker;
    worked++;
}

static void test_a_locker(void **state)
{
    (void)state;

    begin();
    worked = 0;
    assert_int_equal(uvzk_lock_run_future(&ours[0], &other, NULL, on_locked), 0);
    assert_true(world_await(&world, &worked, PATIENCE));
    assert_int_equal(uvzk_future_status(&other), UV_EAGAIN);
    assert_int_equal(uvzk_locker_done(working), 0);
    assert_int_equal(outcome(&other), 0);
    uvzk_future_drop(&other);

    assert_int_equal(uvzk_lock_run_future(&ours[0], &other, NULL, on_locked), 0);
    assert_true(world_await_count(&world, &worked, 2, PATIENCE));
    uvzk_future_drop(&other); /* the work goes on */
    world_run_for(&world, 100);
    assert_int_equal(znodes(0), 1);
    assert_int_equal(uvzk_locker_done(working), 0);
    assert_int_equal(uvzk_lock_run_future(&ours[0], &other, NULL, on_locked), 0);
    assert_int_equal(uvzk_future_cancel(&other), 0);
    world_run_for(&world, 100);
    assert_int_equal(worked, 2);
    assert_int_equal(znodes(0), 0);
    end();
}

static void test_values(void **state)
{
    uvzk_shared_value_t value = {0};
    uvzk_shared_count_t count = {0};
    uvzk_value_version_t version;
    int32_t number;
    (void)state;

    begin();
    assert_int_equal(uvzk_shared_value_init(client, &value, "/value", "a", 1, NULL), 0);
    assert_int_equal(uvzk_shared_count_init(client, &count, "/count", 7, NULL), 0);
    world_run_for(&world, 200);
    assert_int_equal(uvzk_shared_value_get(&value, NULL, NULL, &version), 0);
    assert_int_equal(uvzk_shared_value_set(&value, uvzk_future_req(&parts[0]), "b", 1,
                                           uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&parts[0]), 0);
    assert_int_equal(uvzk_shared_value_try_set(&value, uvzk_future_req(&parts[1]),
                                               &version, "c", 1, uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&parts[1]), UVZK_EBADVERSION);
    assert_int_equal(uvzk_shared_count_get(&count, NULL, &version), 0);
    assert_int_equal(uvzk_shared_count_try_set(&count, uvzk_future_req(&parts[2]),
                                               &version, 8, uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&parts[2]), 0);
    assert_int_equal(uvzk_shared_count_set(&count, uvzk_future_req(&parts[3]), 9,
                                           uvzk_future_complete),
                     0);
    assert_int_equal(outcome(&parts[3]), 0);
    assert_int_equal(uvzk_shared_count_get(&count, &number, NULL), 0);
    assert_int_equal(number, 9);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    assert_int_equal(uvzk_future_end(&whole, &value), 0);
    assert_int_equal(uvzk_shared_count_close(&count, NULL), 0);
    assert_int_equal(uvzk_future_end(&other, &count), 0);
    assert_int_equal(outcome(&whole), 0);
    assert_int_equal(outcome(&other), 0);
    assert_null(value.impl);
    assert_null(count.impl);
    end();
}

static void test_closing(void **state)
{
    struct waiter closed, refused;
    uvzk_future_t *const ends[] = {&whole};
    (void)state;

    begin();
    others_take(&other, 0);
    acquire(0); /* waits */
    take(1);
    assert_int_equal(uvzk_lock_close(&ours[2], NULL), 0);
    assert_int_equal(uvzk_future_end(&parts[2], &ours[2]), 0);
    assert_int_equal(outcome(&parts[2]), 0);
    assert_null(ours[2].impl);
    wait_for(&refused, &parts[0]);
    assert_int_equal(uvzk_client_close(client, NULL), 0);
    assert_int_equal(uvzk_future_end(&whole, client), 0);
    a.closing = true;
    wait_for(&closed, &whole);
    assert_int_equal(uvzk_future_any_of(&parts[3], ends, 1), UV_EINVAL);
    await_call(&closed, 0);
    a.closed = 1;
    a.port = NULL;
    assert_null(client->impl);
    assert_int_equal(refused.calls, 1);
    assert_int_equal(refused.status, UVZK_ECLOSED);
    assert_true(refused.turn < closed.turn);
    assert_int_equal(lost, 1); /* the one that was held */
    assert_int_equal(uvzk_future_status(&parts[0]), UVZK_ECLOSED);
    assert_int_equal(uvzk_future_then(&parts[0], on_done, &refused), UVZK_ECLOSED);
    assert_int_equal(uvzk_future_any_of(&parts[3], ends, 1), UVZK_ECLOSED);
    end();
}

static void on_leader(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    (void)election;
    (void)token;
    (void)valid_until;
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    (void)election;
    (void)reason;
}

/* The order in which the callback and the future of a release are told. */
static int told, future_told;

static void on_own_release(uvzk_hold_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, 0);
    assert_int_equal(future_told, 0);
    told++;
}

static void on_end(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    assert_int_equal(status, 0);
    assert_int_equal(told, 1);
    future_told++;
}

static void test_the_future_of_a_release(void **state)
{
    (void)state;

    begin();
    take(0);
    told = future_told = 0;
    uvzk_hold_t *hold = uvzk_future_hold(&parts[0]);
    assert_int_equal(uvzk_future_end(&other, hold), UVZK_ESTATE);
    assert_int_equal(uvzk_hold_release(hold, on_own_release), 0);
    assert_null(uvzk_future_hold(&parts[0]));
    assert_int_equal(uvzk_future_end(&other, NULL), UV_EINVAL);
    assert_int_equal(uvzk_future_end(NULL, hold), UV_EINVAL);
    assert_int_equal(uvzk_future_end(&other, hold), 0);
    assert_int_equal(uvzk_future_end(&whole, hold), UV_EBUSY);
    assert_int_equal(uvzk_future_end(&other, hold), UV_EBUSY);
    assert_int_equal(uvzk_future_then(&other, on_end, NULL), 0);
    assert_true(world_await(&world, &future_told, PATIENCE));
    uvzk_future_drop(&other);
    take(1); /* dropped before the release is done */
    hold = uvzk_future_hold(&parts[1]);
    assert_int_equal(uvzk_hold_release(hold, NULL), 0);
    assert_int_equal(uvzk_future_end(&other, hold), 0);
    uvzk_future_drop(&other);
    uvzk_future_drop(&parts[1]);
    world_run_for(&world, 1000);
    assert_int_equal(znodes(1), 0);
    end();
}

static void check_end(int status, void *handle)
{
    assert_int_equal(status, 0);
    assert_int_equal(uvzk_future_end(&other, handle), 0);
    assert_int_equal(outcome(&other), 0);
    assert_int_equal(uvzk_future_end(&whole, handle), UVZK_ESTATE);
    uvzk_future_drop(&other);
}

static void test_the_end_of_every_handle(void **state)
{
    static uvzk_rwlock_t both;
    static uvzk_barrier_t barrier;
    static uvzk_double_barrier_t members;
    static uvzk_atomic_long_t number;
    static uvzk_election_t election;
    static uvzk_persistent_node_t node;
    static uvzk_group_member_t member;
    uvzk_election_options_t options;
    (void)state;

    begin();
    assert_int_equal(uvzk_rwlock_init(client, &both, "/both"), 0);
    assert_int_equal(uvzk_barrier_init(client, &barrier, "/barrier"), 0);
    assert_int_equal(uvzk_double_barrier_init(client, &members, "/members", 2, NULL), 0);
    assert_int_equal(uvzk_atomic_long_init(client, &number, "/number", NULL), 0);
    uvzk_election_options_init(&options);
    options.leader_cb = on_leader;
    options.deposed_cb = on_deposed;
    assert_int_equal(uvzk_election_init(client, &election, "/election", &options), 0);
    assert_int_equal(uvzk_persistent_node_init(client, &node, "/node",
                                               UVZK_PERSISTENT_NODE_EPHEMERAL, NULL, 0,
                                               NULL),
                     0);
    assert_int_equal(
        uvzk_group_member_init(client, &member, "/group", "1", NULL, 0, NULL, NULL), 0);
    world_run_for(&world, 500);
    check_end(uvzk_lock_close(&both.read, NULL), &both.read);
    check_end(uvzk_lock_close(&both.write, NULL), &both.write);
    check_end(uvzk_barrier_close(&barrier, NULL), &barrier);
    check_end(uvzk_double_barrier_close(&members, NULL), &members);
    check_end(uvzk_atomic_long_close(&number, NULL), &number);
    check_end(uvzk_election_close(&election, UVZK_ELECTION_SILENT, NULL), &election);
    check_end(uvzk_persistent_node_close(&node, NULL), &node);
    check_end(uvzk_group_member_close(&member, NULL), &member);
    end();
}

static void ignore(uvzk_req_t *req, int status)
{
    (void)req;
    (void)status;
}

static int read_by(uvzk_future_t *future, const char *path, uvzk_req_cb cb)
{
    return uvzk_client_read(client, uvzk_future_req(future), path, cb);
}

static void test_the_request_of_a_future(void **state)
{
    uvzk_req_t *req;
    (void)state;

    begin();
    take(0);                       /* which makes /f/0 */
    req = uvzk_future_req(&other); /* and no call */
    assert_ptr_equal(uvzk_future_req(&other), req);
    assert_int_equal(uvzk_future_status(&other), UVZK_ESTATE);
    assert_int_equal(uvzk_future_then(&other, on_done, NULL), UVZK_ESTATE);
    uvzk_future_drop(&other);
    assert_null(other.impl);
    assert_int_equal(read_by(NULL, "/", uvzk_future_complete), UV_EINVAL);
    assert_int_equal(read_by(&other, "/", ignore), UV_EINVAL);
    assert_null(other.impl);
    assert_int_equal(read_by(&other, "nowhere", uvzk_future_complete), UVZK_EPATH);
    assert_null(other.impl);
    failing_allocator_arm(1, 1);
    assert_int_equal(read_by(&other, "/f/0", uvzk_future_complete), UV_ENOMEM);
    failing_allocator_arm(0, 0);
    assert_null(other.impl);
    assert_int_equal(read_by(&other, "/f/0", uvzk_future_complete), 0);
    assert_int_equal(read_by(&other, "/f/0", uvzk_future_complete), UV_EBUSY);
    assert_null(uvzk_future_req(&other)->result);
    assert_int_equal(outcome(&other), 0);
    const uvzk_result_t *found = uvzk_future_req(&other)->result;
    assert_true(found->stat->czxid > 0);
    assert_int_equal(read_by(&other, "/nowhere", uvzk_future_complete), UV_EBUSY);
    assert_ptr_equal(uvzk_future_req(&other)->result, found);
    uvzk_future_drop(&other);
    assert_int_equal(read_by(&other, "/f/0", uvzk_future_complete), 0);
    assert_int_equal(uvzk_future_cancel(&other), 0);
    world_run_for(&world, 1000);
    assert_null(uvzk_future_req(&other)->result);
    end();
}

/* ------------------------------------------------------------------- bad input */

static void test_refuses_bad_input(void **state)
{
    uvzk_mutex_t closed = {0};
    uvzk_hold_t nothing = {0};
    uvzk_future_t copy;
    (void)state;

    begin();
    assert_int_equal(uvzk_lock_acquire_future(&ours[0], NULL, NULL, on_lost), UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire_future(&ours[0], &other, NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire_future(NULL, &other, NULL, on_lost), UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire_future(&closed, &other, NULL, on_lost),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_hold_release(&nothing, NULL), UVZK_ENOTHELD);
    assert_int_equal(uvzk_client_read(client, uvzk_future_req(&other), "no path",
                                      uvzk_future_complete),
                     UVZK_EPATH);
    assert_null(other.impl);
    assert_int_equal(uvzk_future_status(&other), UVZK_ESTATE);
    assert_int_equal(uvzk_future_status(NULL), UV_EINVAL);
    assert_int_equal(uvzk_future_then(&other, on_done, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_future_cancel(&other), UVZK_ESTATE);
    assert_int_equal(uvzk_future_deadline(&other, 1), UVZK_ESTATE);
    uvzk_future_drop(&other);
    uvzk_future_drop(NULL);
    acquire(0);
    assert_int_equal(uvzk_lock_acquire_future(&ours[0], &parts[0], NULL, on_lost),
                     UV_EBUSY);
    assert_int_equal(uvzk_future_then(&parts[0], NULL, NULL), UV_EINVAL);
    copy = parts[0]; /* a copy is no future */
    assert_int_equal(uvzk_future_status(&copy), UVZK_ESTATE);
    uvzk_future_drop(&copy);
    assert_int_equal(outcome(&parts[0]), 0);
    end();
}

/* Everything that allocates, without memory at each of its allocations. */
static int try_all(struct waiter *waiter)
{
    uvzk_future_t *const all[] = {&parts[0], &parts[1]};
    int status = uvzk_lock_acquire_future(&ours[0], &parts[0], NULL, on_lost);

    if (status == 0) {
        status = uvzk_lock_acquire_future(&ours[1], &parts[1], NULL, on_lost);
    }
    if (status == 0) {
        status = uvzk_future_all_of(&whole, all, 2);
    }
    if (status == 0) {
        waiter->future = &whole;
        status = uvzk_future_then(&whole, on_done, waiter);
    }
    return status;
}

static void test_out_of_memory(void **state)
{
    int status = UV_ENOMEM;
    (void)state;

    for (uint64_t first = 1; status != 0; first++) {
        struct waiter waiter = {0};
        begin();
        failing_allocator_arm(first, 1);
        status = try_all(&waiter);
        failing_allocator_arm(0, 0);
        assert_true(status == 0 || status == UV_ENOMEM);
        world_run_for(&world, 200);
        assert_int_equal(waiter.calls, status == 0);
        end();
    }
}

/* The answer does not fit: of a read, and of a listing. */
static void test_answers_out_of_memory(void **state)
{
    (void)state;

    begin();
    take(0);
    for (int i = 0; i < 2; i++) {
        uvzk_hold_t *hold = uvzk_future_hold(&parts[0]);
        assert_int_equal(
            i == 0 ? uvzk_client_read(client, uvzk_future_req(&other),
                                      uvzk_hold_path(hold), uvzk_future_complete)
                   : uvzk_lock_participants(&ours[0], uvzk_future_req(&other),
                                            uvzk_future_complete),
            0);
        failing_allocator_arm(1, 1000);
        while (uvzk_future_status(&other) == UV_EAGAIN) {
            world_steps(&world, 1);
        }
        failing_allocator_arm(0, 0);
        assert_int_equal(uvzk_future_status(&other), UV_ENOMEM);
        uvzk_future_drop(&other);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_acquire),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_dropped_at_every_step),
        cmocka_unit_test(test_dropped_while_it_is_released),
        cmocka_unit_test(test_dropped_in_its_callback),
        cmocka_unit_test(test_a_lost_hold),
        cmocka_unit_test(test_three_of_five),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_two_come_at_once),
        cmocka_unit_test(test_combinations_are_given_up),
        cmocka_unit_test(test_combinations_of_combinations),
        cmocka_unit_test(test_a_winner_may_be_combined_again),
        cmocka_unit_test(test_a_lost_winner_has_no_place),
        cmocka_unit_test(test_a_winner_is_lost_below),
        cmocka_unit_test(test_refuses_bad_combinations),
        cmocka_unit_test(test_what_is_done_with_a_hold),
        cmocka_unit_test(test_a_locker),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_closing),
        cmocka_unit_test(test_the_future_of_a_release),
        cmocka_unit_test(test_the_end_of_every_handle),
        cmocka_unit_test(test_the_request_of_a_future),
        cmocka_unit_test(test_refuses_bad_input),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_answers_out_of_memory),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("futures", tests, NULL, NULL);
}
