/* SPDX-License-Identifier: Apache-2.0 */
/* A line of log may be acted upon as anything else that is told: it used to be told
 * where it was written, in the midst of a machine's step or of the port's, and an act
 * of its reader's pulled the ground away from under them. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "engine/log.h"
#include "engine/session.h"
#include "failing_allocator.h"
#include "world.h"

#define PATIENCE_MS 600000U

enum verb { NOTHING, RELEASE, CANCEL, CLOSE_LOCK, CLOSE_CLIENT };

static struct world world;
static struct process process;
static struct hold holder, waiter;
static int lines, acts;
static enum verb verb;
static const char *cue; /* acts when a line contains it */
static char last[3 * 2048];

/* Each act is refused or done, as at any other time. */
static void act(void)
{
    acts++;
    if (verb == RELEASE && hold_holds(&holder) && !holder.releasing) {
        hold_release(&holder);
    } else if (verb == RELEASE) {
        assert_int_equal(uvzk_hold_release(&holder.request, hold_unexpected_cb),
                         UVZK_ENOTHELD);
    } else if (verb == CANCEL) {
        (void)uvzk_hold_cancel(&waiter.request);
    } else if (verb == CLOSE_LOCK) {
        (void)uvzk_lock_close(&process.mutex, NULL);
    } else if (verb == CLOSE_CLIENT && !process.closing) {
        process_close(&process);
    }
}

static void on_log(uvzk_client_t *teller, int level, const char *module, const char *line)
{
    (void)module;
    (void)level;
    assert_ptr_equal(teller, &process.client);
    assert_int_equal(process.closed, 0);
    lines++;
    (void)snprintf(last, sizeof(last), "%s", line);
    if (cue != NULL && strstr(line, cue) != NULL) {
        act();
    }
}

static void begin(void)
{
    uvzk_client_options_t options;

    lines = acts = 0;
    cue = NULL;
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.log_cb = on_log;
    process_begin(&process, &world, "a", &options);
    assert_true(process_await_connected(&process, PATIENCE_MS));
}

static void expect_lines(int count, const char *text)
{
    assert_true(world_await_count(&world, &lines, count, PATIENCE_MS));
    assert_int_equal(lines, count);
    assert_string_equal(last, text);
}

/* ------------------------------------------------------ acting inside a line */

static void with_each_verb(void (*happens)(void), const char *line)
{
    for (verb = NOTHING; verb <= CLOSE_CLIENT; verb++) {
        begin();
        world.holder_deleted = true;
        hold_take(&holder, &process);
        hold_begin(&waiter, &process, UVZK_WAIT_FOREVER);
        assert_true(world_await(&world, &waiter.queued, PATIENCE_MS));
        cue = line;
        happens();
        assert_true(world_await(&world, &acts, PATIENCE_MS));
        cue = NULL;
        world_run_for(&world, 60000);
        world_end(&world);
        assert_true(hold_over(&holder) && hold_over(&waiter));
    }
}

static void the_holders_is_deleted(void)
{
    world_delete_child(&world, WORLD_PATH, 0);
}

static void the_waiters_is_deleted(void)
{
    world_delete_child(&world, WORLD_PATH, 1);
    hold_release(&holder);
}

static void the_connection_is_lost(void)
{
    sim_disconnect(process.port, SIM_RESET, 100);
}

static void test_acts_upon_a_deleted_hold(void **state)
{
    (void)state;
    with_each_verb(the_holders_is_deleted, "was deleted by another client");
}

static void test_acts_upon_a_deleted_waiter(void **state)
{
    (void)state;
    with_each_verb(the_waiters_is_deleted, "was deleted by another client");
}

static void on_revoke(uvzk_hold_t *request)
{
    (void)request;
}

/* At its end, the server may report the deletion of the session's znodes first. */
static void test_no_other_client_ends_a_session(void **state)
{
    uvzk_acquire_options_t options;
    (void)state;
    verb = NOTHING;
    begin();
    cue = "was deleted by another client";
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoke; /* it watches its own znode */
    assert_int_equal(hold_ask(&holder, &process, NULL, &options), 0);
    hold_await(&holder, PATIENCE_MS);
    world_run_for(&world, 100);
    process_expire(&process);
    assert_true(world_await(&world, &holder.lost, PATIENCE_MS));
    assert_int_equal(holder.reason, UVZK_EDELETED);
    assert_true(world_await(&world, &process.lost, PATIENCE_MS));
    world_run_for(&world, 1000);
    assert_int_equal(acts, 0);
    cue = NULL;
    world_end(&world);
}

static void test_acts_upon_a_line_of_the_port(void **state)
{
    (void)state;
    with_each_verb(the_connection_is_lost, "connection lost");
}

/* ------------------------------------------------------------------- bounds */

static void test_lines_are_told_later_in_order(void **state)
{
    (void)state;
    begin();
    uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "first");
    uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "sec\nond");
    assert_int_equal(lines, 0);
    expect_lines(2, "sec\\x0aond");
    world_end(&world);
}

static void test_so_many_lines_wait(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < UVZK__LOG_LINES + 44; i++) {
        uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "line %u", i);
    }
    expect_lines((int)UVZK__LOG_LINES + 1, "lines of this log that were dropped: 44");
    uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "another");
    expect_lines((int)UVZK__LOG_LINES + 2, "another");
    world_end(&world);
}

static void test_so_many_bytes_wait(void **state)
{
    char text[1025];
    (void)state;
    begin();
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (unsigned i = 0; i < UVZK__LOG_BYTES / 1024 + 3; i++) {
        uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "%s", text);
    }
    expect_lines((int)UVZK__LOG_BYTES / 1024 + 1,
                 "lines of this log that were dropped: 3");
    world_end(&world);
}

static void test_a_line_without_memory_is_dropped(void **state)
{
    (void)state;
    begin();
    failing_allocator_arm(1, 1);
    uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "first");
    failing_allocator_arm(0, 0);
    expect_lines(1, "lines of this log that were dropped: 1");
    world_end(&world);
}

/* on_log fails at a line after the close. */
static void test_no_line_after_the_close(void **state)
{
    const struct uvzk__session *session;
    (void)state;
    begin();
    session = process.client.impl;
    process_close(&process);
    while (!uvzk__session_port_is_closing(session)) {
        world_steps(&world, 1);
    }
    uvzk__log(process.client.impl, UVZK_LOG_WARN, "test", "late");
    world_end(&world);
    assert_int_equal(lines, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acts_upon_a_deleted_hold),
        cmocka_unit_test(test_acts_upon_a_deleted_waiter),
        cmocka_unit_test(test_no_other_client_ends_a_session),
        cmocka_unit_test(test_acts_upon_a_line_of_the_port),
        cmocka_unit_test(test_lines_are_told_later_in_order),
        cmocka_unit_test(test_so_many_lines_wait),
        cmocka_unit_test(test_so_many_bytes_wait),
        cmocka_unit_test(test_a_line_without_memory_is_dropped),
        cmocka_unit_test(test_no_line_after_the_close),
    };
    return failing_allocator_install() < 0
               ? 1
               : cmocka_run_group_tests_name("log_lines_may_act", tests, NULL, NULL);
}
