/* The window of time that is measured. Whoever reads our standard output is told when it
 * begins and when it ends, to look at the server's counters at those moments. */
#ifndef BENCH_WINDOW_H
#define BENCH_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct window {
    atomic_bool open;
    uint64_t began_ns;  /* CLOCK_MONOTONIC */
    uint64_t length_ns; /* once it has ended */
};

void window_begin(struct window *window);
void window_end(struct window *window);

/* CLOCK_MONOTONIC, ns. */
uint64_t window_now(void);

#endif
