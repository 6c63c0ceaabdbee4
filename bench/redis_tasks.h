/* SPDX-License-Identifier: Apache-2.0 */
/* redis_tasks: what tasks does, by locks on Redis: SET with NX and PX, and a script that
 * deletes the key if it has the holder's value. This header has the options, the locks of
 * a task and what a task is told.
 *
 * Redis has no waiting, so each client library has its own. --wait names the library whose
 * waiting this is: */
#ifndef BENCH_REDIS_TASKS_H
#define BENCH_REDIS_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <hiredis/async.h>
#include <uv.h>

#include "exclusion.h"
#include "latencies.h"
#include "window.h"
#include "workload.h"

enum redis_wait {
    REDLOCK,         /* npm's redlock 4.2: again after 200 ms, give or take up to 100 */
    REDIS_SEMAPHORE, /* npm's redis-semaphore 5.8: again after 10 ms */
    REDISSON,        /* Redisson's RLock: a message when the lock is released */
};

enum { REDIS_MOST_SERVERS = 5 };

struct redis_run;
struct redis_task;

/* The connections of one client: to each server, and one to be told of releases. */
struct redis_session {
    redisAsyncContext *servers[REDIS_MOST_SERVERS];
    redisAsyncContext *messages; /* only with REDISSON */
};

/* A lock as one session uses it. */
struct redis_place {
    char key[96];
    char channel[112];
    struct redis_session *session;
    struct redis_task *first, *last; /* who waits for a message, in order */
    bool subscribes;
    bool message; /* there was one for which nobody waited */
};

struct redis_task {
    struct redis_run *run;
    struct redis_place *place;
    struct exclusion *path;
    struct redis_task *next; /* in the place's row */
    uv_timer_t timer;        /* the pause before the next try, or the hold */
    char value[33];          /* by which the key is known as this task's */
    size_t answers, yes;     /* of the servers, to what was sent last */
    uint64_t asked_ns, granted_ns, released_ns;
    uint64_t grants_before; /* all grants until its release */
};

struct redis_run {
    struct workload workload;
    enum redis_wait wait;
    uint64_t hold_ms;
    bool in_turn;     /* a task acquires again when another has been granted */
    const char *base; /* of the keys; NULL: one of this process's own */
    const char *journal_name;

    FILE *journal;
    uv_loop_t loop;
    uv_timer_t phase_ends;
    enum redis_phase { CONNECTING, WARMING, MEASURING, ENDING, CLOSING } phase;
    size_t server_count;
    size_t connected, connections;
    char release_sha[41];
    struct redis_session *sessions;
    struct redis_place *places; /* index: path number * sessions + session number */
    struct exclusion *paths;
    struct redis_task *tasks;
    struct redis_task *resting; /* has released, and nobody has been granted since */
    uint64_t grants;
    size_t running; /* tasks that have not ended */
    struct window window;
    struct latencies acquires, cycles;
    uint64_t cycle_count, overlaps, out_of_order, failures;
};

/* redis_tasks.c */
void redis_fail(struct redis_run *run, const char *why);
void redis_task_ended(struct redis_run *run);

/* redis_lock.c */

/* Also a script: it is loaded into each server, which gives its SHA-1. */
extern const char redis_release_script[];
void redis_acquire(struct redis_task *task);

#endif
