/* Some who take a lock, hold it for a while and take it again, until they are told to
 * stop; and a judge, who counts the valid holds at each grant. All of one world. */
#ifndef CONTEST_H
#define CONTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct contestant;

/* Filled with zeros and the first three before the first joins. */
struct contest {
    unsigned permits; /* valid holds that may be at once */
    uint32_t hold_ms;
    uint32_t pause_ms; /* before one who was refused tries again */
    struct contestant *contestants;
    int grants, losses, refusals; /* so far */
    unsigned most;                /* valid holds at once */
    int excesses;                 /* grants beside too many of them */
    int regressions;              /* tokens of a single permit that did not grow */
    int64_t token;                /* of the last grant */
    bool stopping;
};

struct contestant {
    struct contest *contest;
    struct contestant *next;
    struct process *process;
    uvzk_lock_t *lock;
    struct hold hold;
    uv_timer_t timer;
    int grants, grants_before; /* so far, and when contest_mark was called */
    bool over;
    /* Told of each grant and of what follows it, if they are set. */
    void (*granted)(struct contestant *contestant);
    void (*ended)(struct contestant *contestant);
};

/* Joins, and takes the lock for the first time. */
void contest_join(struct contest *contest, struct contestant *contestant,
                  struct process *process, uvzk_lock_t *lock);

/* From now on it counts who has been granted the lock. */
void contest_mark(struct contest *contest);
/* Whether everybody has been since, so many times. */
bool contest_has_gone_round(const struct contest *contest, int times);

/* Nobody takes it again. Runs the loop until nobody has it or waits for it, and its
 * timers are closed. false: too late. */
bool contest_stop(struct contest *contest, struct world *world);

/* Nobody was refused, and no hold lost or beside too many others. */
void contest_assert_fair(const struct contest *contest);

#endif
