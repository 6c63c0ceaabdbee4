/* SPDX-License-Identifier: Apache-2.0 */
/* When a turn of the native port runs: in the iteration of the loop that has brought what
 * asked for it, so that nothing need wake the loop; but one turn an iteration. A call outside
 * of the port wakes the loop, whatever phase the loop is in, and without its descriptor. */
#include "native_test.h"
#include "run_loop.h"

#include <poll.h>

/* Set by the test that runs. */
static struct {
    struct probe *probe;
    uvzk__reply_cb reply_cb; /* the probe's */
    void (*turn)(struct uvzk__port_user *);
    unsigned iterations, of_reply, of_turn; /* of the loop */
    unsigned wakes;                         /* how many turns ask for another one */
    unsigned turns;
} seen;

static void on_check(uv_check_t *check)
{
    (void)check;
    seen.iterations++;
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    seen.reply_cb(rpc, reply);
    seen.of_reply = seen.iterations;
    seen.turns = 0;
    seen.probe->port->wake(seen.probe->port);
}

static void on_turn(struct uvzk__port_user *user)
{
    seen.turn(user);
    if (++seen.turns == 1) {
        seen.of_turn = seen.iterations;
    }
    if (seen.wakes > 0) {
        seen.wakes--;
        seen.probe->port->wake(seen.probe->port);
    }
}

static void count_turns(struct native_test *test)
{
    seen.probe = test->probe;
    seen.turn = test->probe->user.turn;
    seen.turns = 0;
    test->probe->user.turn = on_turn;
}

static void count_turns_no_more(struct native_test *test)
{
    test->probe->user.turn = seen.turn;
    native_settle(test);
}

/* Sends a request whose reply asks for a turn, and waits for so many turns. */
static void await_turns(struct native_test *test, unsigned turns)
{
    uv_check_t check;

    count_turns(test);
    uv_check_init(&test->loop, &check);
    uv_check_start(&check, on_check);
    struct ask *ask = ask_new(test->probe, UVZK__RPC_EXISTS, "/a");
    seen.reply_cb = ask->rpc.reply_cb;
    ask->rpc.reply_cb = on_reply;
    unsigned pings = test->server.pings;
    (void)ask_wait(ask_submit(ask));
    native_await(test, &seen.turns, turns);
    /* Nothing else has woken the loop. */
    assert_int_equal(test->server.pings, pings);
    uv_close((uv_handle_t *)&check, NULL);
    count_turns_no_more(test);
}

static void a_turn_runs_behind_the_reply_that_asks_for_it(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    seen.wakes = 0;
    await_turns(test, 1);
    assert_int_equal(seen.of_turn, seen.of_reply);
    native_end(test);
}

static void a_turn_that_a_turn_asks_for_lets_the_loop_go_on(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    seen.wakes = 3;
    await_turns(test, 4);
    assert_int_equal(seen.of_turn, seen.of_reply);
    assert_true(seen.iterations >= seen.of_turn + 3);
    native_end(test);
}

/* ------------------------------------------------------ calls outside of the port */

/* A connected port at rest; its turns are counted. No ping is due soon, however slow the
 * machine is. */
static struct native_test *begin_at_rest(void)
{
    native_test_settings.session_timeout_ms = 60000;
    struct native_test *test = native_begin_connected();

    native_settle(test);
    seen.wakes = 0;
    count_turns(test);
    for (int i = 0; i < 10; i++) {
        uv_run(&test->loop, UV_RUN_NOWAIT);
    }
    assert_int_not_equal(uv_backend_timeout(&test->loop), 0);
    return test;
}

static void end_of_rest(struct native_test *test)
{
    count_turns_no_more(test);
    native_end(test);
}

static void wake(void)
{
    seen.probe->port->wake(seen.probe->port);
}

static void a_call_wakes_the_loop_without_a_system_call(void **state)
{
    (void)state;
    struct native_test *test = begin_at_rest();
    struct pollfd descriptor = {.fd = uv_backend_fd(&test->loop), .events = POLLIN};
    wake();
    assert_int_equal(uv_backend_timeout(&test->loop), 0);
    assert_int_equal(poll(&descriptor, 1, 0), 0);
    uv_run(&test->loop, UV_RUN_NOWAIT);
    assert_int_equal(seen.turns, 1);
    uv_run(&test->loop, UV_RUN_NOWAIT);
    assert_int_equal(seen.turns, 1);
    assert_int_not_equal(uv_backend_timeout(&test->loop), 0);
    end_of_rest(test);
}

static void on_prepare(uv_prepare_t *prepare)
{
    *(int *)prepare->data = uv_backend_timeout(prepare->loop);
}

/* The turn may have called what the program waits for, and uv_run(UV_RUN_ONCE) is to
 * return then. */
static void a_loop_that_has_served_a_call_does_not_sleep_at_once(void **state)
{
    uv_prepare_t prepare;
    int timeout = -1; /* of the iteration's sleep */
    (void)state;
    struct native_test *test = begin_at_rest();
    uv_prepare_init(&test->loop, &prepare);
    prepare.data = &timeout;
    uv_prepare_start(&prepare, on_prepare);
    wake();
    uv_run(&test->loop, UV_RUN_ONCE);
    assert_int_equal(seen.turns, 1);
    assert_int_equal(timeout, 0);
    uv_close((uv_handle_t *)&prepare, NULL);
    end_of_rest(test);
}

/* Handles of the program; each calls the port once, in its phase of the loop's iteration. */
static struct {
    uv_timer_t timer;
    uv_idle_t idle;
    uv_prepare_t prepare;
    uv_async_t async;
    uv_check_t check;
    uv_handle_t *last; /* the one whose callback has called */
} caller;

static void call(uv_handle_t *handle)
{
    caller.last = handle;
    uv_close(handle, NULL);
    wake();
}

static void call_in_timer(uv_timer_t *timer)
{
    call((uv_handle_t *)timer);
}

static void call_in_idle(uv_idle_t *idle)
{
    call((uv_handle_t *)idle);
}

static void call_in_prepare(uv_prepare_t *prepare)
{
    call((uv_handle_t *)prepare);
}

static void call_in_poll(uv_async_t *async)
{
    call((uv_handle_t *)async);
}

static void call_in_check(uv_check_t *check)
{
    call((uv_handle_t *)check);
}

static void call_in_close(uv_handle_t *handle)
{
    caller.last = handle;
    wake();
}

static void start_timer(uv_loop_t *loop)
{
    uv_timer_init(loop, &caller.timer);
    uv_timer_start(&caller.timer, call_in_timer, 0, 0);
}

static void start_idle(uv_loop_t *loop)
{
    uv_idle_init(loop, &caller.idle);
    uv_idle_start(&caller.idle, call_in_idle);
}

static void start_prepare(uv_loop_t *loop)
{
    uv_prepare_init(loop, &caller.prepare);
    uv_prepare_start(&caller.prepare, call_in_prepare);
}

static void start_poll(uv_loop_t *loop)
{
    assert_int_equal(uv_async_init(loop, &caller.async, call_in_poll), 0);
    uv_async_send(&caller.async);
}

static void start_check(uv_loop_t *loop)
{
    uv_check_init(loop, &caller.check);
    uv_check_start(&caller.check, call_in_check);
}

static void start_close(uv_loop_t *loop)
{
    uv_check_init(loop, &caller.check);
    uv_close((uv_handle_t *)&caller.check, call_in_close);
}

static void a_call_in_any_phase_of_the_loop_has_its_turn(void **state)
{
    void (*const starts[])(uv_loop_t *) = {start_timer, start_idle,  start_prepare,
                                           start_poll,  start_check, start_close};
    (void)state;
    struct native_test *test = begin_at_rest();
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        unsigned pings = test->server.pings;
        seen.turns = 0;
        caller.last = NULL;
        starts[i](&test->loop);
        native_await(test, &seen.turns, 1);
        assert_non_null(caller.last);
        /* Nothing else has woken the loop. */
        assert_int_equal(test->server.pings, pings);
    }
    end_of_rest(test);
}

int native_turn_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_turn_runs_behind_the_reply_that_asks_for_it,
                               native_test_reset),
        cmocka_unit_test_setup(a_turn_that_a_turn_asks_for_lets_the_loop_go_on,
                               native_test_reset),
        cmocka_unit_test_setup(a_call_wakes_the_loop_without_a_system_call,
                               native_test_reset),
        cmocka_unit_test_setup(a_loop_that_has_served_a_call_does_not_sleep_at_once,
                               native_test_reset),
        cmocka_unit_test_setup(a_call_in_any_phase_of_the_loop_has_its_turn,
                               native_test_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
