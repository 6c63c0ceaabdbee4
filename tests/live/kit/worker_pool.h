/* Workers that acquire, hold for a few turns of the loop, release, and begin again:
 * what a thread of Curator's tests does with sleeps in between. Every turn of the loop
 * they are looked at, and those moved on that have held for long enough. */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "seeded.h"
#include "world.h"

struct worker_pool;

struct worker {
    struct worker_pool *pool;
    int number; /* 0 for the first one, and so on */
    struct process *process;
    uvzk_lock_t *lock;              /* what it acquires next, and how */
    uvzk_acquire_options_t options; /* likewise */
    int rounds;                     /* still to begin */
    int expired;                    /* rounds that ended with their session */
    struct hold hold;
    int turns; /* it is still going to hold */
    bool busy; /* in the middle of a round */
};

struct worker_pool {
    struct world *world;
    struct worker *workers;
    int count;
    struct seeded random;
    void (*prepare)(struct worker *);    /* before each round; may be NULL */
    void (*check)(struct worker_pool *); /* after each turn; may be NULL */
    bool sessions_may_end;               /* else every round must come to its grant */
    bool paused;                         /* no round is begun */
    bool keep_holds;                     /* nobody lets go */
    int grants;                          /* so far */
};

/* Workers without a lock, and without rounds to do. */
void worker_pool_open(struct worker_pool *pool, struct world *world, int count);
/* With this lock, and so many rounds. */
void worker_pool_assign(struct worker_pool *pool, int number, struct process *process,
                        uvzk_lock_t *lock, int rounds);
void worker_pool_close(struct worker_pool *pool);

/* For run_until: moves everybody on. True when nobody has anything left to do. */
bool worker_pool_turn(void *pool);
/* Until it is so. */
void worker_pool_finish(struct worker_pool *pool);

bool worker_holds(const struct worker *worker);
bool worker_pool_is_busy(const struct worker_pool *pool); /* somebody is in a round */
/* How many of them hold at this moment. */
int worker_pool_holders(const struct worker_pool *pool);

#endif
