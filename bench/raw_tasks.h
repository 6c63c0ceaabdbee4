/* SPDX-License-Identifier: Apache-2.0 */
/* raw_tasks: how fast the ZooKeeper C client is without any lock logic, as a baseline for
 * tasks. This header has the options and the results. */
#ifndef BENCH_RAW_TASKS_H
#define BENCH_RAW_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "latencies.h"
#include "window.h"
#include "workload.h"

struct raw_tasks {
    /* Its tasks are cycles, and its paths are directories. Only the handoff uses its
     * sessions. */
    struct workload workload;
    uint64_t batch;   /* of the multis */
    uint64_t hold_ms; /* of the handoff: from each event until the next delete */

    struct window window;
    /* in the window, which lasts until there is at least one */
    atomic_uint_fast64_t cycles;
    uint64_t active_ns; /* the time that they took */
    struct latencies latencies;
    atomic_int error; /* the first error of ZooKeeper, or ZOK */
};

/* Each task creates an ephemeral sequential znode and deletes it, again and again. The
 * next request is sent from inside the completion. */
void raw_singles(struct raw_tasks *run);

/* The same, with `batch` creates in one multi, and their deletes in another. */
void raw_multis(struct raw_tasks *run);

/* A row of znodes, each of which is watched by the session of the next one. When a znode
 * is deleted, the watcher of the next one deletes that one. A cycle is one such handover.
 * Only the handovers are timed, not the creation of the row. */
void raw_handoff(struct raw_tasks *run);

#endif
