/* SPDX-License-Identifier: Apache-2.0 */
/* What the native port sends, and when it is told not to have been sent; its end. */
#include "native/native_port.h"
#include "native_test.h"
#include "run_loop.h"

/* ---------------------------------------------------------------------- a full socket */

enum { MANY = 400, MEGABYTE = 1 << 20 };

/* Together far more than the kernel takes. */
static void submit_many(struct native_test *test, struct ask **asks)
{
    static char data[MEGABYTE / 4];

    scripted_server_listen(&test->server, false);
    for (size_t i = 0; i < MANY; i++) {
        asks[i] = ask_new(test->probe, UVZK__RPC_SET, "/a");
        asks[i]->rpc.data = data;
        asks[i]->rpc.data_length = sizeof(data);
        (void)ask_submit(asks[i]);
    }
    run_for(&test->loop, 50);
}

/* What the kernel has reaches the server, although the connection is given up, and may be
 * executed; what the kernel does not have does not. */
static void what_was_not_sent_is_told_so(void **state)
{
    struct ask *asks[MANY];
    size_t lost = 0;
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    struct native_test *test = native_begin_connected();
    submit_many(test, asks);
    probe_await_session(test->probe, UVZK__SESSION_SUSPENDED, 1);
    (void)ask_wait(asks[MANY - 1]);
    while (lost < MANY && asks[lost]->status == UVZK_ECONNLOSS) {
        lost++;
    }
    assert_in_range(lost, 1, MANY - 1);
    for (size_t i = lost; i < MANY; i++) {
        assert_int_equal(asks[i]->status, UVZK_ENOTSENT);
    }
    /* An answer to a connection that is closed would reset it. */
    test->server.answers = false;
    scripted_server_listen(&test->server, true);
    native_await(test, &test->server.requests, (unsigned)lost);
    test->server.answers = true;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    native_settle(test);
    assert_int_equal(test->server.requests, lost + 1);
    native_end(test);
}

static void a_full_socket_delays_and_loses_nothing(void **state)
{
    struct ask *asks[MANY];
    (void)state;
    struct native_test *test = native_begin_connected();
    submit_many(test, asks);
    scripted_server_listen(&test->server, true);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(ask_wait(asks[i]), 0);
    }
    assert_int_equal(test->server.last_xid, MANY);
    native_end(test);
}

static void requests_are_counted_up_on_each_connection(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    for (int i = 1; i <= 200; i++) {
        assert_int_equal(read_once(test->probe, UVZK__RPC_EXISTS, "/a"), 0);
        assert_int_equal(test->server.last_xid, i);
    }
    native_reconnect(test);
    native_settle(test);
    assert_int_equal(test->server.last_xid, 1);
    native_end(test);
}

/* ------------------------------------------------------------------------------ its end */

/* A turn in which the test does something. */
static void (*in_the_turn)(struct native_test *);

static void act(struct uvzk__port_user *user)
{
    const struct probe *probe = (const void *)user;

    in_the_turn(probe->data);
}

static void have_a_turn(struct native_test *test, void (*what)(struct native_test *))
{
    in_the_turn = what;
    test->probe->data = test;
    test->probe->port->user->turn = act;
    test->probe->port->wake(test->probe->port);
}

enum { THOUSANDS = 2000 };

static void submit_thousands(struct native_test *test)
{
    static char data[1024];

    for (int i = 0; i < THOUSANDS; i++) {
        struct ask *ask = ask_new(test->probe, UVZK__RPC_SET, "/a");
        ask->rpc.data = data;
        ask->rpc.data_length = sizeof(data);
        (void)ask_submit(ask);
    }
}

/* More than waits in the stream at a time, and no answer comes that would wake the port. */
static void all_of_a_turn_is_sent(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    have_a_turn(test, submit_thousands);
    native_await(test, &test->server.requests, THOUSANDS);
    native_end(test);
}

static void delete_and_close(struct native_test *test)
{
    (void)ask_delete(test->probe, "/a", -1);
    (void)ask_delete(test->probe, "/b", -1);
    probe_close(test->probe);
}

static void close_comes_behind_what_was_submitted(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    (void)scripted_server_heard(&test->server);
    have_a_turn(test, delete_and_close);
    native_await(test, &test->probe->closed, 1);
    assert_int_equal(test->probe->asks->status, UVZK_ECLOSED);
    assert_string_equal(scripted_server_heard(&test->server),
                        "delete /a; delete /b; close");
    native_end(test);
}

/* The server's handles stay. */
static void close_if_the_ports(uv_handle_t *handle, void *context)
{
    (void)context;
    if (handle->type != UV_TCP && !uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* The program has closed what the port would be woken by. */
static void close_ends_without_handles(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.silent = true;
    uv_walk(&test->loop, close_if_the_ports, NULL);
    probe_close(test->probe);
    native_await(test, &test->probe->closed, 1);
    native_end(test);
}

static void close_does_not_wait_for_a_silent_server(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.silent = true;
    probe_close(test->probe);
    native_await(test, &test->probe->closed, 1);
    assert_int_equal(test->server.closes, 1);
    native_end(test);
}

static void (*session_of_the_probe)(struct uvzk__port_user *,
                                    const struct uvzk__session_event *);
static bool was_ending;

static void look_at_the_endings(struct uvzk__port_user *user,
                                const struct uvzk__session_event *event)
{
    const struct probe *probe = (const void *)user;

    was_ending = ((const struct uvzk__native_port *)(void *)probe->port)
                     ->session.endings.lingering != NULL;
    session_of_the_probe(user, event);
}

/* What is held is lost by being told so, and the end at the server ends its znodes. */
static void an_ended_session_is_ended_at_the_server(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    session_of_the_probe = test->probe->port->user->session;
    test->probe->port->user->session = look_at_the_endings;
    was_ending = true;
    test->probe->port->end_session(test->probe->port);
    probe_await_session(test->probe, UVZK__SESSION_EXPIRED, 1);
    assert_false(was_ending);
    native_await(test, &test->server.closes, 1);
    native_end(test);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_sending_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_not_sent_is_told_so),
        CASE(a_full_socket_delays_and_loses_nothing),
        CASE(requests_are_counted_up_on_each_connection),
        CASE(all_of_a_turn_is_sent),
        CASE(close_comes_behind_what_was_submitted),
        CASE(close_does_not_wait_for_a_silent_server),
        CASE(close_ends_without_handles),
        CASE(an_ended_session_is_ended_at_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
