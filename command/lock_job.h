/* SPDX-License-Identifier: Apache-2.0 */
/* One run of `uvzk lock` in the holder process: connect, acquire, have CMD run by the
 * supervisor, release, exit.
 *
 *   CONNECTING --- connected ---> WAITING --- granted, proved ---> RUNNING
 *       |                            |                                | CMD ended, or
 *       | no connection, signal      | not acquired, lost, signal,    | could not be run
 *       |                            | or its key is done             v
 *       |                            |                              ENDED
 *       |                            |                                | recorded, kept
 *       |                            |                                v
 *       +----------------------------+----------------------------> LEAVING
 *                                                                     | handles closed
 *                                                                     v
 *                                                                   DONE
 *
 * In WAITING the lock may already be granted: the holder then lists the other contenders,
 * decides whether CMD runs if it has a key, and waits for a proof that leaves CMD enough
 * time. In ENDED the lock is held until the run is recorded, and for --min-hold. It is
 * released at the start of LEAVING. In both CMD has ended, and so have all processes that
 * had to end with it. */
#ifndef LOCK_JOB_H
#define LOCK_JOB_H

#include <uv.h>
#include <uvzk.h>

#include "job_signals.h"
#include "keyed_run.h"
#include "lock.h"
#include "supervised_run.h"

enum lock_job_state {
    LOCK_JOB_CONNECTING, /* next: WAITING LEAVING */
    LOCK_JOB_WAITING,    /* next: RUNNING LEAVING */
    LOCK_JOB_RUNNING,    /* next: ENDED */
    LOCK_JOB_ENDED,      /* next: LEAVING */
    LOCK_JOB_LEAVING,    /* next: DONE */
    LOCK_JOB_DONE        /* final */
};

extern const struct uvzk__machine lock_job_machine;

struct lock_job {
    uint8_t state;     /* enum lock_job_state */
    bool revoked;      /* another client has asked for the lock since the last acquire */
    bool is_recording; /* ENDED: the servers do not have the record of the run yet */
    uint64_t
        hold_ends_at; /* the end of --max-hold (CLOCK_BOOTTIME, ms); 0: not known yet */
    const struct lock_request *request;
    uv_loop_t loop;
    struct connection connection;
    struct supervised_run run;
    struct job_signals signals;
    struct participant_list participant_list;
    struct keyed_run keyed; /* if the job has keys */
    uv_timer_t listing;     /* until the participants are listed again */
    uv_timer_t pause;       /* until keyed_run_resume */
    uv_timer_t keep;        /* ENDED: until the lock is released, or a keepalive is due */
    uvzk_rwlock_t rwlock;   /* RECIPE_WRITE, RECIPE_READ */
    uvzk_lock_t single;     /* the other recipes */
    uvzk_lock_t *lock;      /* the one that is acquired: single, or a half of rwlock */
    uvzk_hold_t hold;
    uint64_t asked_at;   /* the start of the command (CLOCK_BOOTTIME, ms) */
    uint64_t began_at;   /* the start of CMD, likewise */
    int64_t began_ms;    /* the same, since 1970 */
    size_t open_handles; /* LEAVING: handles that are still being closed */
    int exit_code;       /* set in ENDED, and in LEAVING */
    int killed_by;       /* the signal that must end the holder too; 0: none */
    bool killed_job;     /* that signal must also end the rest of the shell's job */
};

/* Runs the job and returns the exit status, or kills this process with the signal that
 * has ended the job. Call it before the process has started a thread or opened a socket
 * (supervisor_start). */
int lock_job_run(const struct lock_request *);

#endif
