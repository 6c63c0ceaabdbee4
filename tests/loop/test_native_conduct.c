/* SPDX-License-Identifier: Apache-2.0 */
/* The native port at servers that leave requests unanswered or break the protocol. */
#include "native_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "native/native_port.h"
#include "run_loop.h"

/* A server's pings are the clock of these tests: one comes each third of the session
 * timeout, and a server is left after two thirds. Timeouts of those that must not be left
 * are longer than this process may stand still. */
static void await_ping(struct native_test *test)
{
    native_await(test, &test->server.pings, test->server.pings + 1);
}

/* Connected to `server`, by a port that knows both; `other` has the loop's next one. */
static void swap_servers(struct native_test *test, struct scripted_server **first,
                         struct scripted_server **second)
{
    bool here = test->server.connects == 1;

    *first = here ? &test->server : &test->other;
    *second = here ? &test->other : &test->server;
}

/* ---------------------------------------------------------------- requests unanswered */

/* The server answers no request while its setting is `bad`. It hears pings. */
static void is_left_while(struct native_test *test, bool *conduct, bool bad)
{
    *conduct = bad;
    unsigned pings = test->server.pings;
    struct ask *ask = ask_sync(test->probe, "/a");
    probe_await_session(test->probe, UVZK__SESSION_SUSPENDED, 1);
    assert_true(test->server.pings > pings);
    assert_int_equal(ask_wait(ask), UVZK_ECONNLOSS);
    assert_int_equal(test->probe->trouble_code, UV_ETIMEDOUT);
    *conduct = !bad;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    native_end(test);
}

static void who_answers_nothing_is_left(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    struct native_test *test = native_begin_connected();
    is_left_while(test, &test->server.silent, true);
}

static void who_answers_pings_alone_is_left(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    struct native_test *test = native_begin_connected();
    is_left_while(test, &test->server.answers, false);
}

/* Several times: one of two would also be met by chance. */
static void who_answers_pings_alone_comes_last(void **state)
{
    (void)state;
    native_test_settings.two_servers = true;
    native_test_settings.session_timeout_ms = 300;
    for (int i = 0; i < 6; i++) {
        struct native_test *test = native_begin_connected();
        struct scripted_server *first, *second;
        swap_servers(test, &first, &second);
        first->answers = false;
        (void)ask_sync(test->probe, "/a");
        probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
        assert_int_equal(first->connects, 1);
        assert_int_equal(second->connects, 1);
        native_end(test);
    }
}

/* A waiter has no other request than that. */
static void who_rearms_no_watch_is_left(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    struct native_test *test = native_begin_connected();
    assert_non_null(watch_on(test->probe, UVZK__RPC_GET, "/a")->watch.armed);
    test->server.ignores_rearms = true;
    native_reconnect(test);
    probe_await_session(test->probe, UVZK__SESSION_SUSPENDED, 2);
    assert_int_equal(test->probe->trouble_code, UV_ETIMEDOUT);
    test->server.ignores_rearms = false;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 3);
    native_end(test);
}

/* The last answer comes long after its request. */
static void a_long_queue_that_is_answered_in_order_keeps_its_server(void **state)
{
    struct ask *asks[8];
    (void)state;
    native_test_settings.session_timeout_ms = 1800;
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    for (int32_t i = 0; i < 8; i++) {
        asks[i] = ask_delete(test->probe, "/a", -1);
    }
    native_await(test, &test->server.requests, 8);
    for (int32_t i = 0; i < 8; i++) {
        await_ping(test);
        scripted_server_reply(&test->server, test->server.last_xid - 7 + i,
                              UVZK__OPCODE_DELETE, 0);
    }
    assert_int_equal(ask_wait(asks[7]), 0);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_SUSPENDED], 0);
    native_end(test);
}

#define NAMES 5000

static struct uvzk__jute_writer long_answer(int32_t xid)
{
    struct uvzk__wire_reply reply = {
        .xid = xid, .opcode = UVZK__OPCODE_GET_CHILDREN, .zxid = 1};
    struct uvzk__jute_writer names, writer;

    uvzk__jute_writer_init(&names);
    uvzk__jute_writer_init(&writer);
    for (int i = 0; i < NAMES; i++) {
        uvzk__jute_put_bytes(&names, uvzk__jute_text("lock-0000000001"));
    }
    assert_int_equal(uvzk__jute_list_of(&names, NAMES, &reply.children), 0);
    assert_int_equal(uvzk__wire_reply_write(&writer, 4 << 20, &reply), 0);
    uvzk__jute_writer_end(&names);
    return writer;
}

/* Asks for a long answer, and sends its first piece. */
static struct ask *ask_for_long(struct native_test *test,
                                struct uvzk__jute_writer *answer)
{
    test->server.answers = false;
    struct ask *ask = ask_read(test->probe, UVZK__RPC_CHILDREN, "/a", false);

    native_await(test, &test->server.requests, 1);
    *answer = long_answer(test->server.last_xid);
    return ask;
}

static void a_long_answer_that_keeps_coming_keeps_its_server(void **state)
{
    struct uvzk__jute_writer answer;
    (void)state;
    native_test_settings.session_timeout_ms = 1800;
    struct native_test *test = native_begin_connected();
    test->server.ignores_pings = true;
    struct ask *ask = ask_for_long(test, &answer);
    for (size_t i = 0; i < 8; i++) {
        size_t at = answer.length * i / 8, end = answer.length * (i + 1) / 8;
        scripted_server_send(&test->server, answer.bytes + at, end - at);
        if (i < 7) {
            await_ping(test);
        }
    }
    assert_int_equal(ask_wait(ask), 0);
    assert_int_equal(ask->count, NAMES);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_SUSPENDED], 0);
    uvzk__jute_writer_end(&answer);
    native_end(test);
}

static bool has_left(void *context)
{
    return ((struct native_test *)context)->probe->sessions[UVZK__SESSION_SUSPENDED] > 0;
}

static void a_byte_now_and_then_is_no_answer(void **state)
{
    struct uvzk__jute_writer answer;
    (void)state;
    native_test_settings.session_timeout_ms = 1500;
    struct native_test *test = native_begin_connected();
    test->server.ignores_pings = true;
    struct ask *ask = ask_for_long(test, &answer);
    for (size_t i = 0; !has_left(test); i++) {
        assert_true(i < answer.length);
        scripted_server_send(&test->server, answer.bytes + i, 1);
        (void)run_until(&test->loop, has_left, test, 20);
    }
    assert_int_equal(ask_wait(ask), UVZK_ECONNLOSS);
    uvzk__jute_writer_end(&answer);
    native_end(test);
}

/* --------------------------------------------------------------- the protocol broken */

static const struct uvzk__conduct *conduct_of(struct native_test *test)
{
    const struct uvzk__native_port *port = (void *)test->probe->port;

    return &port->session.conduct;
}

/* The server drops or breaks each connection. Up to what the pauses grow. */
static void assert_pauses_grow(struct native_test *test)
{
    uint32_t before = 0;

    for (unsigned i = 2; i < 9; i++) {
        probe_await_session(test->probe, UVZK__SESSION_SUSPENDED, i);
        assert_true(conduct_of(test)->next_pause_ms > before ||
                    before * 5 / 4 == test->probe->timeout_ms / 10);
        before = conduct_of(test)->next_pause_ms;
    }
    assert_int_equal(before * 5 / 4, test->probe->timeout_ms / 10);
}

static void who_breaks_the_protocol_waits_for_longer_each_time(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.breaks = true;
    scripted_server_drop(&test->server);
    assert_pauses_grow(test);
    test->server.breaks = false;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 9);
    native_settle(test);
    native_reconnect(test);
    assert_int_equal(conduct_of(test)->next_pause_ms, 0);
    native_end(test);
}

static void who_closes_without_an_answer_waits_for_longer_each_time(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    assert_non_null(watch_on(test->probe, UVZK__RPC_GET, "/a")->watch.armed);
    test->server.drops_granted = true;
    scripted_server_drop(&test->server);
    assert_pauses_grow(test);
    test->server.drops_granted = false;
    native_end(test);
}

/* Several times: one of two would also be met by chance. */
static void who_breaks_the_protocol_comes_last(void **state)
{
    static const unsigned char of_no_request[4 + 16] = {0, 0, 0, 16, 0, 0, 0, 99};
    (void)state;
    native_test_settings.two_servers = true;
    for (int i = 0; i < 8; i++) {
        struct native_test *test = native_begin_connected();
        struct scripted_server *first, *second;
        swap_servers(test, &first, &second);
        scripted_server_send(first, of_no_request, sizeof(of_no_request));
        probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
        assert_int_equal(first->connects, 1);
        assert_int_equal(second->connects, 1);
        native_end(test);
    }
}

static uint32_t first_try_ms(void)
{
    struct uvzk__connect_tries tries;

    uvzk__connect_tries_begin(&tries, 0);
    return tries.ms;
}

/* Of the same session: the kernel, too, would ask again, but after a second. */
static bool has_tried_twice(void *context)
{
    struct native_test *test = context;
    struct uvzk__native_port *port =
        UVZK__CONTAINER_OF(test->probe->port, struct uvzk__native_port, base.port);

    return test->server.full && port->session.tries.ms > first_try_ms();
}

static void a_full_queue_is_tried_again(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 60000;
    struct native_test *test = native_begin();
    test->server.fills = true;
    probe_open(test->probe);
    assert_true(run_until(&test->loop, has_tried_twice, test, PATIENCE_MS));
    assert_int_equal(test->server.connects, 0);
    scripted_server_drain(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    assert_int_equal(test->probe->trouble_code, 0);
    native_end(test);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_conduct_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_full_queue_is_tried_again),
        CASE(who_answers_nothing_is_left),
        CASE(who_answers_pings_alone_is_left),
        CASE(who_answers_pings_alone_comes_last),
        CASE(who_rearms_no_watch_is_left),
        CASE(a_long_queue_that_is_answered_in_order_keeps_its_server),
        CASE(a_long_answer_that_keeps_coming_keeps_its_server),
        CASE(a_byte_now_and_then_is_no_answer),
        CASE(who_breaks_the_protocol_waits_for_longer_each_time),
        CASE(who_closes_without_an_answer_waits_for_longer_each_time),
        CASE(who_breaks_the_protocol_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
