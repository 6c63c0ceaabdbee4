/* Some who take a lock, hold it for a while and take it again, until they are told to
 * stop; and a judge, who counts the valid holds at each grant. All of one world. */
#ifndef CONTENTION_H
#define CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct contention_user;

/* Filled with zeros and the first three before the first joins. */
struct contention {
    unsigned permits; /* valid holds that may be at once */
    uint32_t hold_ms;
    uint32_t pause_ms; /* before one who was refused tries again */
    struct contention_user *contention_users;
    int grants, losses, refusals; /* so far */
    unsigned most;                /* valid holds at once */
    int excesses;                 /* grants beside too many of them */
    int regressions;              /* tokens of a single permit that did not grow */
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
    int grants, grants_before; /* so far, and when contention_mark was called */
    bool over;
    /* Told of each grant and of what follows it, if they are set. */
    void (*granted)(struct contention_user *contention_user);
    void (*ended)(struct contention_user *contention_user);
};

/* Joins, and takes the lock for the first time. */
void contention_join(struct contention *contention,
                     struct contention_user *contention_user, struct process *process,
                     uvzk_lock_t *lock);

/* From now on it counts who has been granted the lock. */
void contention_mark(struct contention *contention);
/* Whether everybody has been since, so many times. */
bool contention_all_granted(const struct contention *contention, int times);

/* Nobody takes it again. Runs the loop until nobody has it or waits for it, and its
 * timers are closed. false: too late. */
bool contention_stop(struct contention *contention, struct world *world);

/* Nobody was refused, and no hold lost or beside too many others. */
void contention_assert_clean(const struct contention *contention);

#endif
