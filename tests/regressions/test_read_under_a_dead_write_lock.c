/* Curator grants a read lock to whoever has the write lock by its own books, although the
 * session may be gone, and somebody else hold the write lock. Here the znode of the write
 * hold is checked in the same transaction that makes the read lock's. */
#include "acquire.h"

#include <string.h>

#define PATH "/rw"
#define STEPS 40U

static int owner; /* its address */

/* A holds the write lock, B waits for it. */
struct couple {
    struct scene scene;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct acquire writing, reading, next;
};

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
    acquire_begin_for(&couple->next, &couple->b, &couple->of_b.write, NULL);
    scene_run_for(&couple->scene, 500);
    assert_int_equal(couple->next.acquired, 0);
}

static bool both_hold(const struct couple *couple)
{
    return uvzk_is_held(&couple->reading.request) && uvzk_is_held(&couple->next.request);
}

static void run_for(struct couple *couple, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        scene_run_for(&couple->scene, 1);
        assert_false(both_hold(couple));
    }
}

/* B writes, never beside A's reading. */
static void end(struct couple *couple)
{
    if (acquire_holds(&couple->reading)) {
        assert_int_equal(couple->next.acquired, 0);
        acquire_give_back(&couple->reading);
    }
    acquire_await(&couple->next, 3000);
    run_for(couple, 500);
    assert_false(acquire_holds(&couple->reading));
    acquire_give_back(&couple->next);
    acquire_finish(&couple->reading, SCENE_TIMEOUT_MS);
    scene_end(&couple->scene);
}

/* The session is ended by the servers, and A, which has not heard of it, asks for the
 * read lock: now, and at every later moment of its way to learning it. */
static void its_session_is_gone(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        process_expire(&couple.a);
        int64_t session = sim_session_id(couple.a.port);
        scene_steps(&couple.scene, steps);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        acquire_await(&couple.next, 3000);
        run_for(&couple, 3000);
        assert_int_equal(couple.writing.lost, 1);
        assert_true(sim_session_id(couple.a.port) != session);
        if (couple.reading.acquired) { /* it began before the loss was known */
            assert_int_equal(couple.reading.status, UVZK_EEXPIRED);
        }
        end(&couple);
    }
}

/* Somebody deletes its znode, and then the read lock is asked for: it is an ordinary one,
 * behind the writer that waits already. */
static void its_znode_is_deleted(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        assert_int_equal(sim_delete_by_hand(couple.scene.sim, couple.writing.path), 0);
        scene_steps(&couple.scene, steps);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        acquire_await(&couple.next, 1000);
        run_for(&couple, 500);
        assert_int_equal(couple.writing.lost, 1);
        assert_int_equal(couple.reading.acquired, 0);
        end(&couple);
    }
}

/* The read lock is asked for, and meanwhile somebody deletes the znode: the one or the
 * other came first, and never do both of them hold. */
static void its_znode_is_deleted_meanwhile(void **state)
{
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        scene_steps(&couple.scene, steps);
        assert_int_equal(sim_delete_by_hand(couple.scene.sim, couple.writing.path), 0);
        run_for(&couple, 3000);
        assert_int_equal(couple.writing.lost, 1);
        assert_true(acquire_holds(&couple.reading) != acquire_holds(&couple.next));
        end(&couple);
    }
}

/* The hold can no longer be proved, because nothing is heard of the servers: nobody
 * reads under it, before its end and after. */
static void its_hold_has_run_out(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        sim_disconnect(couple.a.port, SIM_SILENT, 3 * SCENE_TIMEOUT_MS / 2);
        run_for(&couple, seed * SCENE_TIMEOUT_MS / 7);
        acquire_begin_for(&couple.reading, &couple.a, &couple.of_a.read, &owner);
        acquire_await(&couple.next, 2 * SCENE_TIMEOUT_MS);
        assert_int_equal(couple.writing.lost, 1);
        run_for(&couple, 2 * SCENE_TIMEOUT_MS);
        assert_false(acquire_holds(&couple.reading));
        end(&couple);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(its_session_is_gone),
        SCENE_TEST(its_znode_is_deleted),
        SCENE_TEST(its_znode_is_deleted_meanwhile),
        SCENE_TEST(its_hold_has_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
