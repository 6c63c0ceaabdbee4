/* SPDX-License-Identifier: Apache-2.0 */
/* Workers on one session: each repeats its requests in the C client's completion thread
 * until the run ends. raw_singles.c and raw_multis.c use it. */
#ifndef RAW_WORKERS_H
#define RAW_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "raw_session.h"
#include "raw_tasks.h"

struct raw_workers {
    struct raw_workers *self; /* completions get a pointer to const */
    struct raw_tasks *run;
    struct raw_session session;
    size_t worker_count;
    /* Begins one worker. Called in the completion thread. */
    void (*begin)(struct raw_workers *workers, size_t member);
    size_t running;
    atomic_bool ending; /* set by the measuring thread; workers read it */
    sem_t ended;
};

/* Makes the directories, begins the workers, warms up, measures and ends them. The caller
 * sets `run`, `worker_count` and `begin`. Returns ZooKeeper's code. */
int raw_workers_run(struct raw_workers *workers);

/* A worker calls this when it ends; `rc` is ZOK or why it ended. */
void raw_worker_ended(struct raw_workers *workers, int rc);

#endif
