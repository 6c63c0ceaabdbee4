/* Whoever has the first znode in P/locks counts the leases, and may go on with what it
 * has counted for as long as nobody else can have been the first. That ends with the
 * znode, and not when its client hears of it. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PATH "/s"
#define LEASES PATH "/leases"
#define LEASES_MAX 3U
#define OTHERS 300 /* more than are deleted at once, 4 times 64 */

/* Of A, and of B in between. */
struct turns {
    struct world world;
    struct process a, b;
    uvzk_semaphore_t of_a, of_b;
    struct hold before, first, between, second;
    uvzk_mutex_t mutexes[OTHERS]; /* of A, with work for a while when it is back */
    struct hold others[OTHERS];
};

static void take_others(struct turns *turns)
{
    for (int i = 0; i < OTHERS; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/others/%d", i);
        assert_int_equal(uvzk_mutex_init(&turns->a.client, &turns->mutexes[i], path), 0);
        hold_begin_on(&turns->others[i], &turns->a, &turns->mutexes[i], 1,
                      UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < OTHERS; i++) {
        hold_await(&turns->others[i], 5000);
    }
}

static void begin(struct turns *turns, uint64_t seed, void *const *state)
{
    memset(turns, 0, sizeof(*turns));
    world_begin(&turns->world, seed, state);
    process_begin(&turns->a, &turns->world, "a", NULL);
    process_begin(&turns->b, &turns->world, "b", NULL);
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
    hold_take_on(&turns.before, &turns.b, &turns.of_b, 1);
    hold_begin_on(&turns.first, &turns.a, &turns.of_a, LEASES_MAX, UVZK_WAIT_FOREVER);
    world_run_for(&turns.world, 500);
    sim_disconnect(turns.a.port, SIM_RESET, 3000);
    world_run_for(&turns.world, 100);
    for (int i = 0; i < OTHERS; i++) {
        hold_release(&turns.others[i]);
    }
    hold_cancel(&turns.first);
    assert_int_equal(world_children(&turns.world, PATH "/locks"), 1);
    world_delete_child(&turns.world, PATH "/locks", 0);
    hold_take_on(&turns.between, &turns.b, &turns.of_b, LEASES_MAX - 1);
    hold_begin_on(&turns.second, &turns.a, &turns.of_a, LEASES_MAX - 1,
                  UVZK_WAIT_FOREVER);
    for (unsigned i = 0; i < 6000; i++) {
        world_run_for(&turns.world, 1);
        assert_int_equal(turns.second.answered, 0);
    }
    hold_give_back(&turns.between);
    hold_await(&turns.second, 1000);
    hold_give_back(&turns.before);
    hold_give_back(&turns.second);
    world_end(&turns.world);
}

/* A has one lease and keeps it; whether there is another one to be had is not what it
 * was at the last try. */
static void at_every_try(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static struct turns turns;

        begin(&turns, seed, state);
        hold_take_on(&turns.before, &turns.a, &turns.of_a, 1);
        hold_take_on(&turns.between, &turns.b, &turns.of_b, LEASES_MAX - 1);
        hold_begin_on(&turns.first, &turns.a, &turns.of_a, 1, UVZK_TRY_ONCE);
        hold_await_status(&turns.first, 1000, UV_ETIMEDOUT);
        world_run_for(&turns.world, 500);
        hold_give_back(&turns.between);
        hold_begin_on(&turns.second, &turns.a, &turns.of_a, 1, UVZK_TRY_ONCE);
        hold_await_status(&turns.second, 1000, 0);
        hold_give_back(&turns.second);
        hold_give_back(&turns.before);
        world_end(&turns.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(after_a_ticket_was_deleted_unheard),
        WORLD_TEST(at_every_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
