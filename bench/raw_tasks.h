/* raw_tasks: what the ZooKeeper C client does when it is driven as hard as it goes,
 * without any lock logic: the yardsticks beside tasks. This header: what is asked,
 * what was seen. */
#ifndef BENCH_RAW_TASKS_H
#define BENCH_RAW_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "latencies.h"
#include "window.h"
#include "workload.h"

struct raw_tasks {
    struct workload
        workload;   /* tasks are cycles, paths directories; of the handoff the sessions */
    uint64_t batch; /* of the multis */

    struct window window;
    atomic_uint_fast64_t cycles; /* in the window, which lasts until there is one */
    uint64_t active_ns;          /* what they took */
    struct latencies latencies;
    atomic_int error; /* ZooKeeper's first; ZOK */
};

/* Each task: create an ephemeral sequential znode, delete it; the next request leaves from
 * inside the completion. */
void raw_singles(struct raw_tasks *run);

/* The same, so many creates in one multi, and their deletes in another. */
void raw_multis(struct raw_tasks *run);

/* Znodes in a row, each watched by the session of the next: a delete, its event, the next
 * delete from inside the watcher. Only that is timed, not the making of the row. A cycle
 * is one handing over. */
void raw_handoff(struct raw_tasks *run);

#endif
