/* tasks: many tasks in one loop, each of which acquires a lock, gives it back, and does
 * so again, for a while. This header: what is asked, what was seen. */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "workload.h"

enum recipe { MUTEX, SEMAPHORE, READ_WRITE };

struct tasks_options {
    struct workload
        workload; /* its sessions are clients on the one loop: the tasks of a path
                           take turns at them */
    enum recipe recipe;
    uint64_t leases;  /* of a semaphore */
    uint64_t readers; /* how many of a hundred acquires of a read-write lock are for
                         reading */
};

struct tasks_result {
    char failure[256]; /* why the run was given up; "" if it was not */

    /* In the window. A cycle is from the acquire until the release is told. */
    uint64_t cycles;
    uint64_t window_ns;
    uint64_t requests; /* as the clients count them, proofs included */
    uint64_t listings;
    uint64_t proofs;
    double acquire_us[3]; /* acquire .. grant: p50, p99, p99.9 */
    double cycle_us[3];

    /* In the whole run; each is 0 if all was right. */
    uint64_t overlaps;       /* grants while somebody held whom they exclude */
    uint64_t out_of_order;   /* tokens that are not above those of whom they exclude */
    uint64_t invalid_grants; /* grants that were not valid when told */
    uint64_t refused;        /* acquires without a grant */
    uint64_t lost;           /* holds without a release */
    int first_error;         /* the code of the first of those */
};

/* Runs it; the result is filled whatever comes. */
void tasks_run(const struct tasks_options *options, struct tasks_result *result);

/* Whether all was right, told on stderr if not. */
bool tasks_right(const struct tasks_result *result);

/* One JSON object on a line. */
void tasks_print(FILE *out, const struct tasks_options *options,
                 const struct tasks_result *result, bool right);

#endif
