/* A process of a live world: a client and a mutex. The states that the client reports are
 * recorded and counted. */
#ifndef UVZK_LIVE_KIT_PROCESS_H
#define UVZK_LIVE_KIT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvzk.h"

#define PROCESS_STATES 32
#define PROCESS_SESSION_MS 10000U

struct world;

struct process {
    struct world *world;
    struct process *next; /* in world->processes, until its close */
    const char *name;     /* borrowed */
    uvzk_client_t client;
    uvzk_mutex_t mutex;                         /* at the world's path */
    uvzk_client_state_t states[PROCESS_STATES]; /* the first ones */
    size_t state_count;
    int connected, suspended, reconnected, lost; /* how often each state was reported */
    int closed, mutex_closed;                    /* callbacks */
};

/* Options for the program's servers and their tick, with a session timeout of
 * PROCESS_SESSION_MS. */
void process_options(uvzk_client_options_t *options);
/* Creates a client and a mutex, without starting the client. options: NULL for the
 * world's. */
void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
/* Starts the client. */
void process_start(struct process *process);
/* Calls process_make and process_start. */
void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options);
/* Begin to close the client, or the mutex. `closed` and `mutex_closed` count the
 * callbacks. */
void process_close(struct process *process);
void process_close_mutex(struct process *process);
/* Closes the client if that has not begun, and waits for the callback. */
void process_end(struct process *process);
/* The test closes the client in another way, so world_end must not close it. */
void process_forget(struct process *process);

/* The statistics of the client. */
uvzk_client_stats_t process_stats(const struct process *process);
/* Runs the loop until the client has neither contenders nor watches. Fails the test after
 * PATIENCE_MS. */
void process_assert_idle(struct process *process);

/* Asks the holder with this znode to release the lock. Waits for the callback and returns
 * its status. */
int process_revoke(struct process *process, const char *node_path);

/* Ends the session, as an operator does. The client must be connected through the world's
 * proxy. */
void process_expire(struct process *process);

#endif
