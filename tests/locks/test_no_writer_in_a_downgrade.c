/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-276, CURATOR-621: a writer that waited already was granted while another one
 * downgraded, because the read lock's znode stood behind it. Here, from the grant of the
 * write lock to the release of the read lock, nobody else writes, at whatever moment
 * the one is asked for and the other given back. */
#include "world.h"

#define PATH "/rw"
#define STEPS 32U

static struct world world;
static struct process a, b;
static struct hold writing, reading; /* A's */
static struct hold next, later;      /* B's, who wants to write, and then to read */

static void begin(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&writing, &a, &a.rwlock.write, &a);
    hold_await(&writing, 1000);
    assert_true(process_await_connected(&b, 1000));
    hold_begin_on_for(&next, &b, &b.rwlock.write, NULL);
    hold_begin_on_for(&later, &b, &b.rwlock.read, NULL);
}

/* A asks for the read lock, as the owner of the write lock. */
static void downgrade(void)
{
    hold_begin_on_for(&reading, &a, &a.rwlock.read, &a);
}

/* When all of them have their places, A asks for the read lock, `steps` events ago. */
static void begin_downgrading(uint64_t steps, void *const *state)
{
    begin(steps, state);
    world_run_for(&world, 300);
    downgrade();
    world_steps(&world, steps);
}

static void run_for(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        world_run_for(&world, 1);
        assert_int_equal(next.answered, 0);
        assert_int_equal(later.answered, 0);
    }
}

static void end(void)
{
    assert_int_equal(writing.released, 1);
    assert_true(hold_holds(&reading));
    assert_true(reading.token == writing.token);
    hold_give_back(&reading);
    hold_acquire_release(&next, 3000);
    assert_true(next.token > writing.token);
    hold_acquire_release(&later, 3000);
    world_end(&world);
}

/* The write lock is given back so many events after the read lock was asked for, and
 * this so many after the others came to the queue. */
static void nobody_comes_in_between(void **state)
{
    for (uint64_t before = 0; before < STEPS; before += 3) {
        for (uint64_t between = 0; between < STEPS; between++) {
            begin(before + between, state);
            world_steps(&world, before);
            downgrade();
            world_steps(&world, between);
            hold_release(&writing);
            run_for(1500);
            end();
        }
    }
}

/* The connection is lost, with what was on its way; the write lock is given back as soon
 * as the read lock is granted, or during a second interruption. */
static void nor_in_an_interruption(uint64_t between, void *const *state)
{
    begin_downgrading(between, state);
    sim_disconnect(a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
    hold_await(&reading, WORLD_TIMEOUT_MS);
    assert_int_equal(next.answered, 0);
    hold_release(&writing);
    world_steps(&world, between % 5);
    sim_disconnect(a.port, between % 3 ? SIM_RESET : SIM_SILENT, 700);
    run_for(WORLD_TIMEOUT_MS);
    end();
}

/* Given back before the read lock is granted, in an interruption, the write lock may go
 * first; the reader is then an ordinary one. Never do the two of them hold. */
static void nobody_reads_beside_a_writer(uint64_t between, void *const *state)
{
    begin_downgrading(between, state);
    hold_release(&writing);
    sim_disconnect(a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
    for (unsigned i = 0; i < WORLD_TIMEOUT_MS; i++) {
        world_run_for(&world, 1);
        assert_false(hold_holds(&reading) && hold_holds(&next));
    }
    assert_true(hold_holds(&reading) || hold_holds(&next));
    if (hold_holds(&next)) {
        hold_give_back(&next);
        hold_await(&reading, 3000);
    }
    hold_give_back(&reading);
    hold_finish(&next, 3000);
    hold_finish(&later, 3000);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(nobody_comes_in_between),
        WORLD_SCENARIO(nor_in_an_interruption, 0, STEPS - 1),
        WORLD_SCENARIO(nobody_reads_beside_a_writer, 0, STEPS - 1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
