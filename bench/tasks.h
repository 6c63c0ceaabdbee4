/* SPDX-License-Identifier: Apache-2.0 */
/* tasks: many tasks in one loop, each of which acquires a lock and releases it
 * repeatedly, for a given time. This header has the options and the result. */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "workload.h"

enum recipe { MUTEX, SEMAPHORE, READ_WRITE };

struct tasks_options {
    /* Its sessions are clients on the one loop. The tasks of a path use them in turn.
     * together: they are one client, which chooses the session. */
    struct workload workload;
    bool together;
    enum recipe recipe;
    uint64_t leases; /* of a semaphore */
    /* How many of a hundred acquires of a read-write lock are for reading. */
    uint64_t readers;
    uint64_t hold_ms;    /* how long a task holds; 0: it releases in the callback */
    uint32_t transport;  /* uvzk_transport_t */
    const char *tls;     /* options.tls */
    const char *base;    /* of the locks; NULL: a path of this process's own */
    const char *journal; /* the name of a journal (journal.h); NULL: none */
};

struct tasks_result {
    char failure[256]; /* why the run was ended early; "" if it was not */

    /* In the window. A cycle is from the acquire to the release callback. */
    uint64_t cycles;
    uint64_t window_ns;
    uint64_t requests; /* as the clients count them, with proof requests */
    uint64_t listings;
    uint64_t proofs;
    double acquire_us[3]; /* acquire to grant: p50, p99, p99.9 */
    double cycle_us[3];
    double handover_us[3]; /* from the call of a release to the next grant of its lock */

    /* In the whole run. Each of these is 0 if the run is right. */
    uint64_t overlaps;       /* grants while one that they exclude was held */
    uint64_t out_of_order;   /* tokens that did not grow (exclusion.h) */
    uint64_t invalid_grants; /* grants that were not valid in the callback */
    uint64_t refused;        /* acquires without a grant */
    uint64_t lost;           /* holds without a release */
    int first_error;         /* the code of the first of these */
};

/* How many clients there are. */
static inline uint64_t tasks_clients(const struct tasks_options *options)
{
    return options->together ? 1 : options->workload.sessions;
}

/* Runs the benchmark. The result is complete in any case. */
void tasks_run(const struct tasks_options *options, struct tasks_result *result);

/* Returns whether all was right, and prints on stderr what was not. */
bool tasks_right(const struct tasks_result *result);

/* Prints one JSON object on one line. */
void tasks_print(FILE *out, const struct tasks_options *options,
                 const struct tasks_result *result, bool right);

#endif
