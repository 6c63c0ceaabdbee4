/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of served: what it measures of `uvzk serve`. */
#ifndef BENCH_SERVED_H
#define BENCH_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latencies.h"

struct served_run {
    const char *hosts;  /* of the servers */
    const char *socket; /* of the daemon */
    uint64_t tasks;     /* each with a mutex of its own */
    uint64_t window_ms;
};

/* Each acquires and releases for window_ms, and returns how many acquires and releases a
 * second that were; 0 after a failure, which is printed. */
double served_run_direct(const struct served_run *);
double served_run_through_daemon(const struct served_run *);

/* How long it takes from a kill -9 of a process that holds a lock to the grant of the
 * process that waits for it, `count` times. Returns false after a failure, which is
 * printed. */
bool served_run_kills(const struct served_run *, struct latencies *, uint64_t count);

#endif
