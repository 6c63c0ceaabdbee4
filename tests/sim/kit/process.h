/* A process of a simulated world: a client with its port, and a mutex. What its client is
 * told is written down. */
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
    struct process *next;    /* of all of the world's */
    const char *name;        /* as the trace has it; borrowed */
    struct uvzk__port *port; /* of its first session; NULL once closed */
    struct uvzk__port
        *ports[UVZK__SESSIONS_MAX]; /* of each, as long as it is not closing */
    uint32_t sessions;
    uvzk_client_t client;
    uvzk_mutex_t mutex;   /* of WORLD_PATH */
    uvzk_rwlock_t rwlock; /* this one and the next if it makes them, as below */
    uvzk_semaphore_t semaphore;
    uvzk_client_state_t states[PROCESS_STATES];
    uint64_t state_ms[PROCESS_STATES];
    size_t state_count;
    bool closing;
    bool persistent;          /* drivers of its locks make znodes that outlive it */
    int closed, mutex_closed; /* callbacks */
    /* Its session was ended before its time, and its holds protect nothing until it is
     * told that it has lost the session: */
    bool killed;
};

/* For a few quick retries. */
void process_options(uvzk_client_options_t *options);
/* Makes a client of options->sessions, and a mutex, and does not start it. options:
 * NULL for those above. */
void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
void process_start(struct process *process);
/* Both. */
void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options);
/* Its mutex, yet unused, becomes a lock with this driver, of the same path. What
 * uvzk_driver_lock_init says. */
int process_drive(struct process *process, const uvzk_lock_driver_t *driver);
/* Its mutex, yet unused, becomes one with a cohort, of the same path. */
void process_make_cohort(struct process *process, uint32_t handovers, uint32_t ms);
/* Its other locks, of a path each; so many leases. */
void process_make_rwlock(struct process *process, const char *path);
void process_make_semaphore(struct process *process, const char *path, uint32_t leases);
void process_close(struct process *process);
void process_close_mutex(struct process *process);

bool process_connected(const struct process *process);
bool process_await_connected(struct process *process, uint64_t ms);
/* Waits for such a line about it at or after `from`, which must come within ms. */
void process_await_line(struct process *process, size_t from, const char *text,
                        uint64_t ms);
/* Whether it was told of this state, since the states counted `from`. */
bool process_was_told(const struct process *process, size_t from,
                      uvzk_client_state_t state);
/* What its client has cost so far; contenders and watches that it has left. */
uvzk_client_stats_t process_stats(const struct process *process);
/* Counted from the first call on. */
uvzk_client_metrics_t process_metrics(struct process *process);
uint64_t process_contenders(const struct process *process);
uint64_t process_watches(const struct process *process);
/* Of these the ones that are kept for watermarks: for a while after the last one has
 * gone. */
uint64_t process_watermarks(const struct process *process);

/* It takes its mutex and gives it back: nothing is in its way. */
void process_take_turn(struct process *process);

/* What may befall it. An operator ends its session; and, each to be put into a table of
 * troubles: nothing, or one loss on its connection (sim.h); or it is cut off for the
 * world's outage_ms, at once or in silence, with all the others, or with a follower. */
void process_expire(struct process *process);
void process_no_fault(struct process *process);
void process_lose_request(struct process *process);
void process_lose_reply(struct process *process);
void process_reply_enomem(struct process *process);
void process_reset(struct process *process);
void process_silence(struct process *process);
void process_lose_servers(struct process *process);
void process_lose_leader(struct process *process);

#endif
