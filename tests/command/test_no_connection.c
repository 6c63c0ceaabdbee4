/* SPDX-License-Identifier: Apache-2.0 */
/* When the command reports that it has no connection, and in which words. The timer, the
 * clock and the client's last error are the test's. */
#include "no_connection.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"

#define SECOND 1000U

static uint64_t now, due; /* due 0: the timer is stopped */
static uv_timer_cb due_cb;
static uvzk_client_error_t last_error;
static uv_loop_t loop;
static uvzk_client_t client;
static struct no_connection no_connection;

uint64_t __wrap_uvzk_now(void);
uint64_t __wrap_uvzk_now(void)
{
    return now;
}

int __wrap_uvzk_client_last_error(const uvzk_client_t *asked, uvzk_client_error_t *error);
int __wrap_uvzk_client_last_error(const uvzk_client_t *asked, uvzk_client_error_t *error)
{
    assert_ptr_equal(asked, &client);
    *error = last_error;
    return 0;
}

int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout,
                          uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout,
                          uint64_t repeat)
{
    assert_ptr_equal(timer, &no_connection.timer);
    assert_int_equal(repeat, 0);
    due = now + timeout;
    due_cb = cb;
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *timer);
int __wrap_uv_timer_stop(uv_timer_t *timer)
{
    assert_ptr_equal(timer, &no_connection.timer);
    due = 0;
    return 0;
}

static void begin(void)
{
    now = 100 * SECOND;
    due = 0;
    last_error = (uvzk_client_error_t){.address = "", .text = ""};
    assert_int_equal(uv_loop_init(&loop), 0);
    no_connection_init(&no_connection, &loop, &client, "a:1,b:2", "");
}

static void end(void)
{
    uv_close((uv_handle_t *)&no_connection.timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Lets the timer fire when it is due, and returns what is printed on standard error. */
static const char *fire(void)
{
    static char text[512];
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_not_equal(due, 0);
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    now = due;
    due_cb(&no_connection.timer);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void pauses_grow(void **state)
{
    static const unsigned moments_s[] = {5, 20, 65, 185, 305, 425};
    char line[64];

    (void)state;
    begin();
    assert_int_equal(due, 0);
    no_connection_begin(&no_connection);
    for (size_t i = 0; i < sizeof(moments_s) / sizeof(moments_s[0]); i++) {
        assert_int_equal(due, (100 + moments_s[i]) * SECOND);
        snprintf(line, sizeof(line),
                 "uvzk: no connection to a:1,b:2 for %u s, still trying\n", moments_s[i]);
        assert_string_equal(fire(), line);
    }
    end();
}

static void the_last_reason_is_named(void **state)
{
    (void)state;
    begin();
    no_connection_begin(&no_connection);
    last_error = (uvzk_client_error_t){
        .code = UV_ECONNREFUSED, .address = "10.0.0.1:1", .text = "connection refused"};
    assert_string_equal(fire(), "uvzk: no connection to a:1,b:2 for 5 s (10.0.0.1:1: "
                                "connection refused), still trying\n");
    last_error = (uvzk_client_error_t){
        .code = UVZK_EEXPIRED, .address = "", .text = "session expired"};
    assert_string_equal(fire(), "uvzk: no connection to a:1,b:2 for 20 s (session "
                                "expired), still trying\n");
    end();
}

static void a_connection_ends_it(void **state)
{
    (void)state;
    begin();
    no_connection_begin(&no_connection);
    fire();
    no_connection_begin(
        &no_connection); /* the session has ended too: it does not begin anew */
    assert_int_equal(due, 120 * SECOND);
    no_connection_end(&no_connection);
    assert_int_equal(due, 0);
    no_connection_begin(&no_connection);
    assert_int_equal(due, now + 5 * SECOND);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_grow),
        cmocka_unit_test(the_last_reason_is_named),
        cmocka_unit_test(a_connection_ends_it),
    };

    return cmocka_run_group_tests_name("no connection", tests, NULL, NULL);
}
