/* Two processes with the same read-write lock. A holds the write lock, as the owner
 * `owner`, and B has just asked for it: while A downgrades, or its hold comes to an end,
 * B's turn must come neither too early nor never. */
#ifndef UVZK_WRITERS_H
#define UVZK_WRITERS_H

#include "world.h"

#define WRITERS_PATH "/rw"

struct writers {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold writing; /* A's write lock */
    struct hold reading; /* A's read lock, once it is asked for */
    struct hold next;    /* B's write lock */
    struct hold later;   /* the test's own */
};

/* state: as for scene_begin. */
void writers_begin(struct writers *writers, uint64_t seed, void *const *state);
/* A asks for the read lock, as the owner of the write lock. */
void writers_downgrade(struct writers *writers);

#endif
