/* All that a process has started, directly or not, whatever groups and sessions it has
 * made for itself. Whoever's parent dies is adopted by the nearest ancestor that has
 * asked for that (PR_SET_CHILD_SUBREAPER), so nobody gets away from below it. */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The caller becomes such an ancestor. */
bool descendants_adopt(void);

/* When a process was started, in the kernel's ticks since it was booted; 0 if there is no
 * such process. */
unsigned long long descendants_start_time(pid_t);

/* Sends the signal to all of the caller's descendants that are alive and not born before
 * `since`: at once to those in this group (0: none), one by one to the others. How many
 * there were. */
size_t descendants_signal(pid_t group, unsigned long long since, int signal_number);

#endif
