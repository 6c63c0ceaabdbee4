/* SPDX-License-Identifier: Apache-2.0 */
/* The program that has started `uvzk serve --fd` or `--stdio` as its child.
 *
 * The daemon serves this program alone, and ends with it. The end of the connection tells
 * that the program has ended, unless a process that it has forked still has the connection
 * open. So the daemon watches the process, too (pidfd_open). PR_SET_PDEATHSIG would not do:
 * its signal comes when the thread ends that has started the child. */
#ifndef PARENT_PROCESS_H
#define PARENT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <uv.h>

struct parent_options {
    int fd;     /* a connected socket; -1: not given */
    bool stdio; /* standard input and output are the connection */
    pid_t pid;  /* of the parent, as it knows itself; 0: not given */
};

struct parent_process;
typedef void (*parent_process_cb)(struct parent_process *);

struct parent_process {
    pid_t pid;
    int in, out;  /* the connection: the same if it is one socket */
    bool watched; /* by the pidfd */
    int pidfd;
    uv_poll_t poll;
    parent_process_cb ended_cb;
};

/* Returns true if the daemon is to serve its parent. */
bool parent_process_is_served(const struct parent_options *);

/* Takes over the descriptors of the connection. Call it before another descriptor is opened.
 * Standard input and output are /dev/null from then on if they are the connection, so that
 * nothing else can be written into it. Returns EX_OK, or an exit code after it has printed
 * what is wrong. */
int parent_process_open_streams(struct parent_process *, const struct parent_options *);

/* Leaves the parent's process group, whose signals are not for the daemon, and watches the
 * parent: ended_cb is called when it has ended. If it cannot be watched, that is reported.
 * Returns EX_OK, or EX_USAGE after it has reported that the process of the options is not
 * the parent, or has ended. */
int parent_process_begin(struct parent_process *, uv_loop_t *,
                         const struct parent_options *, parent_process_cb ended_cb);
/* Watches it no longer. */
void parent_process_close(struct parent_process *);

#endif
