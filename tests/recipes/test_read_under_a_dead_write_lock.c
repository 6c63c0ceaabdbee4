/* Curator grants a read lock to whoever has the write lock by its own books, although the
 * session may be gone, and somebody else hold the write lock. Here the znode of the write
 * hold is checked in the same transaction that makes the read lock's. */
#include "writers.h"

#define STEPS 40U

/* B waits for A's write lock. */
static void begin(struct writers *writers, uint64_t seed, void *const *state)
{
    writers_begin(writers, seed, state);
    world_run_for(&writers->world, 500);
    assert_int_equal(writers->next.answered, 0);
}

static bool both_hold(const struct writers *writers)
{
    return uvzk_hold_is_valid(&writers->reading.request) &&
           uvzk_hold_is_valid(&writers->next.request);
}

static void run_for(struct writers *writers, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        world_run_for(&writers->world, 1);
        assert_false(both_hold(writers));
    }
}

/* B writes, never beside A's reading. */
static void end(struct writers *writers)
{
    if (hold_holds(&writers->reading)) {
        assert_int_equal(writers->next.answered, 0);
        hold_give_back(&writers->reading);
    }
    hold_await(&writers->next, 3000);
    run_for(writers, 500);
    assert_false(hold_holds(&writers->reading));
    hold_give_back(&writers->next);
    hold_finish(&writers->reading, WORLD_TIMEOUT_MS);
    world_end(&writers->world);
}

/* The session is ended by the servers, and A, which has not heard of it, asks for the
 * read lock: now, and at every later moment of its way to learning it. */
static void its_session_is_gone(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct writers writers;

        begin(&writers, steps, state);
        process_expire(&writers.a);
        int64_t session = sim_session_id(writers.a.port);
        world_steps(&writers.world, steps);
        writers_downgrade(&writers);
        hold_await(&writers.next, 3000);
        run_for(&writers, 3000);
        assert_int_equal(writers.writing.lost, 1);
        assert_true(sim_session_id(writers.a.port) != session);
        if (writers.reading.answered) { /* it began before the loss was known */
            assert_int_equal(writers.reading.status, UVZK_EEXPIRED);
        }
        end(&writers);
    }
}

/* Somebody deletes its znode, and then the read lock is asked for: it is an ordinary one,
 * behind the writer that waits already. */
static void its_znode_is_deleted(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct writers writers;

        begin(&writers, steps, state);
        assert_int_equal(sim_delete_by_hand(writers.world.sim, writers.writing.path), 0);
        world_steps(&writers.world, steps);
        writers_downgrade(&writers);
        hold_await(&writers.next, 1000);
        run_for(&writers, 500);
        assert_int_equal(writers.writing.lost, 1);
        assert_int_equal(writers.reading.answered, 0);
        end(&writers);
    }
}

/* The read lock is asked for, and meanwhile somebody deletes the znode: the one or the
 * other came first, and never do both of them hold. */
static void its_znode_is_deleted_meanwhile(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct writers writers;

        begin(&writers, steps, state);
        writers_downgrade(&writers);
        world_steps(&writers.world, steps);
        assert_int_equal(sim_delete_by_hand(writers.world.sim, writers.writing.path), 0);
        run_for(&writers, 3000);
        assert_int_equal(writers.writing.lost, 1);
        assert_true(hold_holds(&writers.reading) != hold_holds(&writers.next));
        end(&writers);
    }
}

/* The hold can no longer be proved, because nothing is heard of the servers: nobody
 * reads under it, before its end and after. */
static void its_hold_has_run_out(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct writers writers;

        begin(&writers, seed, state);
        sim_disconnect(writers.a.port, SIM_SILENT, 3 * WORLD_TIMEOUT_MS / 2);
        run_for(&writers, seed * WORLD_TIMEOUT_MS / 7);
        writers_downgrade(&writers);
        hold_await(&writers.next, 2 * WORLD_TIMEOUT_MS);
        assert_int_equal(writers.writing.lost, 1);
        run_for(&writers, 2 * WORLD_TIMEOUT_MS);
        assert_false(hold_holds(&writers.reading));
        end(&writers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(its_session_is_gone),
        WORLD_TEST(its_znode_is_deleted),
        WORLD_TEST(its_znode_is_deleted_meanwhile),
        WORLD_TEST(its_hold_has_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
