/* many_locks, inside: one run and its parts. */
#ifndef BENCH_MANY_LOCKS_RUN_H
#define BENCH_MANY_LOCKS_RUN_H

#include <uv.h>

#include "latencies.h"
#include "many_locks.h"
#include "progress.h"
#include "uvzk.h"

/*   CONNECTING -> QUEUEING <-> DRAINING -> CLOSING_MUTEXES -> CHECKING_LIVE
 *   -> CLOSING_CLIENTS -> CHECKING_CLOSED -> DONE
 *   A failure or an interruption goes to CLOSING_CLIENTS at once, and from
 *   there to DONE. */
enum phase {
    CONNECTING,
    QUEUEING, /* all acquire; who is granted keeps it until all have a place */
    DRAINING, /* holds are given back after hold_ms, the next ones follow */
    CLOSING_MUTEXES,
    CHECKING_LIVE, /* what is left while the sessions could hide nothing */
    CLOSING_CLIENTS,
    CHECKING_CLOSED,
    DONE
};

enum contender_state { IDLE, PENDING, QUEUED, HELD, RELEASING, ENDED };

struct run;

/* One request: an attempt, then a hold, once a round. */
struct contender {
    uvzk_hold_t request; /* first; its data is the run */
    struct contender *next_due;
    uint64_t due_ms;   /* when the hold is to be given back (uv_now) */
    uint64_t asked_ns; /* when it was acquired */
    uint32_t lock;
    uint8_t state; /* enum contender_state */
};

/* What is known of one lock. */
struct lock {
    struct contender *holder; /* granted, not given back */
    int64_t last_token;       /* of the last grant in the run */
    int64_t last_sequence;    /* of the last grant in this round; -1: none */
    uint64_t freed_ns;        /* when the last hold was given back; 0: no */
};

struct run {
    const struct many_locks_options *options;
    struct many_locks_result *result;
    uv_loop_t loop;
    uv_timer_t hold_timer;
    uv_timer_t watchdog;
    uv_signal_t interrupt;
    uv_work_t check;
    enum phase phase;

    uvzk_client_t *clients;
    size_t clients_started; /* initialised, so a close is owed */
    size_t clients_open;
    size_t clients_connected;
    size_t mutexes_per_lock;
    uvzk_mutex_t *mutexes;
    size_t mutexes_open;
    struct lock *locks;
    struct contender *contenders; /* those of one lock side by side */
    size_t count;                 /* locks times contenders */

    size_t round;                           /* from 1 */
    size_t placed;                          /* granted, queued or ended, this round */
    size_t ended;                           /* this round */
    struct contender *due_first, *due_last; /* holds, soonest first */

    uint64_t phase_began_ns;
    uint64_t phase_began_requests; /* without proofs */
    uint64_t events;               /* any answer; the watchdog looks at it */
    uint64_t events_seen;
    unsigned quiet_seconds;
    long watches_before;
    long left_watches; /* found by the check */
    long left_nodes;
    const char *check_error;
    struct latencies acquire_latencies;
    struct latencies handover_latencies;
    struct progress progress;
};

/* many_locks_phases.c */
void run_fail(struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void run_give_up(struct run *run);
void run_begin_phase(struct run *run, enum phase phase);
uint64_t run_requests(const struct run *run); /* so far, without proofs */

/* many_locks_rounds.c */
void rounds_begin(struct run *run);
void round_contender_placed(struct run *run);
void round_contender_ended(struct run *run);

/* many_locks_ending.c */
void ending_begin(struct run *run); /* the rounds are over */
void ending_close_clients(struct run *run);

/* many_locks_contender.c */
void contender_start(struct run *run, struct contender *contender, uvzk_mutex_t *mutex);
void contender_hold_begins(struct run *run, struct contender *contender);
void contender_hold_due(uv_timer_t *timer);

#endif
