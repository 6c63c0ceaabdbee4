/* A bag of durations, and its percentiles. */
#ifndef BENCH_LATENCIES_H
#define BENCH_LATENCIES_H

#include <stddef.h>
#include <stdint.h>

struct latencies {
    uint64_t *samples; /* ns */
    size_t count;
    size_t capacity;
};

/* Room for that many, 0 or -1 (out of memory). Samples past it are dropped. */
int latencies_init(struct latencies *bag, size_t capacity);
void latencies_free(struct latencies *bag);

void latencies_add(struct latencies *bag, uint64_t nanoseconds);

/* The sample that `percent` of all do not exceed, in microseconds; 0 when there
 * is none. Sorts the bag. */
double latencies_percentile_us(struct latencies *bag, double percent);

#endif
