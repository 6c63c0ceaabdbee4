/* Workers that acquire, hold for a few turns of the loop, release, and begin again:
 * what a thread of Curator's tests does with sleeps in between. Every turn of the loop
 * they are looked at, and those moved on that have held for long enough. */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "seeded.h"
#include "world.h"

struct crowd;

struct worker {
    struct crowd *crowd;
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

struct crowd {
    struct world *world;
    struct worker *workers;
    int count;
    struct seeded random;
    void (*prepare)(struct worker *); /* before each round; may be NULL */
    void (*check)(struct crowd *);    /* after each turn; may be NULL */
    bool sessions_may_end;            /* else every round must come to its grant */
    bool resting;                     /* no round is begun */
    bool clinging;                    /* nobody lets go */
    int grants;                       /* so far */
};

/* Workers without a lock, and without rounds to do. */
void crowd_open(struct crowd *crowd, struct world *world, int count);
/* With this lock, and so many rounds. */
void crowd_employ(struct crowd *crowd, int number, struct process *process,
                  uvzk_lock_t *lock, int rounds);
void crowd_close(struct crowd *crowd);

/* For run_until: moves everybody on. True when nobody has anything left to do. */
bool crowd_turn(void *crowd);
/* Until it is so. */
void crowd_finish(struct crowd *crowd);

bool worker_holds(const struct worker *worker);
bool crowd_is_busy(const struct crowd *crowd); /* somebody is in a round */
/* How many of them hold at this moment. */
int crowd_holders(const struct crowd *crowd);

#endif
