/* Whoever has the first znode in P/locks counts the leases, and may go on with what it
 * has counted for as long as nobody else can have been the first. That ends with the
 * znode, and not when its client hears of it. */
#include "acquire.h"

#include <stdio.h>
#include <string.h>

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define OTHERS 300 /* more than are deleted at once, 4 times 64 */

/* Of A, and of B in between. */
struct turns {
    struct scene scene;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct acquire before, first, between, second;
    uvzk_mutex_t mutexes[OTHERS]; /* of A, with work for a while when it is back */
    struct acquire others[OTHERS];
};

static void take_others(struct turns *turns)
{
    for (int i = 0; i < OTHERS; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/others/%d", i);
        assert_int_equal(uvzk_mutex_init(&turns->a.client, &turns->mutexes[i], path), 0);
        acquire_begin(&turns->others[i], &turns->a, &turns->mutexes[i], 1,
                      UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < OTHERS; i++) {
        acquire_await(&turns->others[i], 5000);
    }
}

static void begin(struct turns *turns, uint64_t seed, void *const *state)
{
    memset(turns, 0, sizeof(*turns));
    scene_begin(&turns->scene, seed, state);
    process_begin(&turns->a, &turns->scene, "a", NULL);
    process_begin(&turns->b, &turns->scene, "b", NULL);
    assert_int_equal(
        uvzk_semaphore_init(&turns->a.client, &turns->of_a, PATH, LEASES_MAX, NULL), 0);
    assert_int_equal(
        uvzk_semaphore_init(&turns->b.client, &turns->of_b, PATH, LEASES_MAX, NULL), 0);
    assert_true(process_await_connected(&turns->a, 1000));
    assert_true(process_await_connected(&turns->b, 1000));
}

/* A, the first in line, has counted one lease and waits for three. It loses its
 * connection, gives up, and its znode in P/locks is deleted before it can do that. B takes
 * what is left; then A is back, and before it comes to delete that znode another of it
 * asks for as many as there were. */
static void after_a_ticket_was_deleted_unheard(void **state)
{
    static struct turns turns;

    begin(&turns, 1, state);
    take_others(&turns);
    acquire_take(&turns.before, &turns.b, &turns.of_b, 1);
    acquire_begin(&turns.first, &turns.a, &turns.of_a, LEASES_MAX, UVZK_WAIT_FOREVER);
    scene_run_for(&turns.scene, 500);
    sim_disconnect(turns.a.port, SIM_RESET, 3000);
    scene_run_for(&turns.scene, 100);
    for (int i = 0; i < OTHERS; i++) {
        acquire_release(&turns.others[i]);
    }
    assert_int_equal(uvzk_hold_cancel(&turns.first.request), 0);
    assert_int_equal(sim_children(turns.scene.sim, PATH "/locks", NULL, 0), 1);
    scene_delete_child(&turns.scene, PATH "/locks", 0);
    acquire_take(&turns.between, &turns.b, &turns.of_b, LEASES_MAX - 1);
    acquire_begin(&turns.second, &turns.a, &turns.of_a, LEASES_MAX - 1,
                  UVZK_WAIT_FOREVER);
    for (unsigned i = 0; i < 6000; i++) {
        scene_run_for(&turns.scene, 1);
        assert_int_equal(turns.second.acquired, 0);
    }
    acquire_give_back(&turns.between);
    acquire_await(&turns.second, 1000);
    acquire_give_back(&turns.before);
    acquire_give_back(&turns.second);
    scene_end(&turns.scene);
}

/* A has one lease and keeps it; whether there is another one to be had is not what it
 * was at the last try. */
static void at_every_try(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static struct turns turns;

        begin(&turns, seed, state);
        acquire_take(&turns.before, &turns.a, &turns.of_a, 1);
        acquire_take(&turns.between, &turns.b, &turns.of_b, LEASES_MAX - 1);
        acquire_begin(&turns.first, &turns.a, &turns.of_a, 1, UVZK_TRY_ONCE);
        assert_true(scene_await(&turns.scene, &turns.first.acquired, 1000));
        assert_int_equal(turns.first.status, UV_ETIMEDOUT);
        scene_run_for(&turns.scene, 500);
        acquire_give_back(&turns.between);
        acquire_begin(&turns.second, &turns.a, &turns.of_a, 1, UVZK_TRY_ONCE);
        assert_true(scene_await(&turns.scene, &turns.second.acquired, 1000));
        assert_int_equal(turns.second.status, 0);
        acquire_give_back(&turns.second);
        acquire_give_back(&turns.before);
        scene_end(&turns.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(after_a_ticket_was_deleted_unheard),
        SCENE_TEST(at_every_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
