/* SPDX-License-Identifier: Apache-2.0 */
/* The native port with options.sasl, by DIGEST-MD5: nothing is sent before the server has
 * accepted the client, at every connection; and what follows each kind of refusal. */
#include "native_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/native_port.h"
#include "run_loop.h"

static char password_file[] = "/tmp/uvzk-password-XXXXXX";
static char sasl[128];

static int write_password(void **state)
{
    int fd = mkstemp(password_file);
    (void)state;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "secret\n", 7), 7);
    close(fd);
    snprintf(sasl, sizeof(sasl), "mechanism=DIGEST-MD5,user=bob,password-file=%s",
             password_file);
    return 0;
}

static int remove_password(void **state)
{
    (void)state;
    return unlink(password_file);
}

static int with_sasl(void **state)
{
    (void)native_test_reset(state);
    native_test_settings.sasl = sasl;
    return 0;
}

/* ------------------------------------------------------------------------- it is accepted */

static void nothing_is_sent_before_it_is_accepted(void **state)
{
    (void)state;
    native_test_settings.auth_scheme = "digest";
    struct native_test *test = native_begin_connected();
    struct ask *watch = watch_on(test->probe, UVZK__RPC_GET, "/a");
    assert_non_null(watch->watch.armed);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 0 zxid 0; sasl; response; auth digest; get /a watched");
    native_reconnect(test);
    native_settle(test);
    assert_string_equal(scripted_server_heard(&test->server),
                        "connect 101 zxid 2; sasl; response; auth digest; rearm from 2; "
                        "rearm data /a; sync /settle");
    native_end(test);
}

/* It is read at each connection. */
static void a_password_may_change(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    assert_int_equal(truncate(password_file, 0), 0);
    scripted_server_drop(&test->server);
    probe_await(test->probe, &test->probe->troubles, test->probe->troubles + 2);
    assert_non_null(strstr(test->probe->trouble_text, "has no password"));
    assert_int_equal(test->probe->sessions[UVZK__SESSION_AUTH_FAILED], 0);
    FILE *file = fopen(password_file, "w");
    assert_non_null(file);
    fputs("secret", file);
    fclose(file);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_EXPIRED], 0);
    native_end(test);
}

/* ------------------------------------------------------------------------ it is refused */

/* There was no session yet. */
static void is_given_up(enum scripted_sasl kind, const char *text)
{
    struct native_test *test = native_begin();

    test->server.sasl = kind;
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_CONNECTED], 0);
    assert_int_equal(test->probe->trouble_code, UVZK_EAUTH);
    assert_non_null(strstr(test->probe->trouble_text, text));
    assert_int_equal(test->server.connects, 1);
    native_end(test);
}

static void who_does_not_accept_it_ends_the_search(void **state)
{
    (void)state;
    is_given_up(SASL_ABSENT, "offers no SASL");
    is_given_up(SASL_LAX, "would serve without");
    is_given_up(SASL_IMPOSTOR, "does not prove");
    is_given_up(SASL_REFUSES, "refused the client by SASL");
    is_given_up(SASL_DEMANDS, "refused the client by SASL");
    is_given_up(SASL_BABBLES, "no challenge of DIGEST-MD5");
}

/* The session lives, and another server may accept it, or this one later. */
static void a_session_that_lives_is_not_given_up(void **state)
{
    static const enum scripted_sasl kinds[] = {SASL_ABSENT, SASL_LAX, SASL_IMPOSTOR,
                                               SASL_BABBLES, SASL_STRANGE};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct native_test *test = native_begin_connected();
        test->server.sasl = kinds[i];
        unsigned connects = test->server.connects;
        scripted_server_drop(&test->server);
        native_await(test, &test->server.connects, connects + 2);
        test->server.sasl = SASL_RIGHT;
        probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
        assert_int_equal(test->probe->sessions[UVZK__SESSION_EXPIRED], 0);
        assert_int_equal(test->probe->sessions[UVZK__SESSION_AUTH_FAILED], 0);
        native_end(test);
    }
}

static void a_refusal_ends_a_session_that_lives(void **state)
{
    (void)state;
    struct native_test *test = native_begin_connected();
    test->server.sasl = SASL_REFUSES;
    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    native_end(test);
}

/* Its session is not known yet, so it is not continued. */
static void who_does_not_answer_is_left(void **state)
{
    (void)state;
    native_test_settings.session_timeout_ms = 600;
    struct native_test *test = native_begin();
    test->server.sasl = SASL_SILENT;
    probe_open(test->probe);
    native_await(test, &test->server.connects, 2);
    assert_int_equal(test->probe->trouble_code, UV_ETIMEDOUT);
    assert_non_null(strstr(test->probe->trouble_text, "has not answered to SASL"));
    assert_non_null(strstr(scripted_server_heard(&test->server),
                           "connect 0 zxid 0; sasl; connect 0 zxid 0"));
    test->server.sasl = SASL_RIGHT;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    native_end(test);
}

static void a_close_ends_the_session_that_was_granted(void **state)
{
    (void)state;
    struct native_test *test = native_begin();
    test->server.sasl = SASL_SILENT;
    probe_open(test->probe);
    native_await(test, &test->server.connects, 1);
    probe_close(test->probe);
    native_await(test, &test->server.closes, 1);
    native_end(test);
}

/* ------------------------------------------------- a server that serves only who says who */

static void who_demands_it_ends_the_search(void **state)
{
    (void)state;
    native_test_settings.sasl = NULL;
    struct native_test *test = native_begin();
    test->server.demands = true;
    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_CONNECTED], 0);
    assert_int_equal(test->probe->trouble_code, UVZK_EAUTH);
    assert_non_null(strstr(test->probe->trouble_text, "options.sasl is not set"));
    native_end(test);
}

/* As one whose administrator has just switched it on. */
static void who_demands_it_later_ends_the_session(void **state)
{
    (void)state;
    native_test_settings.sasl = NULL;
    struct native_test *test = native_begin_connected();
    test->server.demands = true;
    struct ask *ask = ask_sync(test->probe, "/a");
    probe_await_session(test->probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(ask_wait(ask), UVZK_ECONNLOSS);
    assert_int_equal(test->probe->trouble_code, UVZK_EAUTH);
    native_end(test);
}

int native_authentication_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_sent_before_it_is_accepted, with_sasl),
        cmocka_unit_test_setup(a_password_may_change, with_sasl),
        cmocka_unit_test_setup(who_does_not_accept_it_ends_the_search, with_sasl),
        cmocka_unit_test_setup(a_session_that_lives_is_not_given_up, with_sasl),
        cmocka_unit_test_setup(a_refusal_ends_a_session_that_lives, with_sasl),
        cmocka_unit_test_setup(who_does_not_answer_is_left, with_sasl),
        cmocka_unit_test_setup(a_close_ends_the_session_that_was_granted, with_sasl),
        cmocka_unit_test_setup(who_demands_it_ends_the_search, with_sasl),
        cmocka_unit_test_setup(who_demands_it_later_ends_the_session, with_sasl),
    };
    return cmocka_run_group_tests(tests, write_password, remove_password);
}
