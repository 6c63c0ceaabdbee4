/* SPDX-License-Identifier: Apache-2.0 */
/* One run of `uvzk elect` in the holder process: connect, stand for election, have CMD run
 * by the supervisor each time that this host leads, until a signal comes.
 *
 *                     ,------- made to end: deposed, or its time was over ----.
 *                     v                                                       |
 *   CONNECTING --> STANDING --- leads, proved ---> RUNNING --- ended ---> RESTING
 *       |             ^  |                            |                    ^  |
 *       |             |  `-- deposed before that -----+--------------------'  |
 *       |             `----- the pause is over -------+-----------------------'
 *       | no connection, signal, refused              | signal, --once, CMD cannot be run
 *       `---------------------------------------> LEAVING --> DONE
 *
 * STANDING: the participant is in the queue; or it leads, and waits for a proof that leaves
 * CMD enough time. RESTING: CMD has ended; the leadership
 * is given up, and then a pause runs, whose length is 0 if CMD was made to end. The
 * participant leaves the queue at the start of RESTING and LEAVING. At that moment CMD
 * and all processes that it has started have ended. */
#ifndef ELECT_JOB_H
#define ELECT_JOB_H

#include <uv.h>
#include <uvzk.h>

#include "elect.h"
#include "job_signals.h"
#include "supervised_run.h"

enum elect_job_state {
    ELECT_JOB_CONNECTING, /* next: STANDING LEAVING */
    ELECT_JOB_STANDING,   /* next: RUNNING RESTING LEAVING */
    ELECT_JOB_RUNNING,    /* next: RESTING LEAVING */
    ELECT_JOB_RESTING,    /* next: STANDING LEAVING */
    ELECT_JOB_LEAVING,    /* next: DONE */
    ELECT_JOB_DONE        /* final */
};

extern const struct uvzk__machine elect_job_machine;

struct elect_job {
    uint8_t state;     /* enum elect_job_state */
    bool has_terminal; /* a controlling terminal, at the start */
    const struct elect_request *request;
    uv_loop_t loop;
    struct connection connection;
    struct supervised_run run;
    struct job_signals signals;
    uvzk_election_t election;
    uint64_t begun_at;     /* when CMD was begun (CLOCK_BOOTTIME, ms) */
    uint64_t growth_ms;    /* the next pause after CMD has ended by itself */
    uint64_t pause_ms;     /* RESTING: the pause after the leadership has ended */
    uv_timer_t pause;      /* RESTING: until it stands again */
    uv_timer_t term;       /* RUNNING: --max-reign */
    uv_timer_t keepalives; /* while CMD does not run, in a unit with WatchdogSec= */
    size_t open_handles;   /* LEAVING: handles that are still being closed */
    int exit_code;         /* set in LEAVING */
    int fatal;             /* why it does not stand again; 0: it does */
    int stopped_by;        /* RUNNING: a signal that ends the job with CMD; 0: none */
    int killed_by;         /* LEAVING: the signal that must end the holder too; 0: none */
    bool killed_job;       /* that signal must also end the rest of the shell's job */
};

/* Runs the job and returns the exit status, or kills this process with the signal that
 * has ended the job. Call it before the process has started a thread or opened a socket
 * (supervisor_start). */
int elect_job_run(const struct elect_request *);

#endif
