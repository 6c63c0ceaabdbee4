/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a program in which tasks acquire and release for some time: how many
 * tasks, at how many paths, for how long. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <getopt.h>

struct workload {
    const char *hosts;
    uint64_t tasks;     /* at the same time */
    uint64_t paths;     /* task i uses the path number i modulo paths */
    uint64_t sessions;  /* ZooKeeper sessions */
    uint64_t warm_ms;   /* before the measurement */
    uint64_t window_ms; /* length of the measurement */
};

#define WORKLOAD_LONG_OPTIONS                                                         \
    {"hosts", required_argument, NULL, 'H'}, {"tasks", required_argument, NULL, 't'}, \
        {"paths", required_argument, NULL, 'p'},                                      \
        {"sessions", required_argument, NULL, 's'},                                   \
        {"warm", required_argument, NULL, 'w'},                                       \
    {                                                                                 \
        "window", required_argument, NULL, 'm'                                        \
    }

/* Takes one of the options above, with the letter that getopt_long() has returned.
 * Returns false if it is another option, or if the value is not a number within its
 * bounds. */
bool workload_option(struct workload *workload, int letter, const char *text);

/* Returns whether hosts are set and there is at least one task for each path. */
bool workload_is_complete(const struct workload *workload);

/* Reads a whole number in [least, most]. Returns false if it is none. */
bool workload_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);

#endif
