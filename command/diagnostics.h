/* What a process that holds locks, or ends CMD, prints on standard error: without waiting for whoever
 * reads it. A log that nobody reads must not stop the loop, and must not keep CMD alive.
 *
 * A thread writes the lines, so that it is the thread that waits. The loop hands them over by a
 * pipe. While that is full, lines are dropped, and counted; the next line that has room is preceded
 * by their number. The flags of standard error stay as they are, because other processes may share
 * them. */
#ifndef DIAGNOSTICS_H
#define DIAGNOSTICS_H

#include <stdbool.h>

/* From now on `stderr` hands its lines over. Only one thread may print. Returns 0, or -errno after it
 * has printed what is wrong. */
int diagnostics_begin(void);

/* Whether all lines that have been handed over are written. The loop's thread asks. */
bool diagnostics_are_written(void);

/* Waits until the lines are written, but not for long, and undoes diagnostics_begin. */
void diagnostics_end(void);

#endif
