/* A process of a simulated world: a client with its port, and a mutex. The states that
 * the client reports are recorded. */
#ifndef UVZK_SIM_KIT_PROCESS_H
#define UVZK_SIM_KIT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/create.h"
#include "engine/client.h"
#include "sim.h"
#include "uvzk.h"

#define PROCESS_STATES 32

struct world;

struct process {
    struct world *world;
    struct process *next;    /* in world->processes */
    const char *name;        /* as in the trace; borrowed */
    struct uvzk__port *port; /* of the first session; NULL after the close */
    /* Of each session. Not valid after the close has begun. */
    struct uvzk__port *ports[UVZK__SESSIONS_MAX];
    uint32_t sessions;
    uvzk_client_t client;
    uvzk_mutex_t mutex;   /* at WORLD_PATH */
    uvzk_rwlock_t rwlock; /* made by the functions below, if the test needs it */
    uvzk_semaphore_t semaphore;
    /* Reported by the client, in order, with the virtual time of each. */
    uvzk_client_state_t states[PROCESS_STATES];
    uint64_t state_ms[PROCESS_STATES];
    size_t state_count;
    bool closing;
    bool persistent;          /* lock drivers create znodes that outlive the process */
    int closed, mutex_closed; /* callbacks that have come */
    /* An operator or another client has ended the session. Until the client reports LOST,
     * its holds are not checked, because they do not protect anything. */
    bool killed;
};

/* Options of a client that retries 3 times, 50 ms apart, and records its states. */
void process_options(uvzk_client_options_t *options);
/* Creates the client and its mutex, without starting the client. The number of its ports
 * is options->sessions. options: NULL for those of process_options. */
void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
/* Starts the client. */
void process_start(struct process *process);
/* Calls process_make and process_start. */
void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options);
/* Replaces the mutex, which must not have been used, by a lock with this driver at the
 * same path. Returns what uvzk_driver_lock_init returns. */
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

/* Whether the client's state is CONNECTED or RECONNECTED. */
bool process_connected(const struct process *process);
/* Runs the simulation until the client is connected, for `ms` at most. Returns whether it
 * is. */
bool process_await_connected(struct process *process, uint64_t ms);
/* Runs the simulation until the trace has a line at or after `from` that is about this
 * process and begins with `text`. Fails the test if there is none within `ms`. */
void process_await_line(struct process *process, size_t from, const char *text,
                        uint64_t ms);
/* Whether the client has reported this state, beginning with states[from]. */
bool process_was_told(const struct process *process, size_t from,
                      uvzk_client_state_t state);
/* The statistics of the client. */
uvzk_client_stats_t process_stats(const struct process *process);
/* The metrics of the client, which are counted from the first call of this function
 * on. */
uvzk_client_metrics_t process_metrics(struct process *process);
/* The contenders and the watches that the client has now. */
uint64_t process_contenders(const struct process *process);
uint64_t process_watches(const struct process *process);
/* How many of these watches are kept for watermarks. A watermark is kept for some time
 * after the last contender of its directory has ended. */
uint64_t process_watermarks(const struct process *process);

/* Acquires the mutex and releases it. No other contender may be in the way. */
void process_take_turn(struct process *process);

/* Ends the first session of the process, as an operator does. */
void process_expire(struct process *process);
/* Faults, each for a table of faults. The first one does nothing. The next three affect
 * one request (sim.h). The others cut the process off for the world's outage_ms: at once
 * or silently, by a restart of all servers, or by cutting its follower off from the
 * leader. */
void process_no_fault(struct process *process);
void process_lose_request(struct process *process);
void process_lose_reply(struct process *process);
void process_reply_enomem(struct process *process);
void process_reset(struct process *process);
void process_silence(struct process *process);
void process_lose_servers(struct process *process);
void process_lose_leader(struct process *process);

#endif
