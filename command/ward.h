/* CMD as a process: run, waited for, signalled. */
#ifndef WARD_H
#define WARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "terminal.h"

struct ward_birth {
    char **command;
    const char *path; /* UVZK_PATH */
    const char *node; /* UVZK_NODE */
    int64_t token;    /* UVZK_TOKEN */
    const sigset_t *mask;
    const struct terminal *terminal;
};

/* Runs it as the leader of a new process group, and waits until it has become CMD. Its
 * process id, or -errno. */
pid_t ward_run(const struct ward_birth *);

#endif
