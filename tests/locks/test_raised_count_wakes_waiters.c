/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-75: whoever waited for a lease slept on when the shared count was raised. Here a
 * raised count serves as many as there is room for, a lowered one takes nothing from
 * anybody, and neither is missed in an interruption. */
#include "world.h"

#define PATH "/s"
#define COUNT "/count"
#define SEEDS 8U
#define WAITERS 4

static struct world world;
static struct process processes[2];
static uvzk_shared_count_t counts[2];
static uvzk_semaphore_t semaphores[2];
static struct hold held, waiting[WAITERS]; /* of both processes in turn */

static void set_count(char value)
{
    const char bytes[4] = {0, 0, 0, value};

    assert_int_equal(sim_set_by_hand(world.sim, COUNT, bytes, 4), 0);
}

static int granted(void)
{
    int count = 0;

    for (int i = 0; i < WAITERS; i++) {
        count += waiting[i].answered;
    }
    return count;
}

/* There is one lease, and somebody has it. */
static void begin(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &processes[0], &processes[1]);
    for (int i = 0; i < 2; i++) {
        uvzk_client_t *client = &processes[i].client;
        assert_int_equal(uvzk_shared_count_init(client, &counts[i], COUNT, 1, NULL), 0);
        assert_int_equal(uvzk_semaphore_init(client, &semaphores[i], PATH, 0, &counts[i]),
                         0);
    }
    hold_take_on(&held, &processes[0], &semaphores[0], 1);
    for (int i = 0; i < WAITERS; i++) {
        hold_begin_on(&waiting[i], &processes[i % 2], &semaphores[i % 2], 1,
                      UVZK_WAIT_FOREVER);
        world_run_for(&world, 200);
    }
    assert_int_equal(granted(), 0);
}

static void close_count(int which)
{
    assert_int_equal(uvzk_lock_close(&semaphores[which], NULL), 0);
    world_run_for(&world, 500);
    assert_int_equal(uvzk_shared_count_close(&counts[which], NULL), 0);
    world_run_for(&world, 500);
}

static void end(void)
{
    if (hold_holds(&held)) {
        hold_give_back(&held);
    }
    for (int i = 0; i < WAITERS; i++) {
        hold_finish(&waiting[i], 3000);
    }
    close_count(0);
    close_count(1);
    assert_int_equal(world_children(&world, PATH "/leases"), 0);
    world_end(&world);
}

/* By one, by two: in the order in which they came, whoever they belong to. */
static void as_many_are_served_as_there_is_room_for(uint64_t seed, void *const *state)
{
    begin(seed, state);
    set_count(2);
    world_run_for(&world, 500);
    assert_int_equal(granted(), 1);
    assert_true(hold_holds(&waiting[0]));
    set_count(4);
    world_run_for(&world, 1000);
    assert_int_equal(granted(), 3);
    assert_true(hold_holds(&waiting[1]));
    assert_true(hold_holds(&waiting[2]));
    assert_true(hold_holds(&held));
    end();
}

/* Those that have a lease keep it; the others wait until there is room by the new count. */
static void a_lowered_count_takes_nothing(uint64_t seed, void *const *state)
{
    begin(seed, state);
    set_count(3);
    world_run_for(&world, 1000);
    assert_int_equal(granted(), 2);
    set_count(1);
    world_run_for(&world, 1000);
    hold_give_back(&held);
    world_run_for(&world, 500);
    hold_give_back(&waiting[0]);
    world_run_for(&world, 500);
    assert_int_equal(granted(), 2); /* one is left, of one */
    assert_true(hold_holds(&waiting[1]));
    hold_give_back(&waiting[1]);
    hold_await(&waiting[2], 1000);
    assert_int_equal(granted(), 3);
    end();
}

/* The next in line is cut off, or the watch on the count is, at that moment. */
static void it_is_not_missed_in_an_interruption(uint64_t steps, void *const *state)
{
    begin(steps, state);
    set_count(2);
    world_steps(&world, steps);
    sim_disconnect(processes[0].port, steps % 2 ? SIM_RESET : SIM_SILENT, 600);
    hold_await(&waiting[0], WORLD_TIMEOUT_MS);
    world_run_for(&world, 500);
    assert_int_equal(granted(), 1);
    end();
}

/* By what A itself knows of the count when it is granted, as long as the first holds. */
static void there_is_room_at_the_grant(struct hold *hold)
{
    int32_t count;

    (void)hold;
    assert_int_equal(uvzk_shared_count_get(&counts[0], &count, NULL), 0);
    assert_true(count >= 2 || !hold_holds(&held));
}

static void count_is_set(uvzk_req_t *request, int status)
{
    (void)request;
    assert_int_equal(status, 0);
}

/* The next in line has made its lease and finds it, late and without a proof; before it
 * has that the connection breaks, and when it is back there is no room any more. Its next
 * write is proved soon; where the pause was long, nothing was before. */
static void what_was_counted_is_counted_again(void **state)
{
    for (uint64_t pause = 0; pause < 8900; pause += pause < 8000 ? 200 : 25) {
        uvzk_req_t again = {0};
        begin(pause / 25, state);
        waiting[0].hook = there_is_room_at_the_grant;
        size_t from = world.line_count;
        set_count(2);
        process_await_line(&processes[0], from, "multi", 1000);
        sim_lose_reply(processes[0].port);
        process_await_line(&processes[0], from, "exists " PATH "/leases", 1000);
        sim_pause(processes[0].port, pause);
        set_count(1);
        process_await_line(&processes[0], from, "exists -> ok", 10000);
        sim_disconnect(processes[0].port, SIM_RESET, 0);
        world_run_for(&world, 1040);
        assert_int_equal(uvzk_shared_count_set(&counts[0], &again, 1, count_is_set), 0);
        world_run_for(&world, 480);
        waiting[0].hook = NULL;
        set_count(2);
        hold_await(&waiting[0], 1000);
        end();
    }
}

/* Zero, fewer than none, no number at all: nobody is served, nobody loses anything. */
static void a_count_that_allows_nothing(uint64_t seed, void *const *state)
{
    const char negative[4] = {'\xff', '\xff', '\xff', '\xfe'};

    begin(seed, state);
    assert_int_equal(sim_set_by_hand(world.sim, COUNT, negative, 4), 0);
    world_run_for(&world, 500);
    hold_give_back(&held);
    world_run_for(&world, 500);
    assert_int_equal(granted(), 0);
    set_count(0);
    world_run_for(&world, 500);
    assert_int_equal(granted(), 0);
    set_count(1);
    hold_await(&waiting[0], 1000);
    assert_int_equal(granted(), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(as_many_are_served_as_there_is_room_for, 1, SEEDS),
        WORLD_SCENARIO(a_lowered_count_takes_nothing, 1, SEEDS),
        WORLD_SCENARIO(it_is_not_missed_in_an_interruption, 0, 23),
        WORLD_TEST(what_was_counted_is_counted_again),
        WORLD_SCENARIO(a_count_that_allows_nothing, 1, SEEDS),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
