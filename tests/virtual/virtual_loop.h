/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libuv that the native transport uses, in the virtual time of a simulation: a
 * program that links this has no other loop. Each process has a loop of its own.
 *
 * What is not here (uv_poll_init, uv_queue_work, ...) is libuv's own function, which must
 * not be called: the sockets are virtual_sockets.c's. */
#ifndef UVZK_VIRTUAL_LOOP_H
#define UVZK_VIRTUAL_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "sim_internal.h"

/* From now on uvzk_now() and the library's random bytes are this simulation's; NULL: none.
 * There is one at a time. */
void virtual_time_begin(struct sim *sim);
struct sim *virtual_time_sim(void);

struct virtual_process;

/* What virtual_sockets.c knows of a process's network. */
struct virtual_network {
    uint32_t latency_min_ms, latency_max_ms; /* of each message, one way */
    uint64_t refused_until, silent_until;    /* servers refuse it, or are not heard */
};

/* name: for the trace; copied. */
struct virtual_process *virtual_process_new(struct sim *sim, const char *name);
/* All its handles must be closed. */
void virtual_process_free(struct virtual_process *process);
uv_loop_t *virtual_process_loop(struct virtual_process *process);
struct virtual_network *virtual_process_network(struct virtual_process *process);
const char *virtual_process_name(const struct virtual_process *process);
/* The process is stopped until then: none of its events fires before. */
void virtual_process_stop(struct virtual_process *process, uint64_t until);
/* Whose event fires now; NULL: nobody's. */
struct virtual_process *virtual_process_current(void);

/* Something that happens in a process at a point in virtual time. */
struct virtual_event {
    struct sim__event event;
    struct virtual_process *process;
    void (*fire)(struct virtual_event *);
};

void virtual_event_init(struct virtual_event *event, struct virtual_process *process,
                        void (*fire)(struct virtual_event *));
/* Sets it, or moves it if it is set. A time in the past means now. */
void virtual_event_set(struct virtual_event *event, uint64_t at);
void virtual_event_clear(struct virtual_event *event);
static inline bool virtual_event_is_set(const struct virtual_event *event)
{
    return event->event.place != 0;
}

#endif
