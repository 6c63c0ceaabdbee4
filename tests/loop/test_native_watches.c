/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of the native port: armed, removed, and armed again on a new connection. */
#include <stdio.h>
#include <string.h>

#include "native/watch_table.h"
#include "native_test.h"

static void lose_connection(struct native_test *test)
{
    (void)scripted_server_heard(&test->server);
    native_reconnect(test);
    native_settle(test);
}

static struct ask *watch_absent(struct native_test *test, const char *path)
{
    test->server.answers = false;
    struct ask *ask = ask_read(test->probe, UVZK__RPC_EXISTS, path, true);
    native_await(test, &test->server.requests, test->server.requests + 1);
    scripted_server_reply(&test->server, test->server.last_xid, UVZK__OPCODE_EXISTS,
                          -101);
    assert_int_equal(ask_wait(ask), UVZK_ENONODE);
    test->server.answers = true;
    return ask;
}

/* In the list by which the server sees what has changed meanwhile. */
static void watches_are_armed_again(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *data = watch_on(test->probe, UVZK__RPC_GET, "/data");
    struct ask *found = watch_on(test->probe, UVZK__RPC_EXISTS, "/found");
    struct ask *absent = watch_absent(test, "/absent");
    struct ask *children = watch_on(test->probe, UVZK__RPC_CHILDREN, "/parent");
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 4; rearm from 4; rearm data /data; "
                        "rearm data /found; rearm exist /absent; rearm child /parent; "
                        "sync /settle");
    assert_int_equal(data->fired + found->fired + absent->fired + children->fired, 0);
    scripted_server_event(&test->server, 3, "/data");
    scripted_server_event(&test->server, 2, "/found");
    scripted_server_event(&test->server, 1, "/absent");
    scripted_server_event(&test->server, 4, "/parent");
    ask_await_event(data, UVZK__WATCH_CHANGED);
    ask_await_event(found, UVZK__WATCH_DELETED);
    ask_await_event(absent, UVZK__WATCH_CREATED);
    ask_await_event(children, UVZK__WATCH_CHILDREN);
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 6; sync /settle");
    native_end(test);
}

enum { THOUSANDS = 10000 };

static void many_watches_are_armed_by_several_requests(void **state)
{
    struct ask *asks[THOUSANDS];
    char path[256];
    (void)state;
    struct native_test *test = native_begin_connected();
    for (int i = 0; i < THOUSANDS; i++) {
        snprintf(path, sizeof(path), "/%0100d", i);
        asks[i] = ask_read(test->probe, UVZK__RPC_GET, path, true);
    }
    assert_int_equal(ask_wait(asks[THOUSANDS - 1]), 0);
    lose_connection(test);
    assert_in_range(test->server.rearms, 8, 10);
    assert_in_range(test->server.longest_rearm, UVZK__REARM_BYTES / 2,
                    UVZK__REARM_BYTES + 256);
    scripted_server_event(&test->server, 2, asks[0]->path);
    scripted_server_event(&test->server, 2, asks[THOUSANDS - 1]->path);
    ask_await_event(asks[0], UVZK__WATCH_DELETED);
    ask_await_event(asks[THOUSANDS - 1], UVZK__WATCH_DELETED);
    native_end(test);
}

/* The second half must hear of what has happened before the reply to the first half. Until
 * both have been answered, a lost connection is re-armed from where it was before. */
static void half_a_rearming_shows_nothing(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    native_rearm_bytes(test, 1);
    (void)watch_on(test->probe, UVZK__RPC_GET, "/a");
    (void)watch_on(test->probe, UVZK__RPC_GET, "/b");
    test->server.zxid = 50;
    test->server.answers_rearms = 1;
    native_reconnect(test);
    native_await(test, &test->server.rearms, 2);
    (void)scripted_server_heard(&test->server);
    test->server.answers_rearms = 0;
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 2; rearm from 2; rearm data /a; "
                        "rearm from 2; rearm data /b; sync /settle");
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 53; rearm from 53; rearm data /a; "
                        "rearm from 53; rearm data /b; sync /settle");
    native_end(test);
}

/* ZooKeeper 3.9 sends the zxid of the transaction with each of its events, and the
 * connection may be lost between two of them. */
static void an_event_does_not_hide_the_next_one(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *first = watch_on(test->probe, UVZK__RPC_GET, "/a");
    (void)watch_on(test->probe, UVZK__RPC_GET, "/b");
    test->server.event_zxid = 70;
    scripted_server_event(&test->server, 2, "/a");
    ask_await_event(first, UVZK__WATCH_DELETED);
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 2; rearm from 2; rearm data /b; sync /settle");
    native_end(test);
}

static void assert_is_lost(struct native_test *test, struct ask *watch)
{
    assert_true(test->probe->watches_lost);
    assert_null(watch->watch.armed);
    native_settle(test);
    native_end(test);
}

/* A server that does not know the request hangs up. It is asked twice, because it may
 * have hung up for another reason. */
static void watches_are_lost_where_they_cannot_be_armed_again(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *watch = watch_on(test->probe, UVZK__RPC_GET, "/a");
    test->server.drops_rearms = true;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 4);
    assert_int_equal(test->server.rearms, 2);
    assert_is_lost(test, watch);
}

static void watches_are_lost_where_the_request_is_refused(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *watch = watch_on(test->probe, UVZK__RPC_GET, "/a");
    test->server.refuses_rearms = -6;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 4);
    assert_int_equal(test->server.rearms, 2);
    assert_is_lost(test, watch);
}

/* In the order in which the server has to do it. The event of the watch that was given up
 * comes meanwhile, and is nobody's. */
static void a_watch_is_removed_before_the_next_one(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *old = watch_on(test->probe, UVZK__RPC_GET, "/a");
    struct ask *children = watch_on(test->probe, UVZK__RPC_CHILDREN, "/b");
    (void)scripted_server_heard(&test->server);
    test->server.answers = false;
    ask_unwatch(old);
    ask_unwatch(children);
    struct ask *next = ask_read(test->probe, UVZK__RPC_EXISTS, "/a", true);
    native_await(test, &test->server.requests, 5);
    scripted_server_event(&test->server, 3, "/a");
    scripted_server_reply(&test->server, 3, UVZK__OPCODE_REMOVE_WATCHES, 0);
    scripted_server_reply(&test->server, 4, UVZK__OPCODE_REMOVE_WATCHES, 0);
    scripted_server_reply(&test->server, 5, UVZK__OPCODE_EXISTS, 0);
    assert_int_equal(ask_wait(next), 0);
    assert_int_equal(old->fired + next->fired, 0);
    assert_string_equal(scripted_server_heard(&test->server),
                        "remove /a 2; remove /b 1; exists /a watched");
    scripted_server_event(&test->server, 2, "/a");
    ask_await_event(next, UVZK__WATCH_DELETED);
    native_end(test);
}

/* A removal ends all of its kind at the server. So it is sent with the last one, also if
 * that is not armed. */
static void the_last_watch_of_a_kind_is_removed(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *first = watch_on(test->probe, UVZK__RPC_GET, "/a");
    struct ask *second = watch_on(test->probe, UVZK__RPC_EXISTS, "/a");
    struct ask *children = watch_on(test->probe, UVZK__RPC_CHILDREN, "/a");
    (void)scripted_server_heard(&test->server);
    ask_unwatch(second);
    native_settle(test);
    ask_unwatch(children);
    native_settle(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "sync /settle; remove /a 1; sync /settle");
    scripted_server_event(&test->server, 3, "/a");
    ask_await_event(first, UVZK__WATCH_CHANGED);
    assert_int_equal(second->fired + children->fired, 0);

    first = watch_on(test->probe, UVZK__RPC_GET, "/a");
    (void)scripted_server_heard(&test->server);
    test->server.answers = false;
    second = ask_read(test->probe, UVZK__RPC_GET, "/a", true);
    native_await(test, &test->server.requests, test->server.requests + 1);
    ask_unwatch(first);
    scripted_server_reply(&test->server, test->server.last_xid, UVZK__OPCODE_GET_DATA,
                          -101);
    assert_int_equal(ask_wait(second), UVZK_ENONODE);
    test->server.answers = true;
    native_settle(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "get /a watched; remove /a 2; sync /settle");
    native_end(test);
}

/* ... and are armed again as one. */
static void watches_of_one_path_are_armed_again(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *first = watch_on(test->probe, UVZK__RPC_GET, "/a");
    struct ask *second = watch_on(test->probe, UVZK__RPC_GET, "/a");
    struct ask *given_up = watch_on(test->probe, UVZK__RPC_CHILDREN, "/a");
    struct ask *children = watch_on(test->probe, UVZK__RPC_CHILDREN, "/a");
    ask_unwatch(given_up);
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 4; rearm from 4; rearm data /a; "
                        "rearm child /a; sync /settle");
    scripted_server_event(&test->server, 2, "/a");
    ask_await_event(children, UVZK__WATCH_DELETED);
    assert_int_equal(first->fired + second->fired, 2);
    assert_true(first->fired_nth < second->fired_nth);
    assert_int_equal(given_up->fired, 0);
    native_end(test);
}

/* Neither kind hears of the other's changes. */
static void a_watch_hears_of_its_own_kind(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    struct ask *data = watch_on(test->probe, UVZK__RPC_GET, "/a");
    struct ask *children = watch_on(test->probe, UVZK__RPC_CHILDREN, "/b");
    scripted_server_event(&test->server, 4, "/a");
    scripted_server_event(&test->server, 3, "/b");
    scripted_server_event(&test->server, 1, "/b");
    scripted_server_event(&test->server, 9, "/b");
    native_settle(test);
    assert_int_equal(data->fired + children->fired, 0);
    scripted_server_event(&test->server, 2, "/a");
    scripted_server_event(&test->server, 2, "/b");
    ask_await_event(data, UVZK__WATCH_DELETED);
    ask_await_event(children, UVZK__WATCH_DELETED);
    native_end(test);
}

/* The reply that would have armed it does not come any more. */
static void a_watch_that_was_not_armed_is_dropped_with_the_connection(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    struct ask *ask = ask_read(test->probe, UVZK__RPC_GET, "/a", true);
    struct ask *given_up = ask_read(test->probe, UVZK__RPC_GET, "/b", true);
    ask_unwatch(given_up);
    native_await(test, &test->server.requests, 3);
    test->server.answers = true;
    lose_connection(test);
    assert_int_equal(ask->status, UVZK_ECONNLOSS);
    assert_null(ask->watch.armed);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 0; sync /settle");
    native_end(test);
}

/* With the modes that servers from 3.6 on accept. It is not armed again on the next
 * connection. What a server says of children's children, of the watch's own children and
 * of its siblings is not for it. */
static void a_persistent_watch_is_added_and_removed(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    (void)scripted_server_heard(&test->server);
    struct ask *watch = ask_add_watch(test->probe, "/a");
    assert_int_equal(ask_wait(watch), 0);
    scripted_server_event(&test->server, 4, "/a");
    scripted_server_event(&test->server, 4, "/a/b");
    scripted_server_event(&test->server, 1, "/a/b/c");
    scripted_server_event(&test->server, 1, "/ab");
    scripted_server_event(&test->server, 1, "/");
    native_settle(test);
    assert_int_equal(watch->fired, 0);
    scripted_server_event(&test->server, 1, "/a/b");
    scripted_server_event(&test->server, 2, "/a");
    native_settle(test);
    assert_int_equal(watch->fired, 2);
    ask_unwatch(watch);
    (void)ask_wait(ask_add_watch(test->probe, "/a"));
    assert_string_equal(scripted_server_heard(&test->server),
                        "add watch /a 1; sync /settle; sync /settle; remove /a 3; "
                        "add watch /a 1");
    lose_connection(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 5; sync /settle");
    native_end(test);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_watch_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(watches_are_armed_again),
        CASE(many_watches_are_armed_by_several_requests),
        CASE(half_a_rearming_shows_nothing),
        CASE(an_event_does_not_hide_the_next_one),
        CASE(watches_are_lost_where_they_cannot_be_armed_again),
        CASE(watches_are_lost_where_the_request_is_refused),
        CASE(a_watch_is_removed_before_the_next_one),
        CASE(the_last_watch_of_a_kind_is_removed),
        CASE(watches_of_one_path_are_armed_again),
        CASE(a_watch_hears_of_its_own_kind),
        CASE(a_watch_that_was_not_armed_is_dropped_with_the_connection),
        CASE(a_persistent_watch_is_added_and_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
