/* SPDX-License-Identifier: Apache-2.0 */
/* The options about CMD that `uvzk lock` and `uvzk elect` have in common, and the words of
 * CMD. */
#ifndef JOB_OPTIONS_H
#define JOB_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "termination.h"

/* For getopt_long; the numbers are below connection.h's. */
enum { JOB_ON_LOST = 900, JOB_GRACE };
#define JOB_SHORT_OPTIONS "c:"
#define JOB_LONG_OPTIONS                               \
    {"on-lost", required_argument, NULL, JOB_ON_LOST}, \
        {"grace", required_argument, NULL, JOB_GRACE}, \
    {                                                  \
        "command", required_argument, NULL, 'c'        \
    }
#define JOB_GRACE_MS 5000U /* the default of --grace */

/* Returns true if `option`, a result of getopt_long, is one of these options. If it is,
 * its value is stored: in the rules, or in *command, which then has static memory. If the
 * argument is not valid, the process exits with EX_USAGE. */
bool job_option(struct termination_rules *, char ***command, int option,
                const char *argument);

/* Takes the words from optind on as CMD, unless -c has set *command. Returns false, after
 * it has printed what is wrong, if there are both, or neither. */
bool job_command(const char *path, char ***command, int argc, char **argv);

#endif
