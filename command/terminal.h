/* The controlling terminal: who is in front of it, the shell's job that we are part of, or
 * CMD's own process group. CMD gets it at once if its standard input and output are the
 * terminal, else when it wants to use it: another part of a pipeline may be reading
 * there. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
    int fd;     /* -1: there is none */
    pid_t job;  /* the group it is given back to */
    bool given; /* to CMD's group, and not taken back */
};

/* job: the group of the process that the shell has started. */
void terminal_init(struct terminal *, pid_t job);

/* Whether CMD is to have it from the beginning. */
bool terminal_is_wanted_at_once(const struct terminal *);

/* From the job to CMD's group, if the job is in front; CMD's group may have it already.
 * SIGTTOU must be blocked. true: CMD has it. */
bool terminal_give(struct terminal *, pid_t group);

/* Back to the job, if CMD's group had been given it. */
void terminal_take_back(struct terminal *);

#endif
