/* CMD as a process: run, waited for, signalled. */
#ifndef CHILD_COMMAND_H
#define CHILD_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "terminal.h"

struct child_command_options {
    char **command;
    const char *path; /* UVZK_PATH */
    const char *node; /* UVZK_NODE */
    int64_t token;    /* UVZK_TOKEN */
    const sigset_t *mask;
    const struct terminal *terminal;
};

/* Runs it as the leader of a new process group, and waits until it has become CMD. Its
 * process id, or -errno. */
pid_t child_command_run(const struct child_command_options *);

#endif
