/* SPDX-License-Identifier: Apache-2.0 */
/* The descendants of the calling process: all processes that it has started, directly or
 * indirectly, whatever process groups and sessions they have created. They are found in
 * /proc. If a parent dies, its children are adopted by the nearest ancestor that has set
 * PR_SET_CHILD_SUBREAPER, so no descendant can leave the tree below that ancestor. */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes the caller such an ancestor, and keeps /proc open: from then on the functions
 * below need no further file descriptor, and no path to /proc. A process that was forked
 * must call it again. Returns 0 or -errno. */
int descendants_adopt(void);

/* Checks that /proc shows the processes that this process sees; otherwise no descendant
 * can be found. Returns 0 or -errno. -ENOENT: there is no such /proc. -EMFILE, -ENFILE,
 * -ENOMEM: the check failed because file descriptors or memory are short. */
int descendants_check(void);

/* Returns when a process was started, in clock ticks since the boot; 0 if there is no
 * such process. */
unsigned long long descendants_start_time(pid_t);

/* Returns true if this process is a descendant of the process that has this id and was
 * started at start_time. */
bool descendants_has(pid_t ancestor, unsigned long long start_time);

/* Sends the signal to the process group `group` (0: none), and to each living descendant
 * outside that group that was started at `since` or later. Returns how many living
 * descendants were started at `since` or later, in the group or not. A descendant that
 * is started during the call may be missed. If not all processes can be listed, because
 * memory is short or, before descendants_adopt, file descriptors are, the result is at
 * least 1. */
size_t descendants_signal(pid_t group, unsigned long long since, int signal_number);

#endif
