/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when and how CMD must be ended. The supervisor passes in the events and the
 * time, and does what the functions return. Pure: no clock, no process.
 *
 *      IDLE --- started ---> RUNNING --- ended --------------------------------+
 *       |                     |  |                                             |
 *       | not started,        |  | lost, validity about to end, holder gone    |
 *       | holder gone         |  v                                             v
 *       |                     | ASKED --- kill_at is reached ------> KILLED -> OVER
 *       |                     |   |                                    ^       ^
 *       |                     +---|---- ON_LOST_KILL, or too late -----+       |
 *       +-------------------------+------------ ended -------------------------+
 *
 * ASKED: SIGTERM was sent. KILLED: SIGKILL is sent repeatedly until no process is left.
 * OVER: CMD has ended, or was not run. If uvzk ended CMD, or with --all, all processes
 * that CMD had started have ended too. With ends_the_rest they are asked to end when CMD
 * has ended by itself.
 *
 * The servers cannot grant the lock to another contender before the hold's validity ends,
 * unless the znode is deleted or the session is ended by hand. So CMD must be dead at
 * that time. SIGKILL is due 100 ms before the validity ends. SIGTERM is due one grace
 * period before SIGKILL, but at most a quarter of the session timeout before it. With
 * --max-hold the validity ends when that time is over, and SIGTERM is at most a quarter of
 * it before SIGKILL. */
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

/* What is done to CMD when the lock is lost (--on-lost). */
enum on_lost {
    ON_LOST_TERM,  /* SIGTERM, and SIGKILL after the grace period */
    ON_LOST_KILL,  /* SIGKILL */
    ON_LOST_IGNORE /* nothing, unless the holder process is gone */
};

struct termination_rules {
    enum on_lost on_lost;
    uint64_t grace_ms;    /* from SIGTERM to SIGKILL */
    uint64_t max_hold_ms; /* the validity ends this long after the grant; 0: no limit */
    bool waits_for_all;   /* --all: CMD's descendants must have ended too */
    bool ends_the_rest;   /* when CMD has ended, its descendants are made to end */
};

enum termination_action { ACTION_NONE, ACTION_TERM, ACTION_KILL };

struct termination {
    uint8_t state; /* enum termination_state */
    struct termination_rules rules;
    bool command_ended;
    uint64_t early_ms; /* from SIGTERM to SIGKILL at the end of the validity */
    bool made_to_end;  /* SIGTERM or SIGKILL was sent for another reason than that CMD
                          had ended */
    bool lost;         /* ASKED: the lock is lost, so its validity does not count */
    uint64_t kill_at;  /* ASKED: when SIGKILL is due; CLOCK_BOOTTIME, ms */
    uint64_t again_at; /* KILLED: when SIGKILL is sent again; CLOCK_BOOTTIME, ms */
};

static inline enum termination_state
termination_state(const struct termination *termination)
{
    return (enum termination_state)termination->state;
}

/* Returns true if CMD was ended because the lock was lost or about to be lost, or because
 * the holder was gone. */
static inline bool termination_made_to_end(const struct termination *termination)
{
    return termination->made_to_end;
}

/* Returns true if CMD has ended by itself, and its descendants have to end now. */
static inline bool termination_rest_is_due(const struct termination *termination)
{
    return termination->state == TERMINATION_RUNNING && termination->command_ended &&
           termination->rules.ends_the_rest;
}

void termination_init(struct termination *, const struct termination_rules *);

/* CMD was started; session_ms is the session timeout. Or CMD could not be started. */
void termination_started(struct termination *, uint64_t session_ms);
void termination_not_started(struct termination *);

/* CMD has ended. The second function: the supervisor no longer has a child process. */
void termination_command_ended(struct termination *);
void termination_nobody_left(struct termination *);

/* The lock was lost. Here and below, times are on CLOCK_BOOTTIME, in ms, and the result
 * says which signal to send to CMD and its descendants now. */
enum termination_action termination_lost(struct termination *, uint64_t now);

/* The lock must be given up, but is still held until CMD has ended: SIGTERM now, unless
 * ON_LOST_KILL is set, and SIGKILL after the grace period or 100 ms before the validity
 * ends, whichever comes first. */
enum termination_action termination_given_up(struct termination *, uint64_t now);

/* The holder process has died, so the hold is no longer proved. CMD is then ended even
 * with ON_LOST_IGNORE: SIGTERM now, unless ON_LOST_KILL is set, and SIGKILL after the
 * grace period or 100 ms before the validity ends, whichever comes first. If CMD was not
 * started, the state becomes OVER. */
enum termination_action termination_holder_gone(struct termination *, uint64_t now,
                                                uint64_t valid_until);

/* Time has passed, or valid_until may have changed. */
enum termination_action termination_check(struct termination *, uint64_t now,
                                          uint64_t valid_until);

/* Returns when termination_check must be called next; UINT64_MAX: only an event can
 * change something. */
uint64_t termination_next_check(const struct termination *, uint64_t valid_until);

/* Returns true if CMD may be started at `now`, with a hold that is valid until
 * `valid_until`: CMD would not have to be ended at once. A hold that is proved on
 * schedule has at least a third of its session timeout left, which is enough if the
 * session timeout is above 1200 ms. */
bool termination_in_time(const struct termination_rules *, uint64_t session_ms,
                         uint64_t now, uint64_t valid_until);

#endif
