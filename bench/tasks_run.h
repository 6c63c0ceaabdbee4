/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tasks: one run and its tasks. */
#ifndef BENCH_TASKS_RUN_H
#define BENCH_TASKS_RUN_H

#include <stdbool.h>
#include <uv.h>

#include "exclusion.h"
#include "latencies.h"
#include "tasks.h"
#include "uvzk.h"
#include "window.h"

/*   CONNECTING -> WARMING -> MEASURING -> ENDING -> CLOSING
 * After a failure, the run goes to CLOSING at once. */
enum tasks_phase {
    CONNECTING,
    WARMING,
    MEASURING,
    ENDING, /* tasks release and do not acquire again */
    CLOSING
};

struct tasks_run;

/* A lock path as one session uses it. */
struct place {
    bool open;
    union {
        uvzk_lock_t lock;
        uvzk_rwlock_t both;
    };
};

struct task {
    uvzk_hold_t hold; /* must be first; its data is the run */
    struct place *place;
    struct exclusion *path;
    uv_timer_t hold_ends; /* only with --hold */
    uint64_t random;
    uint64_t asked_ns, granted_ns;
    bool reads;
    bool has_cycled;
};

struct tasks_run {
    const struct tasks_options *options;
    struct tasks_result *result;
    uv_loop_t loop;
    uv_timer_t phase_ends;
    enum tasks_phase phase;
    uvzk_client_t *clients;
    size_t clients_started; /* initialized, so they must be closed */
    size_t clients_connected;
    struct place *places; /* index: path number * sessions + session number */
    struct exclusion *paths;
    struct task *tasks;
    size_t running; /* tasks that have not ended */
    size_t fresh;   /* tasks that have had no cycle yet */
    uint64_t warming_since_ns;
    struct window window;
    uvzk_client_metrics_t before; /* at the begin of the window, for all clients */
    struct latencies acquires, cycles, handovers;
    FILE *journal; /* NULL: none */
};

/* tasks_run.c */
void tasks_fail(struct tasks_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tasks_task_ended(struct tasks_run *run);

/* tasks_task.c */
void task_acquire(struct tasks_run *run, struct task *task);

#endif
