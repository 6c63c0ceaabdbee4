/* SPDX-License-Identifier: Apache-2.0 */
/* Curator grants a read lock to whoever has the write lock by its own books, although the
 * session may be gone, and somebody else hold the write lock. Here the znode of the write
 * hold is checked in the same transaction that makes the read lock's. */
#include "world.h"

#define PATH "/rw"
#define STEPS 40U

static struct world world;
static struct process a, b;
static struct hold writing, reading, next; /* the last is B's */

static void never_both(struct world *at)
{
    (void)at;
    assert_false(uvzk_hold_is_valid(&reading.request) &&
                 uvzk_hold_is_valid(&next.request));
}

/* B waits for A's write lock. */
static void begin(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&writing, &a, &a.rwlock.write, &a);
    hold_await(&writing, 1000);
    assert_true(process_await_connected(&b, 1000));
    hold_begin_on_for(&next, &b, &b.rwlock.write, NULL);
    world_run_for(&world, 500);
    assert_int_equal(next.answered, 0);
    world.each_ms = never_both;
}

/* A asks for the read lock, as the owner of the write lock. */
static void downgrade(void)
{
    hold_begin_on_for(&reading, &a, &a.rwlock.read, &a);
}

/* B writes, never beside A's reading. */
static void end(void)
{
    if (hold_holds(&reading)) {
        assert_int_equal(next.answered, 0);
        hold_give_back(&reading);
    }
    hold_await(&next, 3000);
    world_run_for(&world, 500);
    assert_false(hold_holds(&reading));
    hold_give_back(&next);
    hold_finish(&reading, WORLD_TIMEOUT_MS);
    world_end(&world);
}

/* The session is ended by the servers, and A, which has not heard of it, asks for the
 * read lock: now, and at every later moment of its way to learning it. */
static void its_session_is_gone(uint64_t steps, void *const *state)
{
    begin(steps, state);
    process_expire(&a);
    int64_t session = sim_session_id(a.port);
    world_steps(&world, steps);
    downgrade();
    hold_await(&next, 3000);
    world_run_for(&world, 3000);
    assert_int_equal(writing.lost, 1);
    assert_true(sim_session_id(a.port) != session);
    if (reading.answered) { /* it began before the loss was known */
        assert_int_equal(reading.status, UVZK_EEXPIRED);
    }
    end();
}

/* Somebody deletes its znode, and then the read lock is asked for: it is an ordinary one,
 * behind the writer that waits already. */
static void its_znode_is_deleted(uint64_t steps, void *const *state)
{
    begin(steps, state);
    assert_int_equal(sim_delete_by_hand(world.sim, writing.path), 0);
    world_steps(&world, steps);
    downgrade();
    hold_await(&next, 1000);
    world_run_for(&world, 500);
    assert_int_equal(writing.lost, 1);
    assert_int_equal(reading.answered, 0);
    end();
}

/* The read lock is asked for, and meanwhile somebody deletes the znode: the one or the
 * other came first, and never do both of them hold. */
static void its_znode_is_deleted_meanwhile(uint64_t steps, void *const *state)
{
    begin(steps, state);
    downgrade();
    world_steps(&world, steps);
    assert_int_equal(sim_delete_by_hand(world.sim, writing.path), 0);
    world_run_for(&world, 3000);
    assert_int_equal(writing.lost, 1);
    assert_true(hold_holds(&reading) != hold_holds(&next));
    end();
}

/* The hold can no longer be proved, because nothing is heard of the servers: nobody
 * reads under it, before its end and after. */
static void its_hold_has_run_out(uint64_t seed, void *const *state)
{
    begin(seed, state);
    sim_disconnect(a.port, SIM_SILENT, 3 * WORLD_TIMEOUT_MS / 2);
    world_run_for(&world, seed * WORLD_TIMEOUT_MS / 7);
    downgrade();
    hold_await(&next, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(writing.lost, 1);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_false(hold_holds(&reading));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(its_session_is_gone, 0, STEPS - 1),
        WORLD_SCENARIO(its_znode_is_deleted, 0, STEPS - 1),
        WORLD_SCENARIO(its_znode_is_deleted_meanwhile, 0, STEPS - 1),
        WORLD_SCENARIO(its_hold_has_run_out, 0, 7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
