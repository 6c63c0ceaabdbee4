/* CURATOR-276, CURATOR-621: a writer that waited already was granted while another one
 * downgraded, because the read lock's znode stood behind it. Here, from the grant of the
 * write lock to the release of the read lock, nobody else writes, at whatever moment
 * the one is asked for and the other given back. */
#include "acquire.h"

#include <string.h>

#define PATH "/rw"
#define STEPS 32U

static int owner; /* its address */

struct couple {
    struct scene scene;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct acquire writing, reading, next, later;
};

/* A writes, B's writer waits, and a reader of B's behind that. */
static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    memset(couple, 0, sizeof(*couple));
    scene_begin(&couple->scene, seed, state);
    process_begin(&couple->a, &couple->scene, "a", NULL);
    process_begin(&couple->b, &couple->scene, "b", NULL);
    assert_int_equal(uvzk_rwlock_init(&couple->a.client, &couple->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&couple->b.client, &couple->of_b, PATH), 0);
    acquire_begin_for(&couple->writing, &couple->a, &couple->of_a.write, &owner);
    acquire_await(&couple->writing, 1000);
    assert_true(process_await_connected(&couple->b, 1000));
    acquire_begin_for(&couple->next, &couple->b, &couple->of_b.write, NULL);
    acquire_begin_for(&couple->later, &couple->b, &couple->of_b.read, NULL);
}

static void run_for(struct couple *couple, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        scene_run_for(&couple->scene, 1);
        assert_int_equal(couple->next.acquired, 0);
        assert_int_equal(couple->later.acquired, 0);
    }
}

static void end(struct couple *couple)
{
    assert_true(acquire_holds(&couple->reading));
    assert_true(couple->reading.token == couple->writing.token);
    acquire_give_back(&couple->reading);
    acquire_await(&couple->next, 3000);
    assert_true(couple->next.token > couple->writing.token);
    acquire_give_back(&couple->next);
    acquire_await(&couple->later, 3000);
    acquire_give_back(&couple->later);
    scene_end(&couple->scene);
}

/* The write lock is given back so many events after the read lock was asked for, and
 * this so many after the others came to the queue. */
static void nobody_comes_in_between(void **state)
{
    for (uint64_t before = 0; before < STEPS; before += 3) {
        for (uint64_t between = 0; between < STEPS; between++) {
            struct couple couple;

            begin(&couple, before + between, state);
            scene_steps(&couple.scene, before);
            acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
            scene_steps(&couple.scene, between);
            acquire_release(&couple.writing);
            run_for(&couple, 1500);
            assert_int_equal(couple.writing.released, 1);
            end(&couple);
        }
    }
}

/* The connection is lost, with what was on its way; the write lock is given back as soon
 * as the read lock is granted, or during a second interruption. */
static void nor_in_an_interruption(void **state)
{
    for (uint64_t between = 0; between < STEPS; between++) {
        struct couple couple;

        begin(&couple, between, state);
        scene_run_for(&couple.scene, 300);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        scene_steps(&couple.scene, between);
        sim_disconnect(couple.a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
        acquire_await(&couple.reading, SCENE_TIMEOUT_MS);
        assert_int_equal(couple.next.acquired, 0);
        acquire_release(&couple.writing);
        scene_steps(&couple.scene, between % 5);
        sim_disconnect(couple.a.port, between % 3 ? SIM_RESET : SIM_SILENT, 700);
        run_for(&couple, SCENE_TIMEOUT_MS);
        assert_int_equal(couple.writing.released, 1);
        end(&couple);
    }
}

/* Given back before the read lock is granted, in an interruption, the write lock may go
 * first; the reader is then an ordinary one. Never do the two of them hold. */
static void nobody_reads_beside_a_writer(void **state)
{
    for (uint64_t between = 0; between < STEPS; between++) {
        struct couple couple;

        begin(&couple, between, state);
        scene_run_for(&couple.scene, 300);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        scene_steps(&couple.scene, between);
        acquire_release(&couple.writing);
        sim_disconnect(couple.a.port, between % 2 ? SIM_RESET : SIM_SILENT, 700);
        for (unsigned i = 0; i < SCENE_TIMEOUT_MS; i++) {
            scene_run_for(&couple.scene, 1);
            assert_false(acquire_holds(&couple.reading) && acquire_holds(&couple.next));
        }
        assert_true(acquire_holds(&couple.reading) || acquire_holds(&couple.next));
        if (acquire_holds(&couple.next)) {
            acquire_give_back(&couple.next);
            acquire_await(&couple.reading, 3000);
        }
        acquire_give_back(&couple.reading);
        acquire_finish(&couple.next, 3000);
        acquire_finish(&couple.later, 3000);
        scene_end(&couple.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(nobody_comes_in_between),
        SCENE_TEST(nor_in_an_interruption),
        SCENE_TEST(nobody_reads_beside_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
