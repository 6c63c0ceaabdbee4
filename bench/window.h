/* SPDX-License-Identifier: Apache-2.0 */
/* The time in which a benchmark measures. window_begin() and window_end() print a line on
 * stdout, so that the program that reads it can read the server's counters at these
 * moments. */
#ifndef BENCH_WINDOW_H
#define BENCH_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct window {
    atomic_bool open;
    uint64_t began_ns;  /* CLOCK_MONOTONIC */
    uint64_t length_ns; /* set by window_end() */
};

void window_begin(struct window *window);
void window_end(struct window *window);

/* Returns CLOCK_MONOTONIC in ns. */
uint64_t window_now(void);

#endif
