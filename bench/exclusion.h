/* What a benchmark looks at whenever a lock is granted or given back: who excludes whom,
 * and whether the tokens of those who do are in order. One for each lock. */
#ifndef BENCH_EXCLUSION_H
#define BENCH_EXCLUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exclusion {
    size_t together; /* how many may hold at once, if nobody holds alone */
    size_t holders;
    bool alone;             /* the only holder is one that excludes all others */
    int64_t last_alone;     /* the greatest token of those */
    int64_t last_together;  /* and of the others */
    uint64_t *overlaps;     /* the counts of what must not be */
    uint64_t *out_of_order; /* tokens that are not above those of whom they exclude */
};

/* Somebody is granted it, alone or together with others. */
void exclusion_enter(struct exclusion *lock, bool alone, int64_t token);

/* One of them gives it back. */
void exclusion_leave(struct exclusion *lock);

#endif
