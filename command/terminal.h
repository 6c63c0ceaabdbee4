/* SPDX-License-Identifier: Apache-2.0 */
/* The controlling terminal of `uvzk lock`, and which process group has it in the
 * foreground: the shell's job, of which the holder is a part, or CMD's own process
 * group.
 *
 * CMD gets the terminal at once if its standard input and output are terminals.
 * Otherwise it gets the terminal when it stops because it needs it (SIGTTIN, SIGTTOU):
 * another process of the job's pipeline may be reading from the terminal. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
    int fd;     /* /dev/tty; -1: there is no terminal */
    pid_t job;  /* process group of the shell's job, which gets the terminal back */
    bool given; /* CMD's group has it: given, and not taken back yet */
};

/* Returns true if this process has a controlling terminal. */
bool terminal_exists(void);

/* Opens the terminal. job: the process group of the process that the shell has
 * started. */
void terminal_init(struct terminal *, pid_t job);

/* Returns true if CMD gets the terminal from the start: standard input and output are
 * terminals. */
bool terminal_is_wanted_at_once(const struct terminal *);

/* Gives the terminal to CMD's group, if the shell's job or CMD's group has it. Returns
 * true if CMD's group has it now. SIGTTOU must be blocked, because tcsetpgrp() would
 * stop a process in the background. */
bool terminal_give(struct terminal *, pid_t group);

/* Gives the terminal back to the shell's job, if it was given to CMD's group. */
void terminal_take_back(struct terminal *);

#endif
