/* When CMD must end, and how: what the supervisor has heard goes in, what it must do comes
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
 * Unless the znode is deleted or the session ended by hand, the servers cannot grant the
 * lock to another contender before the hold's validity ends. So CMD must be dead by then:
 * it gets SIGTERM one grace period earlier. */
#ifndef TERMINATION_H
#define TERMINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

enum termination_state {
    TERMINATION_IDLE,    /* next: RUNNING OVER */
    TERMINATION_RUNNING, /* next: ASKED KILLED OVER */
    TERMINATION_ASKED,   /* next: KILLED OVER */
    TERMINATION_KILLED,  /* next: OVER */
    TERMINATION_OVER     /* final */
};

extern const struct uvzk__machine termination_machine;

/* When the lock is lost. */
enum on_lost {
    ON_LOST_TERM, /* SIGTERM, and SIGKILL after the grace */
    ON_LOST_KILL, /* SIGKILL */
    ON_LOST_IGNORE
};

struct termination_rules {
    enum on_lost on_lost;
    uint64_t grace_ms;
    bool waits_for_all; /* the lock is held until all that CMD started has ended */
};

enum termination_action { ACTION_NONE, ACTION_TERM, ACTION_KILL };

struct termination {
    uint8_t state; /* enum termination_state */
    struct termination_rules rules;
    bool command_ended;
    uint64_t early_ms; /* before the validity's end CMD is asked */
    bool made_to_end;  /* it has been asked or killed */
    uint64_t kill_at;  /* ASKED */
    uint64_t again_at; /* KILLED: when to look for more of them */
};

static inline enum termination_state
termination_state(const struct termination *termination)
{
    return (enum termination_state)termination->state;
}

/* Whether CMD was ended because the lock was, or was about to be, somebody else's. */
static inline bool termination_made_to_end(const struct termination *termination)
{
    return termination->made_to_end;
}

void termination_init(struct termination *, const struct termination_rules *);

/* CMD runs, in a session of this length; or could not be run. */
void termination_started(struct termination *, uint64_t session_ms);
void termination_not_started(struct termination *);

/* CMD has ended; nobody that it started is left. */
void termination_command_ended(struct termination *);
void termination_nobody_left(struct termination *);

/* The lock was lost. The moments here and below are on CLOCK_BOOTTIME, ms. */
enum termination_action termination_lost(struct termination *, uint64_t now);

/* Whoever holds the lock has died: nobody proves it any more, and nobody is left to
 * tell. CMD ends, whatever the rules say. */
enum termination_action termination_holder_gone(struct termination *, uint64_t now,
                                                uint64_t valid_until);

/* What this moment asks for. */
enum termination_action termination_check(struct termination *, uint64_t now,
                                          uint64_t valid_until);

/* When to look again; UINT64_MAX: no need. */
uint64_t termination_next_check(const struct termination *, uint64_t valid_until);

/* Whether CMD may be begun with, by a hold that is valid until then. While it is proved as
 * it should, it always could. */
bool termination_in_time(const struct termination_rules *, uint64_t session_ms,
                         uint64_t now, uint64_t valid_until);

#endif
