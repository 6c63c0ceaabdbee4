/* The holder's side of one `uvzk lock`: from the wish to have the lock to the exit status.
 *
 *      CONNECTING --> WAITING --- granted ---> RUNNING
 *           |            |                        | CMD has ended, or could not be run
 *           |            | in vain, given up      v
 *           +------------+-------------------> LEAVING --- session closed ---> DONE
 *
 * The lock is given back in LEAVING, after CMD and whoever was ended with it are gone. */
#ifndef LOCK_JOB_H
#define LOCK_JOB_H

#include <uv.h>
#include <uvzk.h>

#include "job_signals.h"
#include "lock.h"
#include "supervisor.h"

enum lock_job_state {
    LOCK_JOB_CONNECTING, /* next: WAITING LEAVING */
    LOCK_JOB_WAITING,    /* next: RUNNING LEAVING */
    LOCK_JOB_RUNNING,    /* next: LEAVING */
    LOCK_JOB_LEAVING,    /* next: DONE */
    LOCK_JOB_DONE        /* final */
};

extern const struct uvzk__machine lock_job_machine;

struct lock_job {
    uint8_t state; /* enum lock_job_state */
    bool lost;
    const struct lock_request *request;
    uv_loop_t loop;
    struct connection connection;
    struct supervisor supervisor;
    struct job_signals signals;
    struct participant_list participant_list;
    uvzk_rwlock_t rwlock; /* RECIPE_WRITE, RECIPE_READ */
    uvzk_lock_t single;   /* the others */
    uvzk_lock_t *lock;    /* the one that is acquired */
    uvzk_hold_t hold;
    uint64_t asked_at;
    uv_poll_t channel;
    uv_timer_t proofs;           /* the validity is handed on to the supervisor */
    uv_timer_t supervisor_timer; /* a supervisor that does not do its work */
    size_t open_handles;
    int exit_code;
    int killed_by;   /* a signal that is to end us, too; 0: none */
    bool killed_job; /* ... and the shell's whole job */
};

/* Runs it to its end and returns the exit status, or dies of the signal that has ended
 * it. To be called before anything else is started. */
int lock_job_run(const struct lock_request *);

#endif
