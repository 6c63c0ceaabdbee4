/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of CMD, as the holder process sees them: it hands the validity of a hold on to
 * the supervisor, tells the supervisor what to do with CMD, and hears how CMD has ended.
 * Used by lock_job.c, for one run, and by elect_job.c, for one run each time that this
 * host leads.
 *
 *   supervised_run_prepare, supervised_run_begin
 *       supervised_run_start --> begun_cb --> ended_cb    once for each run
 *   supervised_run_close, supervised_run_end */
#ifndef SUPERVISED_RUN_H
#define SUPERVISED_RUN_H

#include <stdbool.h>

#include <uv.h>
#include <uvzk.h>

#include "channel.h"
#include "service_manager.h"
#include "supervisor.h"

/* How a run has ended. In each case CMD and all processes that had to end with it are
 * gone. */
struct supervised_end {
    enum supervised_outcome {
        SUPERVISED_ENDED,      /* CMD has ended */
        SUPERVISED_MADE_TO,    /* CMD was made to end, or was not run because too little
                                  validity was left */
        SUPERVISED_NOT_RUN,    /* CMD could not be run; the reason was printed */
        SUPERVISED_OUT_OF_HAND /* the supervisor has failed; CMD was killed */
    } outcome;
    int status;    /* ENDED, MADE_TO: CMD's, as exit_code_of_process has it */
    int by_signal; /* ENDED: the signal that has ended CMD; else 0 */
    bool in_front; /* CMD had the terminal when it ended */
    int exit_code; /* of uvzk, if it ends now */
};

struct supervised_run;
/* CMD is being run. Called from supervised_run_start, or later. */
typedef void (*supervised_begun_cb)(struct supervised_run *);
/* Called once after supervised_run_start, unless supervised_run_cancel or
 * supervised_run_close is called before. It may be called from supervised_run_start, and
 * with SUPERVISED_OUT_OF_HAND at any time. */
typedef void (*supervised_ended_cb)(struct supervised_run *,
                                    const struct supervised_end *);

struct supervised_run {
    struct supervisor_options options;
    const char *says_begun; /* "granted", for --verbose; NULL: without */
    bool running;           /* from begun_cb to ended_cb */
    bool started;           /* the supervisor has started CMD */
    bool lost;              /* the hold was lost while CMD ran */
    bool at_limit;          /* it was lost because of --max-hold */
    bool is_finished;       /* no other run follows */
    struct supervisor supervisor;
    /* Gets keepalives while CMD runs. The user may have initialised it before
     * supervised_run_prepare; zeros: there is no service manager. */
    struct service_manager service_manager;
    const uvzk_client_t *client; /* of the hold */
    uvzk_hold_t *hold;           /* of this run; NULL: none */
    uint64_t asked_at;           /* when the wait for the hold began, for says_begun */
    uint64_t said_at;            /* when says_begun was reported; 0: not yet */
    uv_poll_t channel;           /* messages from the supervisor */
    uv_timer_t proofs;           /* passes the end of the validity on to the supervisor */
    /* Fires if the supervisor has not ended CMD in time after the hold was lost. */
    uv_timer_t overdue;
    supervised_begun_cb begun_cb;
    supervised_ended_cb ended_cb;
    void *data; /* the user's */
};

/* Forks the supervisor: call it before the process has a thread, a signal handler or a
 * socket of the client. The user has set options, begun_cb, ended_cb and data; the rest is
 * zeros. Returns EX_OK, or an exit code after it has printed what is wrong. */
int supervised_run_prepare(struct supervised_run *);

/* Initialises the handles on the loop. Returns 0 or libuv's error code. */
int supervised_run_begin(struct supervised_run *, uv_loop_t *, const uvzk_client_t *);

/* Runs CMD when the hold is valid for long enough: now, or after the next proof. If no
 * proof arrives, the hold is lost. */
void supervised_run_start(struct supervised_run *, uvzk_hold_t *);

/* The hold is lost, and CMD does not run yet: begun_cb is not called. */
void supervised_run_cancel(struct supervised_run *);

/* If CMD runs: the hold is lost, and the supervisor does what --on-lost says; or the hold
 * must be given up, but is still held until CMD has ended. ended_cb is called then.
 * reason: as in uvzk_hold_lost_cb. why: the text that the supervisor prints. May be
 * called again. */
void supervised_run_lost(struct supervised_run *, int reason, const char *why);
void supervised_run_give_up(struct supervised_run *, const char *why);

/* Sends the supervisor a message without a text, if CMD runs. */
void supervised_run_tell(struct supervised_run *, enum message_kind, int64_t number);

/* No other run follows: the supervisor may have exited. Call it in ended_cb. */
void supervised_run_finish(struct supervised_run *);

/* How many handles supervised_run_close closes. */
#define SUPERVISED_RUN_HANDLES 3U
/* Closes the handles; cb is called for each. */
void supervised_run_close(struct supervised_run *, uv_close_cb cb);

/* Waits until the supervisor has exited (supervisor_end). After the loop has ended. */
void supervised_run_end(struct supervised_run *);

#endif
