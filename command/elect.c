/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `uvzk elect`. main.c calls subcommand_elect, which reads the options
 * and words into an elect_request and passes it to elect_job_run. Options may stand before
 * and after PATH, as in lock.c. */
#include "elect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "elect_job.h"
#include "enclosing_hold.h"
#include "exit_code.h"
#include "job_options.h"
#include "output.h"
#include "subcommands.h"

enum { OPTION_ID = 1, OPTION_SELECTOR, OPTION_ONCE, OPTION_PAUSE, OPTION_MAX_REIGN };

static const struct option options[] = {
    {"id", required_argument, NULL, OPTION_ID},
    {"selector", no_argument, NULL, OPTION_SELECTOR},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"pause", required_argument, NULL, OPTION_PAUSE},
    {"max-reign", required_argument, NULL, OPTION_MAX_REIGN},
    {"help", no_argument, NULL, 'h'},
    JOB_LONG_OPTIONS,
    CONNECTION_LONG_OPTIONS,
    {NULL, 0, NULL, 0}};

static const char help[] =
    "usage: uvzk elect [OPTION...] PATH [--] CMD [ARGUMENT...]\n"
    "       uvzk elect [OPTION...] PATH -c 'SHELL COMMAND'\n"
    "\n"
    "Stands for election at PATH, and runs CMD while this host leads. When it no\n"
    "longer leads, it ends CMD and stands again. When CMD ends by itself, it gives up\n"
    "the leadership and stands again after a pause. It ends on SIGTERM and SIGINT, "
    "which\n"
    "it passes on to CMD.\n"
    "\n"
    "      --id TEXT             this participant's id, for the others (host:pid)\n"
    "      --selector            an election of LeaderSelector, instead of LeaderLatch\n"
    "      --once                when CMD has ended, exit with its status; 75 if this\n"
    "                            host no longer led\n"
    "      --pause SECONDS       after CMD has ended, before it stands again (1); it is\n"
    "                            doubled, up to 60, until CMD runs for a minute\n"
    "      --max-reign SECONDS   end CMD after this time, and let another host lead\n"
    "      --on-lost ACTION      what to do with CMD: term (the default), kill\n"
    "      --grace SECONDS       between SIGTERM and SIGKILL (5)\n"
    "  -c, --command STRING      run STRING with /bin/sh, instead of CMD\n";

/* Stores the value of an option and returns true, or returns false if the option is not
 * about the election. */
static bool is_of_the_election(struct elect_request *request, int option,
                               const char *argument)
{
    switch (option) {
    case OPTION_ID:
        request->id = argument;
        return true;
    case OPTION_SELECTOR:
        request->recipe = RECIPE_MUTEX;
        return true;
    case OPTION_ONCE:
        request->once = true;
        return true;
    case OPTION_PAUSE:
        request->pause_ms = argument_milliseconds("--pause", argument);
        return true;
    case OPTION_MAX_REIGN:
        request->term_ms = argument_milliseconds("--max-reign", argument);
        return true;
    default:
        return false;
    }
}

/* Reads options up to the first word that is not an option: "+" stops getopt there. */
static void read_options(struct elect_request *request, int argc, char **argv)
{
    int option;

    while ((option =
                argument_next(argc, argv, "+h" JOB_SHORT_OPTIONS CONNECTION_SHORT_OPTIONS,
                              options)) != -1) {
        if (option == 'h') {
            subcommand_help(help);
        }
        if (!is_of_the_election(request, option, optarg) &&
            !job_option(&request->rules, &request->command, option, optarg) &&
            !connection_option(&request->connection, option, optarg)) {
            subcommand_usage(help); /* getopt has printed what is wrong */
        }
    }
}

/* Returns host:pid: the machine that leads, and the process there. The text is static. */
static const char *own_id(void)
{
    static char id[160];
    char host[128] = "?";

    gethostname(host, sizeof(host) - 1);
    snprintf(id, sizeof(id), "%s:%ld", host, (long)getpid());
    return id;
}

static void read_arguments(struct elect_request *request, int argc, char **argv)
{
    read_options(request, argc, argv);
    if (optind >= argc) {
        subcommand_usage(help);
    }
    request->path = argv[optind++];
    read_options(request, argc, argv);
    if (!job_command(request->path, &request->command, argc, argv)) {
        subcommand_usage(help);
    }
    /* An election exists to prevent a command from running while another host leads. */
    if (request->rules.on_lost == ON_LOST_IGNORE) {
        argument_wrong("--on-lost", "ignore", "term or kill");
    }
    if (request->id == NULL) {
        request->id = own_id();
    }
    request->connection.subject = request->path;
    subcommand_needs_hosts(&request->connection);
}

int subcommand_elect(int argc, char **argv)
{
    struct elect_request request = {.recipe = RECIPE_LATCH, .pause_ms = 1000};

    request.rules.grace_ms = JOB_GRACE_MS;
    request.rules.ends_the_rest = true;
    connection_options_init(&request.connection);
    read_arguments(&request, argc, argv);
    /* An election is a lock, and leading is holding it. */
    const struct lock_request as_lock = {
        .recipe = request.recipe, .connection = request.connection, .path = request.path};
    if (enclosing_hold_blocks(&as_lock)) {
        output_report("%s: this command would wait for itself: it runs inside a uvzk "
                      "elect or lock that leads, or holds the lock, at this path",
                      request.path);
        return EXIT_OWN_LOCK;
    }
    request.hold = enclosing_hold_describe(&as_lock);
    if (request.hold == NULL || setenv("UVZK_ID", request.id, 1) != 0) {
        output_report("%s", uv_strerror(UV_ENOMEM));
        return EX_OSERR;
    }
    int exit_code = elect_job_run(&request);
    free(request.hold);
    return exit_code;
}
