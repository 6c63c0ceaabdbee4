/* SPDX-License-Identifier: Apache-2.0 */
/* Prints on standard error, for a process that holds locks or ends CMD, without waiting
 * for the reader. A log that is not read must not stop the loop, and must not keep CMD
 * alive.
 *
 * A thread writes the lines, so only that thread waits. The loop passes them to it
 * through a pipe. While the pipe is full, lines are dropped and counted; their number
 * precedes the next line that fits. The flags of standard error stay as they are, because
 * other processes may share them. */
#ifndef DIAGNOSTICS_H
#define DIAGNOSTICS_H

#include <stdbool.h>

/* From now on, lines printed to `stderr` go to the thread. Only one thread may print.
 * Returns 0, or -errno after it has printed what is wrong. */
int diagnostics_begin(void);

/* Returns true if all lines that were passed to the thread have been written. To be
 * called on the loop's thread. */
bool diagnostics_are_written(void);

/* Waits a short time until the lines are written, and undoes diagnostics_begin. */
void diagnostics_end(void);

#endif
