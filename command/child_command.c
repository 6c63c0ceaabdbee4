/* SPDX-License-Identifier: Apache-2.0 */
/* Starts CMD in its own process group with its environment (child_command.h). A pipe that
 * closes on exec reports whether CMD could be run. supervisor.c calls it. */
#include "child_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_environment(const struct child_command_options *options)
{
    char token[32];

    snprintf(token, sizeof(token), "%" PRId64, options->token);
    if (setenv("UVZK_PATH", options->path, 1) != 0 ||
        setenv("UVZK_NODE", options->node, 1) != 0 ||
        setenv("UVZK_TOKEN", token, 1) != 0 ||
        setenv("UVZK_HELD", options->held, 1) != 0) {
        return -errno;
    }
    return 0;
}

/* Runs in the child between fork and exec. Signals that were ignored when uvzk was
 * started are ignored in CMD too, because the supervisor changes no signal handler. */
static void become(const struct child_command_options *options, pid_t supervisor,
                   int report)
{
    struct terminal terminal = *options->terminal;
    int error;

    setpgid(0, 0);
    /* If the supervisor is killed, the kernel kills CMD. A supervisor that died before
     * this call does not count, so the parent is compared afterwards. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) {
        _exit(EXIT_FAILURE);
    }
    /* The supervisor gives the terminal too, but CMD may read from it before that. */
    if (terminal_is_wanted_at_once(&terminal)) {
        terminal_give(&terminal, getpid());
    }
    error = -set_environment(options);
    if (error == 0) {
        sigprocmask(SIG_SETMASK, options->mask, NULL);
        execvp(options->command[0], options->command);
        error = errno;
    }
    terminal_take_back(&terminal);
    /* If this write fails, the parent assumes that CMD has started, and waits for it. */
    ssize_t told = write(report, &error, sizeof(error));
    (void)told;
    _exit(EXIT_FAILURE);
}

/* Returns 0 if the child has executed CMD, or the errno that it has reported. If that cannot
 * be read, it is not known whether CMD runs, so the child is killed. */
static int error_of(pid_t child, int report)
{
    int error = 0;
    ssize_t length;

    do {
        length = read(report, &error, sizeof(error));
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        error = errno;
        kill(-child, SIGKILL);
    }
    if (length != 0) {
        waitpid(child, NULL, 0);
    }
    return error;
}

pid_t child_command_run(const struct child_command_options *options)
{
    int report[2], error = 0;
    pid_t supervisor = getpid();

    /* A successful exec closes the pipe. A failed exec writes its errno into it. */
    if (pipe2(report, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        become(options, supervisor, report[1]);
    }
    error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        setpgid(pid, pid); /* also done by the child: either may run first */
        error = error_of(pid, report[0]);
    }
    close(report[0]);
    return error == 0 ? pid : -error;
}
