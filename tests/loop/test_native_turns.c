/* SPDX-License-Identifier: Apache-2.0 */
/* When a turn of the native port runs: in the iteration of the loop that has brought what
 * asked for it, so that nothing need wake the loop; but one turn an iteration. */
#include "native_test.h"
#include "run_loop.h"

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

/* Sends a request whose reply asks for a turn, and waits for so many turns. */
static void await_turns(struct native_test *test, unsigned turns)
{
    uv_check_t check;

    seen.probe = test->probe;
    seen.turn = test->probe->user.turn;
    test->probe->user.turn = on_turn;
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
    test->probe->user.turn = seen.turn;
    native_settle(test);
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

int native_turn_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_turn_runs_behind_the_reply_that_asks_for_it,
                               native_test_reset),
        cmocka_unit_test_setup(a_turn_that_a_turn_asks_for_lets_the_loop_go_on,
                               native_test_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
