/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on stderr: on a terminal, one line that is written again in place; otherwise
 * one line for each tenth of the work. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* static text, not owned */
    uint64_t total;
    uint64_t done;
    uint64_t next; /* the value of done at which to print again */
    bool terminal;
    bool open_line; /* the cursor is behind our line, without a newline */
};

/* progress_init() sets the number of steps. progress_step() counts one of them, and
 * prints if the next part of the work is done; `what` names the current phase. */
void progress_init(struct progress *progress, uint64_t total);
void progress_step(struct progress *progress, const char *what);

/* Erases the line. Call it before anything else is printed. */
void progress_end(struct progress *progress);

#endif
