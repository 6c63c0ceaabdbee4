/* SPDX-License-Identifier: Apache-2.0 */
/* The options that `uvzk lock` and `uvzk elect` have in common (job_options.h). */
#include "job_options.h"

#include <stdint.h>
#include <string.h>

#include "arguments.h"
#include "output.h"

static enum on_lost read_on_lost(const char *text)
{
    if (strcmp(text, "term") == 0) {
        return ON_LOST_TERM;
    }
    if (strcmp(text, "kill") == 0) {
        return ON_LOST_KILL;
    }
    if (strcmp(text, "ignore") != 0) {
        argument_wrong("--on-lost", text, "term, kill or ignore");
    }
    return ON_LOST_IGNORE;
}

bool job_option(struct termination_rules *rules, char ***command, int option,
                const char *argument)
{
    static char *shell[] = {"/bin/sh", "-c", NULL, NULL};

    switch (option) {
    case JOB_ON_LOST:
        rules->on_lost = read_on_lost(argument);
        return true;
    case JOB_GRACE:
        rules->grace_ms = argument_milliseconds("--grace", argument);
        return true;
    case 'c':
        shell[2] = (char *)(uintptr_t)argument;
        *command = shell;
        return true;
    default:
        return false;
    }
}

bool job_command(const char *path, char ***command, int argc, char **argv)
{
    if (*command != NULL && optind < argc) {
        output_report("%s: -c is the command, so there is no other one after PATH", path);
        return false;
    }
    if (*command == NULL && optind >= argc) {
        output_report("%s: there is no command after PATH", path);
        return false;
    }
    if (*command == NULL) {
        *command = argv + optind;
    }
    return true;
}
