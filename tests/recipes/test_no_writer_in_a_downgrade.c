/* CURATOR-276, CURATOR-621: a writer that waited already was granted while another one
 * downgraded, because the read lock's znode stood behind it. Here, from the grant of the
 * write lock to the release of the read lock, nobody else writes, at whatever moment
 * the one is asked for and the other given back. */
#include "writers.h"

#define STEPS 32U

/* A reader of B's comes after the two writers. */
static void begin(struct writers *writers, uint64_t seed, void *const *state)
{
    writers_begin(writers, seed, state);
    hold_begin_on_for(&writers->later, &writers->b, &writers->of_b.read, NULL);
}

/* When all of them have their places, A asks for the read lock, `steps` events ago. */
static void begin_downgrading(struct writers *writers, uint64_t steps, void *const *state)
{
    begin(writers, steps, state);
    world_run_for(&writers->world, 300);
    writers_downgrade(writers);
    world_steps(&writers->world, steps);
}

static void run_for(struct writers *writers, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        world_run_for(&writers->world, 1);
        assert_int_equal(writers->next.answered, 0);
        assert_int_equal(writers->later.answered, 0);
    }
}

static void end(struct writers *writers)
{
    assert_true(hold_holds(&writers->reading));
    assert_true(writers->reading.token == writers->writing.token);
    hold_give_back(&writers->reading);
    hold_await(&writers->next, 3000);
    assert_true(writers->next.token > writers->writing.token);
    hold_give_back(&writers->next);
    hold_await(&writers->later, 3000);
    hold_give_back(&writers->later);
    world_end(&writers->world);
}

/* The write lock is given back so many events after the read lock was asked for, and
 * this so many after the others came to the queue. */
static void nobody_comes_in_between(void **state)
{
    for (uint64_t before = 0; before < STEPS; before += 3) {
        for (uint64_t between = 0; between < STEPS; between++) {
            struct writers writers;

            begin(&writers, before + between, state);
            world_steps(&writers.world, before);
            writers_downgrade(&writers);
            world_steps(&writers.world, between);
            hold_release(&writers.writing);
            run_for(&writers, 1500);
            assert_int_equal(writers.writing.released, 1);
            end(&writers);
        }
    }
}

/* The connection is lost, with what was on its way; the write lock is given back as soon
 * as the read lock is granted, or during a second interruption. */
static void nor_in_an_interruption(void **state)
{
    for (uint64_t between = 0; between < STEPS; between++) {
        struct writers writers;

        begin_downgrading(&writers, between, state);
        sim_disconnect(writers.a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
        hold_await(&writers.reading, WORLD_TIMEOUT_MS);
        assert_int_equal(writers.next.answered, 0);
        hold_release(&writers.writing);
        world_steps(&writers.world, between % 5);
        sim_disconnect(writers.a.port, between % 3 ? SIM_RESET : SIM_SILENT, 700);
        run_for(&writers, WORLD_TIMEOUT_MS);
        assert_int_equal(writers.writing.released, 1);
        end(&writers);
    }
}

/* Given back before the read lock is granted, in an interruption, the write lock may go
 * first; the reader is then an ordinary one. Never do the two of them hold. */
static void nobody_reads_beside_a_writer(void **state)
{
    for (uint64_t between = 0; between < STEPS; between++) {
        struct writers writers;

        begin_downgrading(&writers, between, state);
        hold_release(&writers.writing);
        sim_disconnect(writers.a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
        for (unsigned i = 0; i < WORLD_TIMEOUT_MS; i++) {
            world_run_for(&writers.world, 1);
            assert_false(hold_holds(&writers.reading) && hold_holds(&writers.next));
        }
        assert_true(hold_holds(&writers.reading) || hold_holds(&writers.next));
        if (hold_holds(&writers.next)) {
            hold_give_back(&writers.next);
            hold_await(&writers.reading, 3000);
        }
        hold_give_back(&writers.reading);
        hold_finish(&writers.next, 3000);
        hold_finish(&writers.later, 3000);
        world_end(&writers.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(nobody_comes_in_between),
        WORLD_TEST(nor_in_an_interruption),
        WORLD_TEST(nobody_reads_beside_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
