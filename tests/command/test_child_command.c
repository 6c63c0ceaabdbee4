/* SPDX-License-Identifier: Apache-2.0 */
/* How CMD is started, and what is known of it when that fails: a child of which it is not
 * known whether it runs CMD must not be taken for CMD. */
#include "child_command.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

static int read_error; /* of each read() in child_command.c; 0: it is not replaced */

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    if (read_error != 0) {
        errno = read_error;
        return -1;
    }
    return __real_read(fd, buffer, size);
}

static pid_t run(char **command)
{
    static sigset_t mask;
    static const struct terminal no_terminal = {.fd = -1};
    const struct child_command_options options = {.command = command,
                                                  .path = "/a",
                                                  .node = "/a/1",
                                                  .token = 7,
                                                  .held = "held",
                                                  .mask = &mask,
                                                  .terminal = &no_terminal};

    sigemptyset(&mask);
    return child_command_run(&options);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void it_is_run_with_its_environment(void **state)
{
    char script[] = "test \"$UVZK_PATH $UVZK_NODE $UVZK_TOKEN $UVZK_HELD\" = "
                    "'/a /a/1 7 held' && exit 5";
    char *command[] = {"sh", "-c", script, NULL};
    int status;

    (void)state;
    pid_t child = run(command);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_no_child();
}

static void what_cannot_be_run_leaves_no_child(void **state)
{
    char *command[] = {"/nowhere/at/all", NULL};

    (void)state;
    assert_int_equal(run(command), -ENOENT);
    assert_no_child();
}

static void an_unreadable_result_is_a_failure(void **state)
{
    char *command[] = {"sleep", "1000", NULL};

    (void)state;
    read_error = EIO;
    assert_int_equal(run(command), -EIO);
    read_error = 0;
    assert_no_child();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_run_with_its_environment),
        cmocka_unit_test(what_cannot_be_run_leaves_no_child),
        cmocka_unit_test(an_unreadable_result_is_a_failure),
    };

    return cmocka_run_group_tests_name("child command", tests, NULL, NULL);
}
