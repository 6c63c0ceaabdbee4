/* A progress line on stderr: rewritten in place on a terminal, else one line
 * for each tenth of the work. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* static text */
    uint64_t total;
    uint64_t done;
    uint64_t next; /* the value of done at which to print again */
    bool terminal;
    bool open_line; /* the terminal's cursor stands on our line */
};

void progress_init(struct progress *progress, uint64_t total);
void progress_step(struct progress *progress, const char *what);

/* Wipes the line; call it before printing anything else. */
void progress_end(struct progress *progress);

#endif
