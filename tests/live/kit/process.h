/* A process of a live world: a client of it and a mutex. What its client is told is
 * written down, and counted. */
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
    struct process *next; /* of those of the world that are not closed */
    const char *name;     /* borrowed */
    uvzk_client_t client;
    uvzk_mutex_t mutex;                         /* of the world's path */
    uvzk_client_state_t states[PROCESS_STATES]; /* the first ones it was told */
    size_t state_count;
    int connected, suspended, reconnected, lost; /* told so far, all of them */
    int closed, mutex_closed;                    /* callbacks */
};

/* The program's servers and their tick; a session of PROCESS_SESSION_MS. */
void process_options(uvzk_client_options_t *options);
/* Makes a client and a mutex, and does not start it. options: NULL for the world's. */
void process_make(struct process *process, struct world *world, const char *name,
                  const uvzk_client_options_t *options);
void process_start(struct process *process);
/* Both. */
void process_begin(struct process *process, struct world *world, const char *name,
                   const uvzk_client_options_t *options);
void process_close(struct process *process);
void process_close_mutex(struct process *process);
/* Closes the client if that has not begun, and waits for its end. */
void process_end(struct process *process);
/* Its client was closed by other means: the world's end does not wait for it. */
void process_forget(struct process *process);

uvzk_client_stats_t process_stats(const struct process *process);
/* It has neither contenders nor watches, or will have none soon. */
void process_assert_idle(struct process *process);

/* Asks the holder of this znode to give way, and waits for what is told of that. */
int process_revoke(struct process *process, const char *node_path);

/* An operator ends its session, which it has through the world's proxy. */
void process_expire(struct process *process);

#endif
