/* SPDX-License-Identifier: Apache-2.0 */
/* What a benchmark checks at each grant and each release of a lock: whether holders that
 * exclude each other hold at the same time, and whether their tokens grow. There is one
 * struct for each lock. A holder holds alone (a mutex, a writer) or together with
 * others. */
#ifndef BENCH_EXCLUSION_H
#define BENCH_EXCLUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exclusion {
    size_t together; /* how many may hold at once, if none holds alone */
    size_t holders;
    bool alone;             /* there is one holder, and it holds alone */
    uint64_t released_ns;   /* when the last release was called; 0: granted since */
    int64_t last_alone;     /* the greatest token of a holder that held alone */
    int64_t last_together;  /* the greatest token of the other holders */
    uint64_t *overlaps;     /* the caller's count of grants that were not allowed */
    uint64_t *out_of_order; /* the caller's count of tokens that did not grow */
};

/* A lock was granted to a holder that holds alone, or together with others. */
void exclusion_enter(struct exclusion *lock, bool alone, int64_t token);

/* One of the holders has released. */
void exclusion_leave(struct exclusion *lock);

#endif
