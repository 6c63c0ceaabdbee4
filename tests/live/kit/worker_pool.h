/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that acquire a lock, hold it for a few iterations of the loop, release it, and
 * begin again. In Curator's tests, threads that sleep in between do this. Every iteration
 * of the loop looks at all workers and moves each one on that is ready. */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "seeded.h"
#include "world.h"

struct worker_pool;

struct worker {
    struct worker_pool *pool;
    int number; /* index in pool->workers */
    struct process *process;
    uvzk_lock_t *lock;              /* what it acquires next */
    uvzk_acquire_options_t options; /* of its next acquire */
    int rounds;                     /* still to begin */
    int expired;                    /* rounds that ended with their session */
    struct hold hold;
    int turns; /* iterations for which it still holds */
    bool busy; /* in a round */
};

struct worker_pool {
    struct world *world;
    struct worker *workers;
    int count;
    struct seeded random;
    void (*prepare)(struct worker *);    /* called before each round; may be NULL */
    void (*check)(struct worker_pool *); /* called after each iteration; may be NULL */
    /* Otherwise every round must end with a grant and a release. */
    bool sessions_may_end;
    bool paused;     /* no round begins */
    bool keep_holds; /* no worker releases */
    int grants;      /* so far */
};

/* Creates `count` workers without a lock and without rounds. */
void worker_pool_open(struct worker_pool *pool, struct world *world, int count);
/* Gives a worker a lock and a number of rounds. */
void worker_pool_assign(struct worker_pool *pool, int number, struct process *process,
                        uvzk_lock_t *lock, int rounds);
/* Frees the workers. */
void worker_pool_close(struct worker_pool *pool);

/* A condition for run_until: moves all workers on. Returns true when none has anything
 * left to do. */
bool worker_pool_turn(void *pool);
/* Runs the loop until worker_pool_turn returns true. Fails the test after PATIENCE_MS. */
void worker_pool_finish(struct worker_pool *pool);

bool worker_holds(const struct worker *worker);
bool worker_pool_is_busy(const struct worker_pool *pool); /* some worker is in a round */
/* How many workers hold a valid lock now. */
int worker_pool_holders(const struct worker_pool *pool);

#endif
