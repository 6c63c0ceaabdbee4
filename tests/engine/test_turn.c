/* SPDX-License-Identifier: Apache-2.0 */
/* A turn does what it asks for itself: the port is woken by what happens outside of turns,
 * and by a turn that ends before its work. */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define CYCLES 100 /* more than the rounds of a turn (engine/turn.c) */

static struct world world;
static struct process process;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold, outer;
static uvzk_acquire_options_t options; /* one owner, so that the mutex is re-entered */
static int cycles, wanted;

static struct {
    void (*wake)(struct uvzk__port *);
    void (*turn)(struct uvzk__port_user *);
    bool in_turn;
    int turns, wakes_in_turns;
} seen;

static void on_wake(struct uvzk__port *port)
{
    seen.wakes_in_turns += seen.in_turn;
    seen.wake(port);
}

static void on_turn(struct uvzk__port_user *user)
{
    seen.turns++;
    seen.in_turn = true;
    seen.turn(user);
    seen.in_turn = false;
}

static void acquire(void);

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    assert_int_equal(status, 0);
    if (++cycles < wanted) {
        acquire();
    }
}

static void on_acquired(uvzk_hold_t *acquired, int status)
{
    assert_int_equal(status, 0);
    assert_int_equal(uvzk_hold_release(acquired, on_released), 0);
}

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    fail_msg("lost: %s", uvzk_err_name(reason));
}

static void acquire(void)
{
    assert_int_equal(uvzk_lock_acquire(&mutex, &hold, &options, on_acquired, on_lost), 0);
}

static void begin(void)
{
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_begin(&process, &world, "a", NULL);
    assert_true(process_await_connected(&process, 1000));
    assert_int_equal(uvzk_mutex_init(&process.client, &mutex, "/l/a"), 0);
    uvzk_acquire_options_init(&options);
    options.owner = &process;
    memset(&seen, 0, sizeof(seen));
    seen.wake = process.port->wake;
    seen.turn = process.port->user->turn;
    process.port->wake = on_wake;
    process.port->user->turn = on_turn;
}

static void cycle(int times)
{
    cycles = 0;
    wanted = times;
    acquire();
    assert_true(world_await_count(&world, &cycles, times, 60000));
}

static void end(void)
{
    process.port->wake = seen.wake;
    process.port->user->turn = seen.turn;
    assert_int_equal(uvzk_lock_close(&mutex, NULL), 0);
    world_end(&world);
}

/* The callbacks of a turn acquire and release. Each of a cycle's two requests is answered
 * in a turn of its own, and apart from proofs there are no others. */
static void test_a_turn_does_what_its_callbacks_ask_for(void **state)
{
    int before;

    (void)state;
    begin();
    cycle(1);
    before = seen.turns;
    cycle(CYCLES);
    assert_int_equal(seen.wakes_in_turns, 0);
    assert_in_range(seen.turns - before, 2 * CYCLES, 2 * CYCLES + CYCLES / 10);
    end();
}

static void on_outer(uvzk_hold_t *acquired, int status)
{
    assert_ptr_equal(acquired, &outer);
    assert_int_equal(status, 0);
    cycles++;
}

/* A mutex that is re-entered costs no request: the callbacks could make one turn last for
 * ever. */
static void test_a_turn_that_ends_before_its_work_wakes_the_port(void **state)
{
    (void)state;
    begin();
    cycles = 0;
    assert_int_equal(uvzk_lock_acquire(&mutex, &outer, &options, on_outer, on_lost), 0);
    assert_true(world_await(&world, &cycles, 60000));
    seen.wakes_in_turns = 0;
    cycle(CYCLES);
    assert_in_range(seen.wakes_in_turns, 1, CYCLES);
    wanted = 0;
    cycles = 0;
    assert_int_equal(uvzk_hold_release(&outer, on_released), 0);
    assert_true(world_await(&world, &cycles, 60000));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_turn_does_what_its_callbacks_ask_for),
        cmocka_unit_test(test_a_turn_that_ends_before_its_work_wakes_the_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
