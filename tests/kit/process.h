/* SPDX-License-Identifier: Apache-2.0 */
/* A process of a test: a client with its locks, and a record of all states that the client
 * reports. The same file serves both kits: the world and its processes are simulated
 * (sim/kit) or real (live/kit), and each kit compiles process.c with its own world.h. */
#ifndef UVZK_KIT_PROCESS_H
#define UVZK_KIT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/create.h"
#include "engine/client.h"
#include "uvzk.h"

#define PROCESS_STATES 128

struct world;

struct process {
    struct world *world;
    struct process *next; /* in world->processes, until its close */
    const char *name;     /* as in the trace; borrowed */
    uvzk_client_t client;
    uvzk_mutex_t mutex;   /* at the world's path */
    uvzk_rwlock_t rwlock; /* made by the functions below, if the test needs it */
    uvzk_semaphore_t semaphore;
    /* Reported by the client, in order, with the time of each. */
    uvzk_client_state_t states[PROCESS_STATES];
    uint64_t state_ms[PROCESS_STATES];
    size_t state_count;
    int connected, suspended, reconnected, lost; /* how often each state was reported */
    bool closing;
    int closed, mutex_closed; /* callbacks that have come */
    bool may_log_errors;      /* else a simulated process fails the test with one */
    bool persistent;          /* lock drivers create znodes that outlive the process */
    /* An operator or another client has ended the session. Until the client reports LOST,
     * its holds are not checked, because they do not protect anything. */
    bool killed;
    /* Of a simulated process: the port of each session, not valid after the close has
     * begun; and that of the first session, NULL after the close. */
    struct uvzk__port *ports[UVZK__SESSIONS_MAX];
    struct uvzk__port *port;
    uint32_t sessions;
};

/* The kit's options of a client, which records its states. */
void process_options(uvzk_client_options_t *options);
/* Creates the client and its mutex, without starting the client. options: NULL for the
 * world's. */
void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
/* Starts the client. */
void process_start(struct process *process);
/* Calls process_make and process_start. */
void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options);
/* Replaces the mutex, which must not have been used, by a lock with this driver at the
 * same path. Returns what uvzk_lock_init_with_driver returns. */
int process_drive(struct process *process, const uvzk_lock_driver_t *driver);
/* Replaces the mutex, which must not have been used, by one with a cohort at the same
 * path. */
void process_make_cohort(struct process *process, uint32_t handovers, uint32_t ms);
/* Make the other locks of the process, each at its own path. leases: the maximum of the
 * semaphore. */
void process_make_rwlock(struct process *process, const char *path);
void process_make_semaphore(struct process *process, const char *path, uint32_t leases);
/* Begin to close the client, or the mutex. `closed` and `mutex_closed` count the
 * callbacks. */
void process_close(struct process *process);
void process_close_mutex(struct process *process);
/* Closes the client if that has not begun, and waits for the callback. */
void process_end(struct process *process);
/* The test closes the client in another way, so world_end must not close it. */
void process_forget(struct process *process);

/* Returns true if the client's state is CONNECTED or RECONNECTED. */
bool process_connected(const struct process *process);
/* Lets time pass until the client is connected, for `ms` at most. Returns whether it
 * is. */
bool process_await_connected(struct process *process, uint64_t ms);
/* Returns true if the client has reported this state, beginning with states[from]. */
bool process_was_told(const struct process *process, size_t from,
                      uvzk_client_state_t state);
/* The metrics of the client; all 0 if it is not initialised. */
uvzk_client_metrics_t process_metrics(const struct process *process);
/* The contenders and the watches that the client has now. */
uint64_t process_contenders(const struct process *process);
uint64_t process_watches(const struct process *process);

/* Acquires the mutex and releases it. No other contender may be in the way. */
void process_take_turn(struct process *process);
/* Asks the holder with this znode to release the lock. Waits for the callback and returns
 * its status. */
int process_revoke(struct process *process, const char *node_path);
/* Ends the first session of the process, as an operator does. In a live world, the client
 * must be connected through the world's proxy. */
void process_expire(struct process *process);

#endif
