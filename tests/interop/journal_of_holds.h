/* When who held a lock with one permit, by the clock. Of holders in several processes
 * of one machine; moments are ns of CLOCK_BOOTTIME. */
#ifndef JOURNAL_OF_HOLDS_H
#define JOURNAL_OF_HOLDS_H

#include <stddef.h>
#include <stdint.h>

enum holder { HOLDER_OURS, HOLDER_CURATOR };

/* From when until when who held. */
struct tenure {
    enum holder holder;
    uint64_t from, until;
};

/* Zeros are an empty one. */
struct holds {
    struct tenure *tenures;
    size_t count, capacity;
};

/* In ms of CLOCK_BOOTTIME, as uvzk has them. */
void holds_add(struct holds *holds, enum holder holder, uint64_t from_ms,
               uint64_t until_ms);
/* In ns of CLOCK_MONOTONIC, as Java has them; the machine must not have been suspended
 * since. */
void holds_add_monotonic(struct holds *holds, enum holder holder, uint64_t from_ns,
                         uint64_t until_ns);

size_t holds_count(const struct holds *holds, enum holder holder);

/* Sorts, and prints each that began while another one, of another holder, was valid.
 * How many. Those of ours among each other are not compared: their moments are too
 * coarse here. */
int holds_print_overlaps(struct holds *holds);

void holds_free(struct holds *holds);

#endif
