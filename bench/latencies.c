/* SPDX-License-Identifier: Apache-2.0 */
#include "latencies.h"

#include <stdlib.h>

int latencies_init(struct latencies *bag, size_t capacity)
{
    bag->samples = calloc(capacity == 0 ? 1 : capacity, sizeof(*bag->samples));
    bag->count = 0;
    bag->capacity = capacity;
    return bag->samples == NULL ? -1 : 0;
}

void latencies_free(struct latencies *bag)
{
    free(bag->samples);
    bag->samples = NULL;
    bag->count = 0;
    bag->capacity = 0;
}

void latencies_add(struct latencies *bag, uint64_t nanoseconds)
{
    if (bag->count < bag->capacity) {
        bag->samples[bag->count++] = nanoseconds;
    }
}

static int compare_samples(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

double latencies_percentile_us(struct latencies *bag, double percent)
{
    if (bag->count == 0) {
        return 0.0;
    }
    qsort(bag->samples, bag->count, sizeof(*bag->samples), compare_samples);
    size_t rank = (size_t)(percent / 100.0 * (double)bag->count);
    if (rank >= bag->count) {
        rank = bag->count - 1;
    }
    return (double)bag->samples[rank] / 1000.0;
}
