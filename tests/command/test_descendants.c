/* SPDX-License-Identifier: Apache-2.0 */
/* Who counts as a descendant that lives, also when the processes cannot be listed: whoever
 * waits until none is left must not take "not known" for "none". */
#include "descendants.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

static pid_t start_child(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

static void end_child(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_child_counts_while_it_lives(void **state)
{
    (void)state;
    assert_int_equal(descendants_signal(0, 0, 0), 0);
    pid_t child = start_child();
    assert_int_equal(descendants_signal(0, 0, 0), 1);
    assert_int_equal(descendants_signal(0, descendants_start_time(child) + 1, 0), 0);
    end_child(child);
    assert_int_equal(descendants_signal(0, 0, 0), 0);
}

static void a_descendant_knows_its_ancestors(void **state)
{
    pid_t self = getpid();
    unsigned long long start_time = descendants_start_time(self);
    int status;

    (void)state;
    assert_false(descendants_has(self, start_time));
    assert_true(descendants_has(getppid(), descendants_start_time(getppid())));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            _exit(descendants_has(self, start_time) &&
                          !descendants_has(self, start_time + 1)
                      ? 3
                      : 4);
        }
        waitpid(grandchild, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    assert_false(descendants_has(child, descendants_start_time(child)));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 3);
}

/* No file can be opened: whether there is a child is not known. */
static void not_known_is_not_none(void **state)
{
    struct rlimit limit, none;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    size_t alive = descendants_signal(0, 0, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(alive, 1);
}

/* Whoever has adopted finds all with the descriptors that it has. */
static void no_descriptor_is_needed(void **state)
{
    struct rlimit limit, none;
    (void)state;

    assert_int_equal(descendants_adopt(), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)dup(STDERR_FILENO); /* the lowest that is free */
    close((int)none.rlim_cur);
    pid_t child = start_child();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(dup(STDERR_FILENO), -1);
    size_t alive[] = {descendants_signal(0, 0, 0), descendants_signal(0, 0, 0)};
    unsigned long long start_time = descendants_start_time(child);
    end_child(child);
    size_t left = descendants_signal(0, 0, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(alive[0], 1);
    assert_int_equal(alive[1], 1);
    assert_int_not_equal(start_time, 0);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_counts_while_it_lives),
        cmocka_unit_test(a_descendant_knows_its_ancestors),
        cmocka_unit_test(not_known_is_not_none),
        cmocka_unit_test(no_descriptor_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
