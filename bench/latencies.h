/* SPDX-License-Identifier: Apache-2.0 */
/* Durations, and their percentiles. */
#ifndef BENCH_LATENCIES_H
#define BENCH_LATENCIES_H

#include <stddef.h>
#include <stdint.h>

struct latencies {
    uint64_t *samples; /* ns */
    size_t count;
    size_t capacity;
};

/* Allocates memory for `capacity` samples. Returns 0, or -1 if there is not enough
 * memory. Further samples are dropped. */
int latencies_init(struct latencies *bag, size_t capacity);
void latencies_free(struct latencies *bag);

void latencies_add(struct latencies *bag, uint64_t nanoseconds);

/* Returns the sample that `percent` percent of all samples do not exceed, in
 * microseconds, or 0 if there is no sample. Sorts the samples. */
double latencies_percentile_us(struct latencies *bag, double percent);

#endif
