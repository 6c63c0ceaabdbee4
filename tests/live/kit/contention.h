/* SPDX-License-Identifier: Apache-2.0 */
/* Several users that take a lock, hold it for a while, release it and take it again,
 * until contention_stop. The valid holds are counted at each grant. All users are in one
 * world. */
#ifndef CONTENTION_H
#define CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct contention_user;

/* To be zeroed before the first contention_join, with permits, hold_ms and pause_ms
 * set. */
struct contention {
    unsigned permits; /* how many holds may be valid at a time */
    uint32_t hold_ms;
    uint32_t pause_ms; /* before a refused user tries again */
    struct contention_user *contention_users;
    int grants, losses, refusals; /* so far */
    unsigned most;                /* the most valid holds at a time */
    int excesses;                 /* grants at which too many holds were valid */
    int regressions;              /* with one permit: tokens that did not grow */
    int64_t token;                /* of the last grant */
    bool stopping;
};

struct contention_user {
    struct contention *contention;
    struct contention_user *next;
    struct process *process;
    uvzk_lock_t *lock;
    struct hold hold;
    uv_timer_t timer;
    int grants, grants_before; /* so far; until contention_mark */
    bool leaving, over;
    /* Called at each grant, and when the hold ends, if they are not NULL. */
    void (*granted)(struct contention_user *contention_user);
    void (*ended)(struct contention_user *contention_user);
};

/* Adds a user, which acquires the lock at once. */
void contention_join(struct contention *contention,
                     struct contention_user *contention_user, struct process *process,
                     uvzk_lock_t *lock);

/* This user does not take the lock again, and is not waited for by
 * contention_all_granted. Runs the loop until the user neither holds the lock nor waits
 * for it. Returns false if that takes longer than PATIENCE_MS. */
bool contention_leave(struct contention_user *contention_user);

/* Begins to count grants for contention_all_granted. */
void contention_mark(struct contention *contention);
/* Returns true if each user has been granted the lock `times` times or more since
 * contention_mark. */
bool contention_all_granted(const struct contention *contention, int times);

/* No user takes the lock again. Runs the loop until no user holds the lock or waits for
 * it, and all timers are closed. Returns false if that takes longer than PATIENCE_MS. */
bool contention_stop(struct contention *contention, struct world *world);

/* Asserts that no acquire was refused, no hold was lost, never too many holds were valid,
 * and all tokens have grown. */
void contention_assert_clean(const struct contention *contention);

#endif
