/* A line of log may be acted upon as anything else that is told: it used to be told
 * where it was written, in the midst of a machine's step or of the port's, and an act
 * of its reader's pulled the ground away from under them. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attempt.h"
#include "client/client.h"
#include "engine/client.h"
#include "engine/log.h"
#include "scarce.h"
#include "sim.h"

#define LOCK "/locks/a"
#define PATIENCE_MS 600000U

enum verb { NOTHING, RELEASE, CANCEL, CLOSE_LOCK, CLOSE_CLIENT };

static struct sim *sim;
static struct uvzk__port *port;
static uvzk_client_t client;
static uvzk_mutex_t mutex;
static struct attempt holder, waiter;
static int closed, lines, acts;
static enum verb verb;
static const char *cue; /* acts when a line contains it */
static char last[3 * 2048];

#define UNTIL(condition)                                \
    do {                                                \
        uint64_t deadline = sim_now(sim) + PATIENCE_MS; \
        while (!(condition)) {                          \
            assert_true(sim_now(sim) < deadline);       \
            assert_true(sim_step(sim));                 \
        }                                               \
    } while (0)

static void on_closed(uvzk_client_t *closing)
{
    assert_ptr_equal(closing, &client);
    closed++;
}

/* Each act is refused or done, as at any other time. */
static void act(void)
{
    acts++;
    if (verb == RELEASE) {
        (void)attempt_release(&holder);
    } else if (verb == CANCEL) {
        (void)uvzk_hold_cancel(&waiter.request);
    } else if (verb == CLOSE_LOCK) {
        (void)uvzk_lock_close(&mutex, NULL);
    } else if (verb == CLOSE_CLIENT) {
        (void)uvzk_client_close(&client, on_closed);
    }
}

static void on_log(uvzk_client_t *teller, int level, const char *line)
{
    (void)level;
    assert_ptr_equal(teller, &client);
    assert_int_equal(closed, 0);
    lines++;
    snprintf(last, sizeof(last), "%s", line);
    if (cue != NULL && strstr(line, cue) != NULL) {
        act();
    }
}

static void begin(void)
{
    uvzk_client_options_t options;
    sim = sim_new(1, NULL);
    memset(&client, 0, sizeof(client));
    memset(&mutex, 0, sizeof(mutex));
    memset(&holder, 0, sizeof(holder));
    memset(&waiter, 0, sizeof(waiter));
    closed = lines = acts = 0;
    verb = NOTHING;
    cue = NULL;
    port = sim_port_new(sim, "here");
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = 10000;
    options.log_cb = on_log;
    assert_int_equal(uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL), 0);
    assert_int_equal(uvzk_client_start(&client), 0);
    UNTIL(uvzk_client_state(&client) == UVZK_STATE_CONNECTED);
}

static void begin_with_both(void)
{
    begin();
    assert_int_equal(uvzk_mutex_init(&client, &mutex, LOCK), 0);
    assert_int_equal(attempt_start(&holder, &mutex, NULL), 0);
    UNTIL(attempt_holds(&holder));
    assert_int_equal(attempt_start(&waiter, &mutex, NULL), 0);
    UNTIL(waiter.queued == 1);
}

static void end(void)
{
    if (uvzk_client_state(&client) != UVZK_STATE_CLOSED) {
        assert_int_equal(uvzk_client_close(&client, on_closed), 0);
    }
    UNTIL(closed == 1);
    assert_null(client.impl);
    sim_free(sim); /* aborts if anything is left */
}

static bool is_over(const struct attempt *attempt)
{
    return attempt->acquired == 0 || attempt_is_over(attempt);
}

/* ------------------------------------------------------ acting inside a line */

/* The children of the lock are the holder's znode and the waiter's. */
static void somebody_deletes(size_t child)
{
    const char *names[2];
    char path[256];
    assert_int_equal(sim_children(sim, LOCK, names, 2), 2);
    snprintf(path, sizeof(path), LOCK "/%s", names[child]);
    assert_int_equal(sim_delete_by_hand(sim, path), 0);
}

static void with_each_verb(void (*happens)(void), const char *line)
{
    for (verb = NOTHING; verb <= CLOSE_CLIENT; verb++) {
        enum verb wanted = verb;
        begin_with_both();
        verb = wanted;
        cue = line;
        happens();
        UNTIL(acts > 0);
        cue = NULL;
        sim_run_for(sim, 60000);
        end();
        assert_true(is_over(&holder) && is_over(&waiter));
        verb = wanted;
    }
}

static void the_holders_is_deleted(void)
{
    somebody_deletes(0);
}

static void the_waiters_is_deleted(void)
{
    somebody_deletes(1);
    assert_int_equal(attempt_release(&holder), 0);
}

static void the_connection_is_lost(void)
{
    sim_disconnect(port, SIM_RESET, 100);
}

static void test_acts_upon_a_deleted_hold(void **state)
{
    (void)state;
    with_each_verb(the_holders_is_deleted, "was deleted by somebody else");
}

static void test_acts_upon_a_deleted_waiter(void **state)
{
    (void)state;
    with_each_verb(the_waiters_is_deleted, "was deleted by somebody else");
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
    uvzk__log(client.impl, UVZK_LOG_WARN, "first");
    uvzk__log(client.impl, UVZK_LOG_WARN, "sec\nond");
    assert_int_equal(lines, 0);
    UNTIL(lines == 2);
    assert_string_equal(last, "sec\\x0aond");
    end();
}

static void test_so_many_lines_wait(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < UVZK__LOG_LINES + 44; i++) {
        uvzk__log(client.impl, UVZK_LOG_WARN, "line %u", i);
    }
    UNTIL(lines == (int)UVZK__LOG_LINES + 1);
    assert_string_equal(last, "lines of this log that were dropped: 44");
    uvzk__log(client.impl, UVZK_LOG_WARN, "another");
    UNTIL(lines == (int)UVZK__LOG_LINES + 2);
    assert_string_equal(last, "another");
    end();
}

static void test_so_many_bytes_wait(void **state)
{
    char text[1025];
    (void)state;
    begin();
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (unsigned i = 0; i < UVZK__LOG_BYTES / 1024 + 3; i++) {
        uvzk__log(client.impl, UVZK_LOG_WARN, "%s", text);
    }
    UNTIL(lines == (int)UVZK__LOG_BYTES / 1024 + 1);
    assert_string_equal(last, "lines of this log that were dropped: 3");
    end();
}

static void test_a_line_without_memory_is_dropped(void **state)
{
    (void)state;
    begin();
    scarce_arm(1, 1);
    uvzk__log(client.impl, UVZK_LOG_WARN, "first");
    scarce_arm(0, 0);
    UNTIL(lines == 1);
    assert_string_equal(last, "lines of this log that were dropped: 1");
    end();
}

/* on_log fails at a line after the close. */
static void test_no_line_after_the_close(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvzk_client_close(&client, on_closed), 0);
    UNTIL(((struct uvzk__client *)client.impl)->port_closing);
    uvzk__log(client.impl, UVZK_LOG_WARN, "late");
    UNTIL(closed == 1);
    assert_int_equal(lines, 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acts_upon_a_deleted_hold),
        cmocka_unit_test(test_acts_upon_a_deleted_waiter),
        cmocka_unit_test(test_acts_upon_a_line_of_the_port),
        cmocka_unit_test(test_lines_are_told_later_in_order),
        cmocka_unit_test(test_so_many_lines_wait),
        cmocka_unit_test(test_so_many_bytes_wait),
        cmocka_unit_test(test_a_line_without_memory_is_dropped),
        cmocka_unit_test(test_no_line_after_the_close),
    };
    return scarce_install() < 0
               ? 1
               : cmocka_run_group_tests_name("log_lines_may_act", tests, NULL, NULL);
}
