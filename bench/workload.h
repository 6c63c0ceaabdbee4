/* What is asked of a program that has tasks acquire and release for a while: so many of
 * them, at so many paths, for how long. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <getopt.h>

struct workload {
    const char *hosts;
    uint64_t tasks;     /* under way at once */
    uint64_t paths;     /* task i is at number i modulo paths */
    uint64_t sessions;  /* of ZooKeeper */
    uint64_t warm_ms;   /* before the measuring */
    uint64_t window_ms; /* of measuring */
};

#define WORKLOAD_LONG_OPTIONS                                                         \
    {"hosts", required_argument, NULL, 'H'}, {"tasks", required_argument, NULL, 't'}, \
        {"paths", required_argument, NULL, 'p'},                                      \
        {"sessions", required_argument, NULL, 's'},                                   \
        {"warm", required_argument, NULL, 'w'},                                       \
    {                                                                                 \
        "window", required_argument, NULL, 'm'                                        \
    }

/* One of those, as getopt_long() tells it. false: it is another one, or its value is no
 * number in its bounds. */
bool workload_option(struct workload *workload, int letter, const char *text);

/* Whether there are servers, and a task for each path. */
bool workload_is_complete(const struct workload *workload);

/* A whole number in [least, most], or false. */
bool workload_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);

#endif
