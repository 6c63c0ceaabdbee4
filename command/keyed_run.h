/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a job under a key (run_key.h): whether the job runs, and the record of its run.
 * Records are znodes beside the lock, not below it: PATH.runs has the list of the keys
 * that are kept, and PATH.runs/KEY the record of one key. All of them change in one
 * transaction, which also checks that the hold stands (uvzk_hold_write). So of the holds
 * of one lock, one records a key.
 *
 *   keyed_run_init
 *       keyed_run_queued, keyed_run_may_queue_again     while the lock is waited for
 *       keyed_run_decide --> decided_cb                 the lock is held
 *       keyed_run_record --> recorded_cb                the job has run
 *
 * It uses the public functions of the library alone, no loop and no clock: lock_job.c uses
 * it in the command, and the simulated nights of its tests in virtual time. */
#ifndef KEYED_RUN_H
#define KEYED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

#include "run_key.h"
#include "run_record.h"

struct keyed_run_options {
    const char *path;       /* of the lock, below the namespace */
    const char *key;        /* NULL: the key is that of a slot */
    struct run_slots slots; /* without a key */
    bool at_most_once;      /* the run is recorded before it begins */
};

struct keyed_run;
/* status: 0, or why it could not be decided: an error code. */
typedef void (*keyed_run_decided_cb)(struct keyed_run *, int status, enum run_decision);
/* status: 0: the servers have the record; else an error code. */
typedef void (*keyed_run_recorded_cb)(struct keyed_run *, int status);
/* The key of the slot is known: keyed_run.key. Called at most once. */
typedef void (*keyed_run_known_cb)(struct keyed_run *);
/* A request has failed, and may succeed later: call keyed_run_resume after a pause, or
 * not at all if the hold is lost. */
typedef void (*keyed_run_pause_cb)(struct keyed_run *);

struct keyed_run {
    /* Set by the user before keyed_run_init; the rest is zeros. */
    struct keyed_run_options options;
    keyed_run_decided_cb decided_cb;
    keyed_run_recorded_cb recorded_cb;
    keyed_run_known_cb known_cb; /* may be NULL */
    keyed_run_pause_cb pause_cb;
    void *data;

    /* The user reads the key from decided_cb on. */
    char key[RUN_KEY_SIZE]; /* "": not known yet */

    /* Its own. */
    uvzk_client_t *client;
    uvzk_hold_t *hold;
    struct run_keys keys;
    struct run_record record;
    bool has_list;      /* PATH.runs exists */
    bool keeps_dropped; /* the record of the key that leaves the list is gone already */
    bool is_recording;  /* else it is deciding */
    char *first_node;   /* the znode of the first contender, owned; NULL: not known */
    char *runs_path;    /* of the list, below the namespace; owned */
    char *list_node;    /* the same, as uvzk_client_read wants it; owned */
    char *record_node;  /* of the record, likewise; owned */
    uvzk_req_t time_request, request;
    void (*next)(struct keyed_run *); /* for keyed_run_resume */
};

/* Returns 0 or UV_ENOMEM. */
int keyed_run_init(struct keyed_run *, uvzk_client_t *);
/* No request may be under way: the client is closed. */
void keyed_run_free(struct keyed_run *);

/* Call it in the queued_cb of each acquire. Without a key, it asks the servers when the
 * contender was created, because the run has begun then. */
void keyed_run_queued(struct keyed_run *, const uvzk_hold_t *);
/* The session has expired while the lock was waited for. Returns true if the key is
 * known; else another contender would begin later than the run. */
bool keyed_run_may_queue_again(const struct keyed_run *);

/* The lock is held by this hold: decides whether the job runs. Of the record, `by` and
 * began_ms are set; with --at-most-once it is written if the job runs. decided_cb is called
 * once, unless keyed_run_resume is not called; perhaps inside the call. */
void keyed_run_decide(struct keyed_run *, uvzk_hold_t *, const struct run_record *);
/* The job has run: writes the record, with its end. recorded_cb is called as decided_cb
 * is. */
void keyed_run_record(struct keyed_run *, const struct run_record *);
void keyed_run_resume(struct keyed_run *);

#endif
