/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `uvzk lock` about how often a job runs: --key and --once-per, and what
 * goes with them. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "keyed_run.h"

/* For getopt_long; the numbers are below connection.h's. */
enum {
    RUN_OPTION_KEY = 920,
    RUN_OPTION_ONCE_PER,
    RUN_OPTION_OFFSET,
    RUN_OPTION_SLACK,
    RUN_OPTION_AT_MOST_ONCE,
    RUN_OPTION_DONE_EXIT_CODE
};
#define RUN_LONG_OPTIONS                                                     \
    {"key", required_argument, NULL, RUN_OPTION_KEY},                        \
        {"once-per", required_argument, NULL, RUN_OPTION_ONCE_PER},          \
        {"offset", required_argument, NULL, RUN_OPTION_OFFSET},              \
        {"slack", required_argument, NULL, RUN_OPTION_SLACK},                \
        {"at-most-once", no_argument, NULL, RUN_OPTION_AT_MOST_ONCE},        \
    {                                                                        \
        "done-exit-code", required_argument, NULL, RUN_OPTION_DONE_EXIT_CODE \
    }

struct run_options {
    struct keyed_run_options keyed; /* neither key nor slots: any number of runs */
    bool has_offset, has_slack;     /* given */
    int done_code; /* the exit status if the key is done; -1: not given */
};

void run_options_init(struct run_options *);
/* Returns true if `option`, a result of getopt_long, is one of these options. If it is,
 * its value is stored. If the argument is not valid, the process exits with EX_USAGE. */
bool run_option(struct run_options *, int option, const char *argument);
/* Sets the defaults that depend on others. If the options contradict each other, the
 * process exits with EX_USAGE. path: of the lock. */
void run_options_check(struct run_options *, const char *path);
/* Returns true if the job has keys. */
bool run_options_has_key(const struct run_options *);

#endif
