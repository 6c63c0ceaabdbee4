/* SPDX-License-Identifier: Apache-2.0 */
/* Runs CMD, the command of `uvzk lock`, as a child process of the supervisor. */
#ifndef CHILD_COMMAND_H
#define CHILD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "terminal.h"

struct child_command_options {
    char **command;   /* for execvp(), with a NULL at the end */
    const char *path; /* of the lock, for UVZK_PATH */
    const char *node; /* path of the hold's znode, for UVZK_NODE */
    int64_t token;    /* fencing token, for UVZK_TOKEN */
    const char *held; /* enclosing_hold_add's text, for UVZK_HELD */
    /* The signal mask for CMD. The supervisor itself has all signals blocked. */
    const sigset_t *mask;
    const struct terminal *terminal;
};

/* Forks, makes the child the leader of a new process group, and waits until the child
 * has executed CMD. Returns the process id of CMD, or -errno if CMD could not be run;
 * then no child is left. All signals must be blocked, and the caller must have one
 * thread. */
pid_t child_command_run(const struct child_command_options *);

#endif
