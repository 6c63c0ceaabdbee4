/* CURATOR-75: whoever waited for a lease slept on when the shared count was raised. Here a
 * raised count serves as many as there is room for, a lowered one takes nothing from
 * anybody, and neither is missed in an interruption. */
#include "world.h"

#include <string.h>

#include "base/list.h"

#define PATH "/s"
#define COUNT "/count"
#define SEEDS 8U
#define WAITERS 4

struct couple {
    struct world world;
    struct process processes[2];
    uvzk_shared_count_t counts[2];
    uvzk_semaphore_t semaphores[2];
    struct hold held, waiting[WAITERS]; /* of both processes in turn */
};

static void set_count(struct couple *couple, char value)
{
    const char bytes[4] = {0, 0, 0, value};

    assert_int_equal(sim_set_by_hand(couple->world.sim, COUNT, bytes, 4), 0);
}

static int granted(const struct couple *couple)
{
    int count = 0;

    for (int i = 0; i < WAITERS; i++) {
        count += couple->waiting[i].answered;
    }
    return count;
}

/* There is one lease, and somebody has it. */
static void begin(struct couple *couple, uint64_t seed, void *const *state)
{
    static const char *const names[2] = {"a", "b"};

    memset(couple, 0, sizeof(*couple));
    world_begin(&couple->world, seed, state);
    for (int i = 0; i < 2; i++) {
        uvzk_client_t *client = &couple->processes[i].client;
        process_begin(&couple->processes[i], &couple->world, names[i], NULL);
        assert_int_equal(
            uvzk_shared_count_init(client, &couple->counts[i], COUNT, 1, NULL), 0);
        assert_int_equal(uvzk_semaphore_init(client, &couple->semaphores[i], PATH, 0,
                                             &couple->counts[i]),
                         0);
    }
    hold_take_on(&couple->held, &couple->processes[0], &couple->semaphores[0], 1);
    for (int i = 0; i < WAITERS; i++) {
        hold_begin_on(&couple->waiting[i], &couple->processes[i % 2],
                      &couple->semaphores[i % 2], 1, UVZK_WAIT_FOREVER);
        world_run_for(&couple->world, 200);
    }
    assert_int_equal(granted(couple), 0);
}

static void close_count(struct couple *couple, int which)
{
    for (int i = 0; i < WAITERS; i++) {
        hold_finish(&couple->waiting[i], 3000);
    }
    assert_int_equal(uvzk_lock_close(&couple->semaphores[which], NULL), 0);
    world_run_for(&couple->world, 500);
    assert_int_equal(uvzk_shared_count_close(&couple->counts[which], NULL), 0);
    world_run_for(&couple->world, 500);
}

static void end(struct couple *couple)
{
    if (hold_holds(&couple->held)) {
        hold_give_back(&couple->held);
    }
    close_count(couple, 0);
    close_count(couple, 1);
    assert_int_equal(world_children(&couple->world, PATH "/leases"), 0);
    world_end(&couple->world);
}

/* By one, by two: in the order in which they came, whoever they belong to. */
static void as_many_are_served_as_there_is_room_for(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        set_count(&couple, 2);
        world_run_for(&couple.world, 500);
        assert_int_equal(granted(&couple), 1);
        assert_true(hold_holds(&couple.waiting[0]));
        set_count(&couple, 4);
        world_run_for(&couple.world, 1000);
        assert_int_equal(granted(&couple), 3);
        assert_true(hold_holds(&couple.waiting[1]));
        assert_true(hold_holds(&couple.waiting[2]));
        assert_true(hold_holds(&couple.held));
        end(&couple);
    }
}

/* Those that have a lease keep it; the others wait until there is room by the new count. */
static void a_lowered_count_takes_nothing(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct couple couple;

        begin(&couple, seed, state);
        set_count(&couple, 3);
        world_run_for(&couple.world, 1000);
        assert_int_equal(granted(&couple), 2);
        set_count(&couple, 1);
        world_run_for(&couple.world, 1000);
        hold_give_back(&couple.held);
        world_run_for(&couple.world, 500);
        hold_give_back(&couple.waiting[0]);
        world_run_for(&couple.world, 500);
        assert_int_equal(granted(&couple), 2); /* one is left, of one */
        assert_true(hold_holds(&couple.waiting[1]));
        hold_give_back(&couple.waiting[1]);
        hold_await(&couple.waiting[2], 1000);
        assert_int_equal(granted(&couple), 3);
        end(&couple);
    }
}

/* The next in line is cut off, or the watch on the count is, at that moment. */
static void it_is_not_missed_in_an_interruption(void **state)
{
    for (uint64_t steps = 0; steps < 24; steps++) {
        struct couple couple;

        begin(&couple, steps, state);
        set_count(&couple, 2);
        world_steps(&couple.world, steps);
        sim_disconnect(couple.processes[0].port, steps % 2 ? SIM_RESET : SIM_SILENT, 600);
        hold_await(&couple.waiting[0], WORLD_TIMEOUT_MS);
        world_run_for(&couple.world, 500);
        assert_int_equal(granted(&couple), 1);
        end(&couple);
    }
}

/* By what A itself knows of the count at that moment. */
static void there_is_room_at_the_grant(struct hold *hold)
{
    struct couple *couple = UVZK__CONTAINER_OF(hold->lock, struct couple, semaphores[0]);
    int32_t count;

    assert_int_equal(uvzk_shared_count_get(&couple->counts[0], &count, NULL), 0);
    assert_true(count >= 2);
}

/* The next in line has made its lease and finds it, late and without a proof; before it
 * has that the connection breaks, and when it is back there is no room any more. */
static void what_was_counted_is_counted_again(void **state)
{
    for (uint64_t pause = 0; pause < 8000; pause += 200) {
        struct couple couple;
        size_t from;

        begin(&couple, pause / 200, state);
        couple.waiting[0].hook = there_is_room_at_the_grant;
        from = couple.world.line_count;
        set_count(&couple, 2);
        assert_true(world_await_line(&couple.world, from, "a", "multi", 1000));
        sim_lose_reply(couple.processes[0].port);
        assert_true(
            world_await_line(&couple.world, from, "a", "exists " PATH "/leases", 1000));
        sim_pause(couple.processes[0].port, pause);
        set_count(&couple, 1);
        assert_true(world_await_line(&couple.world, from, "a", "exists -> ok", 9000));
        sim_disconnect(couple.processes[0].port, SIM_RESET, 0);
        world_run_for(&couple.world, 1000);
        couple.waiting[0].hook = NULL;
        set_count(&couple, 2);
        hold_await(&couple.waiting[0], 1000);
        end(&couple);
    }
}

/* Zero, fewer than none, no number at all: nobody is served, nobody loses anything. */
static void a_count_that_allows_nothing(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char negative[4] = {'\xff', '\xff', '\xff', '\xfe'};
        struct couple couple;

        begin(&couple, seed, state);
        assert_int_equal(sim_set_by_hand(couple.world.sim, COUNT, negative, 4), 0);
        world_run_for(&couple.world, 500);
        hold_give_back(&couple.held);
        world_run_for(&couple.world, 500);
        assert_int_equal(granted(&couple), 0);
        set_count(&couple, 0);
        world_run_for(&couple.world, 500);
        assert_int_equal(granted(&couple), 0);
        set_count(&couple, 1);
        hold_await(&couple.waiting[0], 1000);
        assert_int_equal(granted(&couple), 1);
        end(&couple);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(as_many_are_served_as_there_is_room_for),
        WORLD_TEST(a_lowered_count_takes_nothing),
        WORLD_TEST(it_is_not_missed_in_an_interruption),
        WORLD_TEST(what_was_counted_is_counted_again),
        WORLD_TEST(a_count_that_allows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
