/* SPDX-License-Identifier: Apache-2.0 */
/* In a build with assertions, a broken invariant ends the process where it is found, and
 * says what is wrong. test_broken_client is about builds without. */
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/invariant.h"
#include "engine/session.h"

static struct world world;
static struct process a;

static void a_fault(struct uvzk__session *session)
{
    uvzk__broken(session, "a fault");
}

static void without_a_client(struct uvzk__session *session)
{
    (void)session;
    uvzk__broken(NULL, "a fault");
}

static void an_illegal_move(struct uvzk__session *session)
{
    uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_OPEN);
}

static void what_does_not_hold(struct uvzk__session *session)
{
    uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_ASKING);
    session->barrier.stamp = 0; /* it was sent before the connection */
    uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_OPEN);
}

static void an_expectation(struct uvzk__session *session)
{
    (void)uvzk__expect(session, false, "a fault");
}

static void nothing(struct uvzk__session *session)
{
    uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_ASKING);
    uvzk__move_or_stay(session, &uvzk__barrier_machine, session, UVZK__BARRIER_ASKING);
    (void)uvzk__expect(session, true, "no fault");
}

/* Runs the fault in a child process. Returns whether it aborts. text: what it wrote to
 * the standard error. */
static bool aborts(void (*fault)(struct uvzk__session *), char *text, size_t size)
{
    const struct rlimit no_core = {0, 0};
    int ends[2], status = 0;
    size_t length = 0;
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        signal(SIGABRT, SIG_DFL);
        fault(a.client.impl);
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void broken_aborts(void **state)
{
    static void (*const faults[])(struct uvzk__session *) = {
        a_fault, without_a_client, an_illegal_move, what_does_not_hold, an_expectation};
    char text[512];

    world_begin_one(&world, 1, state, &a);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        assert_true(aborts(faults[i], text, sizeof(text)));
        assert_non_null(strstr(text, "a broken invariant: "));
    }
    assert_true(aborts(an_illegal_move, text, sizeof(text)));
    assert_non_null(strstr(text, "barrier: illegal move from CLOSED to OPEN"));
    assert_false(aborts(nothing, text, sizeof(text)));
    assert_string_equal(text, "");
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(broken_aborts)};

    if (!WITH_ASSERTIONS) {
        puts("skipped: the library is built without UVZK_ASSERTIONS");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
