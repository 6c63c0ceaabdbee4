/* SPDX-License-Identifier: Apache-2.0 */
/* What the native port says to servers, and what it makes of what they say. */
#include "failing_allocator.h"
#include "native_test.h"

#include <stdlib.h>
#include <string.h>

#include "run_loop.h"

/* ------------------------------------------------------------------------- the session */

static void connects(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    assert_true(test->probe->session_id == 0x101);
    assert_int_equal(test->probe->timeout_ms, 4000);
    assert_string_equal(scripted_server_heard(&test->server), "connect 0 zxid 0");
    native_end(test);
}

/* Pings do not count: what they show may be newer than the events that have come. */
static void continues_with_the_last_zxid_that_was_seen(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 500;
    struct native_test *test = native_begin_connected();
    test->server.zxid = 41;
    assert_int_equal(read_once(test->probe, UVZK__RPC_EXISTS, "/a"), 0);
    test->server.zxid = 1000;
    native_await(test, &test->server.pings, test->server.pings + 2);
    (void)scripted_server_heard(&test->server);
    native_reconnect(test);
    assert_string_equal(scripted_server_heard(&test->server), "connect 101 zxid 41");
    assert_true(test->probe->session_id == 0x101);
    native_end(test);
}

/* ... also if each byte comes alone. */
static void answers_come_in_pieces_and_together(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.in_pieces = true;
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/a"), 0);
    test->server.in_pieces = false;
    struct ask *asks[20];
    for (size_t i = 0; i < 20; i++) {
        asks[i] = ask_create(test->probe, i % 2 ? "/odd" : "/even", UVZK__PERSISTENT);
    }
    assert_int_equal(ask_wait(asks[19]), 0);
    for (size_t i = 0; i < 20; i++) {
        assert_string_equal(asks[i]->name, i % 2 ? "/odd" : "/even");
    }
    native_end(test);
}

/* Sends it to somebody who waits for an answer. */
static void assert_ends_the_connection(const void *bytes, size_t length)
{
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    struct ask *ask = ask_sync(test->probe, "/a");
    native_await(test, &test->server.requests, 1);
    (void)probe_said(test->probe);
    scripted_server_send(&test->server, bytes, length);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(ask->status, UVZK_ECONNLOSS);
    assert_true(ask->replied_nth > test->probe->session_nth[UVZK__SESSION_SUSPENDED]);
    native_end(test);
}

static void wrong_frames_end_the_connection(void **state)
{
    static const unsigned char negative[4] = {0xff, 0xff, 0xff, 0xff};
    static const unsigned char long_one[4] = {0x7f, 0xff, 0xff, 0xff};
    static const unsigned char short_one[4 + 3] = {0, 0, 0, 3};
    static const unsigned char of_no_request[4 + 16] = {0, 0, 0, 16, 0, 0, 0, 99};
    (void)state;
    assert_ends_the_connection(negative, sizeof(negative));
    assert_ends_the_connection(long_one, sizeof(long_one));
    assert_ends_the_connection(short_one, sizeof(short_one));
    assert_ends_the_connection(of_no_request, sizeof(of_no_request));
}

/* The session that the server has begun is nobody's: it is ended. */
static void another_session_is_an_expiry(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.session_id = 0x202;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_EXPIRED, 1);
    native_await(test, &test->server.closes, 1);
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    assert_true(test->probe->session_id == 0x202);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 0 zxid 0; connect 101 zxid 0; close; connect 0 zxid 0");
    native_end(test);
}

static void a_refused_session_is_an_expiry(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.timeout_ms = 0;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_EXPIRED, 1);
    assert_int_equal(test->server.closes, 0);
    native_end(test);
}

/* The only server is certainly tried. */
static void assert_only_server_is_refused(struct native_test *test, int code)
{
    probe_open(test->probe);
    native_await(test, &test->probe->troubles, 1);
    assert_int_equal(test->probe->trouble_code, code);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_CONNECTED], 0);
}

static void a_server_without_a_quorum_is_not_used(void **state)
{
    (void)state;
    struct native_test *test = native_begin();
    test->server.read_only = true;
    assert_only_server_is_refused(test, UV_EROFS);
    test->server.read_only = false;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    native_end(test);
}

static void a_server_that_grants_no_session_is_not_used(void **state)
{
    (void)state;
    struct native_test *test = native_begin();
    int64_t id = test->server.session_id;
    test->server.session_id = 0;
    assert_only_server_is_refused(test, UV_EPROTO);
    test->server.session_id = id;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    native_end(test);
}

static void another_server_is_used_then(void **state)
{
    (void)state;
    native_test_settings.two_servers = true;
    struct native_test *test = native_begin();
    test->server.session_id = 0;
    test->other.session_id = 0x777;
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    assert_true(test->probe->session_id == 0x777);
    native_end(test);
}

/* For longer than its session lives without pings. */
static void a_session_at_rest_stays_connected(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 500;
    struct native_test *test = native_begin_connected();
    native_await(test, &test->server.pings, 6);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_SUSPENDED], 0);
    native_end(test);
}

/* A follower of ClickHouse Keeper does not count what is read as a sign of life. */
static void a_session_that_reads_all_the_time_pings(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 500;
    struct native_test *test = native_begin_connected();
    uint64_t end = uvzk_now() + PATIENCE_MS;
    while (test->server.pings < 3 && uvzk_now() < end) {
        assert_int_equal(read_once(test->probe, UVZK__RPC_EXISTS, "/a"), 0);
    }
    assert_true(test->server.pings >= 3);
    native_end(test);
}

/* Several times: one of two would also be met by chance. */
static void leaves_for_the_other_server(void **state)
{
    (void)state;
    native_test_settings.two_servers = true;
    for (int i = 0; i < 8; i++) {
        struct native_test *test = native_begin_connected();
        bool here = test->server.connects == 1;
        struct scripted_server *first = here ? &test->server : &test->other;
        struct scripted_server *second = here ? &test->other : &test->server;
        assert_int_equal(first->connects + second->connects, 1);
        test->probe->port->leave_server(test->probe->port);
        probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
        assert_int_equal(first->connects, 1);
        assert_int_equal(test->probe->left, 1);
        assert_string_equal(scripted_server_heard(second), "connect 101 zxid 0");
        native_end(test);
    }
}

/* ------------------------------------------------------------------------- credentials */

static void credentials_come_first(void **state)
{
    (void)state;
    native_test_settings.auth_scheme = "digest";
    struct native_test *test = native_begin_connected();
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/a"), 0);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 0 zxid 0; auth digest; get /a");
    struct ask *watch = watch_on(test->probe, UVZK__RPC_GET, "/a");
    assert_non_null(watch->watch.armed);
    (void)scripted_server_heard(&test->server);
    native_reconnect(test);
    native_settle(test);
    assert_string_equal(
        scripted_server_heard(&test->server),
        "connect 101 zxid 3; auth digest; rearm from 3; rearm data /a; sync /settle");
    native_end(test);
}

static void refused_credentials_end_the_session(void **state)
{
    (void)state;
    native_test_settings.auth_scheme = "digest";
    struct native_test *test = native_begin_connected();
    test->server.auth_err = -115;
    test->server.answers = false;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    struct ask *ask = ask_sync(test->probe, "/a");
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(ask->status, UVZK_EAUTH);
    native_end(test);
}

/* They are answered before the questions, so the user hears of no connection. */
static void credentials_that_are_refused_at_first(void **state)
{
    (void)state;
    native_test_settings.auth_scheme = "digest";
    struct native_test *test = native_begin();
    test->server.auth_err = -115;
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_CONNECTED], 0);
    native_end(test);
}

/* -------------------------------------------------------------------------------- paths */

static void a_chroot_is_added_and_taken_off(void **state)
{
    const struct uvzk__op ops[] = {op_create("/m", UVZK__PERSISTENT),
                                   op_of(UVZK__OP_CHECK, "/c", -1)};
    (void)state;
    native_test_settings.chroot = "/root/deep";
    struct native_test *test = native_begin_connected();
    (void)scripted_server_heard(&test->server);
    struct ask *created = ask_create(test->probe, "/a", UVZK__PERSISTENT);
    assert_int_equal(ask_wait(created), 0);
    assert_string_equal(created->name, "/a");
    struct ask *multi = ask_multi(test->probe, ops, 2);
    assert_int_equal(ask_wait(multi), 0);
    assert_string_equal(multi->made[0], "/m");
    struct ask *watch = watch_on(test->probe, UVZK__RPC_GET, "/w");
    struct ask *root = watch_on(test->probe, UVZK__RPC_CHILDREN, "/");
    native_reconnect(test);
    scripted_server_event(&test->server, 3, "/w");
    scripted_server_event(&test->server, 3, "/root/deeper/w");
    scripted_server_event(&test->server, 4, "/root/deep");
    ask_await_event(root, UVZK__WATCH_CHILDREN);
    assert_int_equal(watch->fired, 0);
    scripted_server_event(&test->server, 3, "/root/deep/w");
    ask_await_event(watch, UVZK__WATCH_CHANGED);
    assert_string_equal(scripted_server_heard(&test->server),
                        "create /root/deep/a; op /root/deep/m; op /root/deep/c; "
                        "get /root/deep/w watched; children /root/deep watched; "
                        "connect 101 zxid 4; rearm from 4; rearm data /root/deep/w; "
                        "rearm child /root/deep");
    native_end(test);
}

/* ------------------------------------------------------------------------------- memory */

/* Wherever memory is lacking, the request gets its one reply, and the next one works. */
static void lacking_memory_is_a_reply(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    int status, tries = 0;
    do {
        failing_allocator_arm((uint64_t)tries + 1, 1);
        struct ask *ask = ask_read(test->probe, UVZK__RPC_GET, "/a", true);
        failing_allocator_stop();
        status = ask_wait(ask);
        assert_true(status == 0 || status == UV_ENOMEM);
        assert_true((status == 0) == (ask->watch.armed != NULL));
        ask_unwatch(ask);
        assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/a"), 0);
    } while (status != 0 && tries++ < 100);
    assert_int_equal(status, 0);
    assert_true(tries >= 3); /* for the watch, its table, the request */
    native_end(test);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int main(void)
{
    if (failing_allocator_install() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        CASE(connects),
        CASE(continues_with_the_last_zxid_that_was_seen),
        CASE(answers_come_in_pieces_and_together),
        CASE(wrong_frames_end_the_connection),
        CASE(another_session_is_an_expiry),
        CASE(a_refused_session_is_an_expiry),
        CASE(a_server_without_a_quorum_is_not_used),
        CASE(a_server_that_grants_no_session_is_not_used),
        CASE(another_server_is_used_then),
        CASE(a_session_at_rest_stays_connected),
        CASE(a_session_that_reads_all_the_time_pings),
        CASE(leaves_for_the_other_server),
        CASE(credentials_come_first),
        CASE(refused_credentials_end_the_session),
        CASE(credentials_that_are_refused_at_first),
        CASE(a_chroot_is_added_and_taken_off),
        CASE(lacking_memory_is_a_reply),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed + native_dialect_tests_run() + native_watch_tests_run() +
           native_sending_tests_run() + native_turn_tests_run() +
           native_reply_tests_run() + native_list_tests_run() +
           native_conduct_tests_run() + native_authentication_tests_run();
}
