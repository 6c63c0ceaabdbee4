/* SPDX-License-Identifier: Apache-2.0 */
/* What the native port asks its first server, and what it does without. */
#include <string.h>

#include "native_test.h"

static const uint32_t everything = (1U << UVZK__FEATURES) - 1;

static struct native_test *begin(uint32_t unknown, bool unimplemented)
{
    struct native_test *test = native_begin();

    test->server.unknown = test->other.unknown = unknown;
    test->server.unimplemented = test->other.unimplemented = unimplemented;
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    return test;
}

/* The user has heard of one connection, and of nothing before it. */
static void assert_heard_once(const struct native_test *test)
{
    assert_int_equal(test->probe->sessions[UVZK__SESSION_CONNECTED], 1);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_SUSPENDED], 0);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_EXPIRED], 0);
}

static void questions_take_one_connection(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    assert_int_equal(test->server.questions, UVZK__FEATURES);
    assert_int_equal(test->server.connects, 1);
    assert_false(test->server.question_sets_watch);
    native_reconnect(test);
    assert_int_equal(test->server.questions, UVZK__FEATURES);
    native_end(test);
}

/* All at once in vain, then each alone: one connection more than features, and a last one
 * on which there is nothing to ask. */
static void a_server_that_hangs_up_is_asked_once(void **state)
{
    (void)state;
    struct native_test *test = begin(everything, false);
    assert_heard_once(test);
    assert_int_equal(test->server.connects, UVZK__FEATURES + 2);
    unsigned questions = test->server.questions;
    native_reconnect(test);
    assert_int_equal(test->server.questions, questions);
    native_end(test);
}

/* Each answer names what is missing. */
static void a_server_that_says_so_is_asked_once(void **state)
{
    (void)state;
    struct native_test *test = begin(everything, true);
    assert_heard_once(test);
    assert_int_equal(test->server.connects, UVZK__FEATURES + 1);
    native_end(test);
}

static void assert_does_without(struct native_test *test, uint32_t unknown)
{
    bool removes = (unknown & 1U << UVZK__FEATURE_REMOVAL) == 0;
    bool has_containers = (unknown & 1U << UVZK__FEATURE_CONTAINERS) == 0;
    bool has_stat = (unknown & 1U << UVZK__FEATURE_CREATE2) == 0;
    bool has_persistent = (unknown & 1U << UVZK__FEATURE_PERSISTENT) == 0;

    (void)scripted_server_heard(&test->server);
    assert_int_equal(ask_wait(ask_create(test->probe, "/a", UVZK__PERSISTENT)), 0);
    assert_string_equal(scripted_server_heard(&test->server),
                        has_stat ? "create /a" : "old create /a");
    assert_int_equal(ask_wait(ask_create(test->probe, "/c", UVZK__CONTAINER)),
                     has_containers ? 0 : UVZK_EUNIMPLEMENTED);
    assert_int_equal(ask_wait(ask_add_watch(test->probe, "/p")),
                     has_persistent ? 0 : UVZK_EUNIMPLEMENTED);
    (void)scripted_server_heard(&test->server);
    ask_unwatch(watch_on(test->probe, UVZK__RPC_GET, "/w"));
    native_settle(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        removes ? "get /w watched; remove /w 2; sync /settle"
                                : "get /w watched; sync /settle");
}

static void each_feature_is_done_without(void **state)
{
    (void)state;
    for (uint32_t unknown = 0; unknown <= everything; unknown++) {
        struct native_test *test = begin(unknown, unknown % 2 == 0);
        assert_heard_once(test);
        assert_does_without(test, unknown);
        native_end(test);
    }
}

/* The watch that the server still has fires for nobody, also if the path has another
 * one. */
static void a_watch_that_stays_at_the_server_is_silent(void **state)
{
    (void)state;
    struct native_test *test = begin(1U << UVZK__FEATURE_REMOVAL, false);
    struct ask *first = watch_on(test->probe, UVZK__RPC_GET, "/w");
    ask_unwatch(first);
    scripted_server_event(&test->server, 3, "/w");
    native_settle(test);
    struct ask *next = watch_on(test->probe, UVZK__RPC_GET, "/w");
    assert_int_equal(first->fired + next->fired, 0);
    scripted_server_event(&test->server, 3, "/w");
    ask_await_event(next, UVZK__WATCH_CHANGED);
    assert_int_equal(first->fired, 0);
    native_end(test);
}

/* What the port refuses itself is replied when all before it is, even if nothing comes
 * after that. */
static void a_refusal_comes_behind_an_answer(void **state)
{
    (void)state;
    struct native_test *test = begin(1U << UVZK__FEATURE_CONTAINERS, false);
    struct ask *answered = ask_read(test->probe, UVZK__RPC_GET, "/a", false);
    struct ask *refused = ask_create(test->probe, "/c", UVZK__CONTAINER);
    assert_int_equal(ask_wait(refused), UVZK_EUNIMPLEMENTED);
    assert_int_equal(answered->status, 0);
    assert_true(answered->replied_nth < refused->replied_nth);
    native_end(test);
}

/* The port has nothing left of it when its reply comes. */
static void a_watch_is_given_up_before_its_reply(void **state)
{
    (void)state;
    struct native_test *test = begin(1U << UVZK__FEATURE_REMOVAL, false);
    struct ask *first = ask_read(test->probe, UVZK__RPC_GET, "/w", true);
    ask_unwatch(first);
    struct ask *next = ask_read(test->probe, UVZK__RPC_GET, "/w", true);
    assert_int_equal(ask_wait(first), 0);
    assert_int_equal(ask_wait(next), 0);
    assert_null(first->watch.armed);
    assert_non_null(next->watch.armed);
    scripted_server_event(&test->server, 3, "/w");
    ask_await_event(next, UVZK__WATCH_CHANGED);
    assert_int_equal(first->fired, 0);
    native_end(test);
}

/* A server that is too slow is not one that does not know. */
static void a_silent_server_is_not_blamed(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    native_test_settings.two_servers = true;
    struct native_test *test = native_begin();
    test->other.session_id = 0x777;
    test->server.ignores_questions = true;
    test->other.ignores_questions = true;
    probe_open(test->probe);
    native_await(test, &test->other.questions, 1);
    native_await(test, &test->server.questions, 1);
    test->server.ignores_questions = test->other.ignores_questions = false;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    assert_heard_once(test);
    assert_int_equal(ask_wait(ask_create(test->probe, "/c", UVZK__CONTAINER)), 0);
    native_end(test);
}

/* ... and the session ends there. */
static void a_port_is_closed_while_it_asks(void **state)
{
    (void)state;
    struct native_test *test = native_begin();
    test->server.ignores_questions = true;
    probe_open(test->probe);
    native_await(test, &test->server.questions, UVZK__FEATURES);
    probe_close(test->probe);
    native_await(test, &test->server.closes, 1);
    native_end(test);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_dialect_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(questions_take_one_connection),
        CASE(a_server_that_hangs_up_is_asked_once),
        CASE(a_server_that_says_so_is_asked_once),
        CASE(each_feature_is_done_without),
        CASE(a_watch_that_stays_at_the_server_is_silent),
        CASE(a_watch_is_given_up_before_its_reply),
        CASE(a_refusal_comes_behind_an_answer),
        CASE(a_silent_server_is_not_blamed),
        CASE(a_port_is_closed_while_it_asks),
    };
    return cmocka_run_group_tests_name("native_dialect", tests, NULL, NULL);
}
