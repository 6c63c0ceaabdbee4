/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of many_locks: one run and its parts. */
#ifndef BENCH_MANY_LOCKS_RUN_H
#define BENCH_MANY_LOCKS_RUN_H

#include <uv.h>

#include "latencies.h"
#include "many_locks.h"
#include "progress.h"
#include "uvzk.h"

/*   CONNECTING -> QUEUEING <-> DRAINING -> CLOSING_MUTEXES -> CHECKING_LIVE
 *   -> CLOSING_CLIENTS -> CHECKING_CLOSED -> DONE
 * After a failure or an interruption, the run goes to CLOSING_CLIENTS at once, and from
 * there to DONE. */
enum phase {
    CONNECTING,
    QUEUEING, /* all acquire, and holders keep their locks */
    DRAINING, /* holds are released after hold_ms, the next are granted */
    CLOSING_MUTEXES,
    CHECKING_LIVE, /* counts what is left while the sessions are alive */
    CLOSING_CLIENTS,
    CHECKING_CLOSED,
    DONE
};

enum contender_state { IDLE, PENDING, QUEUED, HELD, RELEASING, ENDED };

struct run;

/* One request for a lock, and the hold that comes of it; used once in each round. */
struct contender {
    uvzk_hold_t request; /* must be first; its data is the run */
    /* The next one of due_first's list, or NULL. */
    struct contender *next_due;
    uint64_t due_ms;   /* when to release the hold (uv_now) */
    uint64_t asked_ns; /* when acquire was called */
    uint32_t lock;
    uint8_t state; /* enum contender_state */
};

/* What the checks know of one lock. */
struct lock {
    struct contender *holder; /* granted and not released, or NULL */
    int64_t last_token;       /* of the last grant in the run */
    int64_t last_sequence;    /* of the last grant in this round; -1: none */
    uint64_t freed_ns;        /* when the last hold was released; 0: none yet */
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
    size_t clients_started; /* initialized, so they must be closed */
    size_t clients_open;
    size_t clients_connected;
    size_t mutexes_per_lock;
    uvzk_mutex_t *mutexes;
    size_t mutexes_open;
    struct lock *locks;
    struct contender *contenders; /* those of one lock are next to each other */
    size_t count;                 /* locks times contenders */

    size_t round;                           /* from 1 */
    size_t placed;                          /* granted, queued or ended, in this round */
    size_t ended;                           /* in this round */
    struct contender *due_first, *due_last; /* holds in the order of due_ms */

    uint64_t phase_began_ns;
    uint64_t phase_began_requests; /* without proof requests */
    uint64_t events;               /* counts callbacks, for the watchdog */
    uint64_t events_seen;
    /* For how many seconds `events` has not changed. */
    unsigned quiet_seconds;
    long watches_before;
    long left_watches; /* result of the check */
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
uint64_t run_requests(const struct run *run); /* without proof requests */

/* many_locks_rounds.c */
void rounds_begin(struct run *run);
void round_contender_placed(struct run *run);
void round_contender_ended(struct run *run);

/* many_locks_ending.c */
void ending_begin(struct run *run); /* after the last round */
void ending_close_clients(struct run *run);

/* many_locks_contender.c */
void contender_start(struct run *run, struct contender *contender, uvzk_mutex_t *mutex);
void contender_hold_begins(struct run *run, struct contender *contender);
void contender_hold_due(uv_timer_t *timer);

#endif
