/* When CMD must end, and how: what the guardian has heard goes in, what it must do comes
 * out. A value, without a clock and without a process.
 *
 *      IDLE --- started ---> RUNNING --- over ---------------------------------+
 *       |                     |  |                                             |
 *       | not started,        |  | lost, about to run out, holder gone         |
 *       | holder gone         |  v                                             v
 *       |                     | ASKED -- grace over, or validity --> KILLED -> OVER
 *       |                     |   |                                    ^       ^
 *       |                     +---|---- no grace, or too late ---------+       |
 *       +-------------------------+------------- over -------------------------+
 *
 * ASKED: told to end (SIGTERM). KILLED: SIGKILL, again and again until nobody is left.
 * OVER: CMD has ended; if it was made to end, or all are waited for, all that it started
 * has, too.
 *
 * Nobody else can have the lock before the hold's validity ends, so that is when CMD
 * must be dead: it is asked so much earlier that the grace is over by then. */
#ifndef SUPERVISION_H
#define SUPERVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

enum supervision_state {
    SUPERVISION_IDLE,    /* next: RUNNING OVER */
    SUPERVISION_RUNNING, /* next: ASKED KILLED OVER */
    SUPERVISION_ASKED,   /* next: KILLED OVER */
    SUPERVISION_KILLED,  /* next: OVER */
    SUPERVISION_OVER     /* final */
};

extern const struct uvzk__machine supervision_machine;

/* When the lock is lost. */
enum on_lost {
    ON_LOST_TERM, /* SIGTERM, and SIGKILL after the grace */
    ON_LOST_KILL, /* SIGKILL */
    ON_LOST_IGNORE
};

struct supervision_rules {
    enum on_lost on_lost;
    uint64_t grace_ms;
    bool waits_for_all; /* the lock is held until all that CMD started has ended */
};

enum supervision_wish { WISH_NOTHING, WISH_ASK, WISH_KILL };

struct supervision {
    uint8_t state; /* enum supervision_state */
    struct supervision_rules rules;
    bool command_ended;
    uint64_t early_ms; /* before the validity's end CMD is asked */
    bool made_to_end;  /* it has been asked or killed */
    uint64_t kill_at;  /* ASKED */
    uint64_t again_at; /* KILLED: when to look for more of them */
};

static inline enum supervision_state
supervision_state(const struct supervision *supervision)
{
    return (enum supervision_state)supervision->state;
}

/* Whether CMD was ended because the lock was, or was about to be, somebody else's. */
static inline bool supervision_made_to_end(const struct supervision *supervision)
{
    return supervision->made_to_end;
}

void supervision_init(struct supervision *, const struct supervision_rules *);

/* CMD runs, in a session of this length; or could not be run. */
void supervision_started(struct supervision *, uint64_t session_ms);
void supervision_not_started(struct supervision *);

/* CMD has ended; nobody that it started is left. */
void supervision_command_ended(struct supervision *);
void supervision_nobody_left(struct supervision *);

/* The lock was lost. The moments here and below are on CLOCK_BOOTTIME, ms. */
enum supervision_wish supervision_lost(struct supervision *, uint64_t now);

/* Whoever holds the lock has died: nobody proves it any more, and nobody is left to
 * tell. CMD ends, whatever the rules say. */
enum supervision_wish supervision_holder_gone(struct supervision *, uint64_t now,
                                              uint64_t valid_until);

/* What this moment asks for. */
enum supervision_wish supervision_look(struct supervision *, uint64_t now,
                                       uint64_t valid_until);

/* When to look again; UINT64_MAX: no need. */
uint64_t supervision_due(const struct supervision *, uint64_t valid_until);

/* Whether CMD may be begun with, by a hold that is valid until then. While it is proved as
 * it should, it always could. */
bool supervision_in_time(const struct supervision_rules *, uint64_t session_ms,
                         uint64_t now, uint64_t valid_until);

#endif
