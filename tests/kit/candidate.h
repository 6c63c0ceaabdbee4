/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate of the tests: the participant of one process in one election, and a record
 * of everything that uvzk reports to it. The same file serves both kits, as hold.h does.
 *
 * Each callback checks the following, and the test fails otherwise: leader_cb and
 * deposed_cb alternate; a leader is one when leader_cb runs, and none when deposed_cb
 * runs; tokens grow from leader to leader of a path, and leaders that changed_cb reports
 * have growing tokens; after the close no callback comes. When leader_cb runs, and
 * whenever candidates_check is called, no two candidates of a path lead. */
#ifndef UVZK_KIT_CANDIDATE_H
#define UVZK_KIT_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define CANDIDATE_PATH "/elections/a"
#define CANDIDATE_ID_SIZE 64

struct process;
struct world;

struct candidate {
    uvzk_election_t election;
    struct process *process;
    const char *path, *id;  /* borrowed */
    struct candidate *next; /* in the list of open candidates */
    /* How often each callback has run. */
    int led, deposed, changes, errors, closed;
    bool leads;           /* between leader_cb and deposed_cb */
    int64_t token;        /* of the last leader_cb */
    uint64_t valid_until; /* likewise */
    int reason, error;    /* of the last deposed_cb, error_cb */
    uint64_t led_ms, deposed_ms;
    int64_t leader_token; /* of the last changed_cb; 0: no leader */
    int64_t newest_token; /* of all changed_cb */
    char leader_id[CANDIDATE_ID_SIZE];
    bool may_err; /* else error_cb fails the test */
    bool closing, silent;
    /* Called inside the callbacks; candidate_ask resets these. */
    void (*lead_hook)(struct candidate *);
    void (*deposed_hook)(struct candidate *);
    void (*error_hook)(struct candidate *);
    void (*changed_hook)(struct candidate *);
};

/* The options of candidates: the callbacks that record. */
void candidate_options(uvzk_election_options_t *options, const char *id);
/* Calls uvzk_election_init and returns its result. options: of candidate_options. */
int candidate_ask(struct candidate *candidate, struct process *process, const char *path,
                  const uvzk_election_options_t *options);
/* The same at CANDIDATE_PATH, with the defaults, and asserts that it is accepted. */
void candidate_begin(struct candidate *candidate, struct process *process,
                     const char *id);
/* candidate_begin for an election of this kind, and without changed_cb if !follows. */
void candidate_begin_as(struct candidate *candidate, struct process *process,
                        const char *id, uvzk_election_kind_t kind, bool follows);

/* Asserts that it has led, or was deposed, `times` times within `ms`. */
void candidate_await_led(struct candidate *candidate, int times, uint64_t ms);
void candidate_await_deposed(struct candidate *candidate, int times, uint64_t ms);
/* Asserts that changed_cb reports this id as the leader's within `ms`; NULL: none. */
void candidate_await_leader(struct candidate *candidate, const char *id, uint64_t ms);

/* Calls uvzk_election_resign, and asserts that it is accepted. */
void candidate_resign(struct candidate *candidate);
/* Begins to close it. The second function waits for the callback. */
void candidate_close(struct candidate *candidate, uvzk_election_close_mode_t mode);
void candidate_end(struct candidate *candidate);

/* Returns true if uvzk_election_is_leader says so now. */
bool candidate_is_leader(const struct candidate *candidate);
/* Fails the test if two open candidates of one path are leaders. Processes whose session
 * an operator has ended are left out until their clients know it. */
void candidates_check(struct world *world);
/* How many of the open candidates are leaders. */
int candidates_leading(void);
/* The open candidate that is a leader. NULL: there is none. */
struct candidate *candidates_leader(void);
/* The client of this process is closed: its candidates are closed without a callback. */
void candidates_client_closed(const struct process *process);
/* Forgets all, at the beginning of a test that follows a failed one. */
void candidates_reset(void);

#endif
