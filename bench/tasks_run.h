/* tasks, inside: one run and its tasks. */
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
 *   A failure goes to CLOSING at once. */
enum tasks_phase {
    CONNECTING,
    WARMING,
    MEASURING,
    ENDING, /* who is granted gives back and does not come again */
    CLOSING
};

struct tasks_run;

/* A path as one session has it. */
struct place {
    bool open;
    union {
        uvzk_lock_t lock;
        uvzk_rwlock_t both;
    };
};

struct task {
    uvzk_hold_t hold; /* first; its data is the run */
    struct place *place;
    struct exclusion *path;
    uint64_t random;
    uint64_t asked_ns;
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
    size_t clients_started; /* a close is owed */
    size_t clients_connected;
    struct place *places; /* path by path, session by session */
    struct exclusion *paths;
    struct task *tasks;
    size_t running; /* tasks that will be called back */
    size_t fresh;   /* tasks without a cycle yet: their directories may be missing */
    uint64_t warming_since_ns;
    struct window window;
    uvzk_client_stats_t before; /* the window; all clients together */
    struct latencies acquires, cycles;
};

/* tasks_run.c */
void tasks_fail(struct tasks_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tasks_task_ended(struct tasks_run *run);

/* tasks_task.c */
void task_acquire(struct tasks_run *run, struct task *task);

#endif
