/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `uvzk lock`. main.c calls subcommand_lock, which reads the options
 * and words into a lock_request and passes it to lock_job_run. Options may stand before
 * and after PATH. Reading stops at the first word of CMD, because the words after it
 * belong to CMD. */
#include "lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts.h"
#include "arguments.h"
#include "enclosing_hold.h"
#include "exit_code.h"
#include "job_options.h"
#include "lock_job.h"
#include "output.h"
#include "subcommands.h"

#define LEASES_MAX 100U         /* the limit of uvzk.h for one hold */
#define MAX_HOLD_LEAST_MS 1000U /* CMD is ended some time before */

enum {
    OPTION_LEASES = 1,
    OPTION_REVOCABLE,
    OPTION_DATA,
    OPTION_TRACEPARENT,
    OPTION_MAX_HOLD,
    OPTION_MIN_HOLD,
};

static const struct option options[] = {
    {"exclusive", no_argument, NULL, 'x'},
    {"shared", no_argument, NULL, 's'},
    {"mutex", no_argument, NULL, 'm'},
    {"leases", required_argument, NULL, OPTION_LEASES},
    {"nonblock", no_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'w'},
    {"timeout", required_argument, NULL, 'w'}, /* as in flock */
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"max-hold", required_argument, NULL, OPTION_MAX_HOLD},
    {"min-hold", required_argument, NULL, OPTION_MIN_HOLD},
    {"all", no_argument, NULL, 'a'},
    {"revocable", no_argument, NULL, OPTION_REVOCABLE},
    {"data", required_argument, NULL, OPTION_DATA},
    {"traceparent", no_argument, NULL, OPTION_TRACEPARENT},
    {"help", no_argument, NULL, 'h'},
    JOB_LONG_OPTIONS,
    RUN_LONG_OPTIONS,
    CONNECTION_LONG_OPTIONS,
    {NULL, 0, NULL, 0}};

static const char help[] =
    "usage: uvzk lock [OPTION...] PATH [--] CMD [ARGUMENT...]\n"
    "       uvzk lock [OPTION...] PATH -c 'SHELL COMMAND'\n"
    "\n"
    "Runs CMD while it holds a lock in ZooKeeper. The exit status is CMD's, or 128 + N\n"
    "if signal N ended CMD; 69 without a connection to the servers; 75 if the lock was\n"
    "lost, so that CMD was ended; 78 inside a uvzk lock that holds this lock; 124 if\n"
    "CMD was ended after --max-hold; 126 if CMD cannot be run; 127 if CMD was not\n"
    "found.\n"
    "\n"
    "  -m, --mutex               a mutex, as uvzk_mutex_t (InterProcessMutex); the "
    "default\n"
    "  -x, -e, --exclusive       the write half of a read-write lock\n"
    "  -s, --shared              its read half\n"
    "      --leases N/OF         N of a semaphore's OF leases\n"
    "  -n, --nonblock            do not wait\n"
    "  -w, --wait SECONDS        wait at most this long (or --timeout)\n"
    "  -E, --conflict-exit-code CODE\n"
    "                            exit status if others held the lock the whole time (1)\n"
    "      --on-lost ACTION      what to do with CMD: term (the default), kill, ignore\n"
    "      --grace SECONDS       between SIGTERM and SIGKILL (5)\n"
    "      --max-hold SECONDS    end CMD and release the lock after at most this time\n"
    "      --min-hold SECONDS    keep the lock at least this long, also after CMD\n"
    "      --key KEY             run CMD only if KEY is not done, and record that it is\n"
    "      --once-per PERIOD     the same, with a key for each period of time (24h)\n"
    "      --offset T            when a period begins, after midnight in UTC (0)\n"
    "      --slack T             how early CMD may start before a period (30s)\n"
    "      --at-most-once        record the run before it begins: it is not repeated\n"
    "      --done-exit-code CODE exit status if the key is done (0)\n"
    "  -a, --all                 hold it until all processes of CMD have ended\n"
    "      --revocable           send CMD SIGTERM when another client asks for it\n"
    "      --data TEXT           what status shows of this contender (user, host, pid, "
    "CMD)\n"
    "      --traceparent         put $TRACEPARENT into the znode too: status shows it\n"
    "  -c, --command STRING      run STRING with /bin/sh, instead of CMD\n";

static void choose(struct lock_request *request, enum recipe recipe)
{
    request->recipe = recipe;
    request->recipe_is_default = false;
}

static void read_leases(struct lock_request *request, const char *text)
{
    unsigned leases, of;
    int length = 0;

    /* %u also accepts spaces and signs. */
    if (sscanf(text, "%u/%u%n", &leases, &of, &length) != 2 || text[length] != '\0' ||
        leases == 0 || leases > LEASES_MAX || leases > of || strpbrk(text, "-+ ")) {
        argument_wrong("--leases", text, "N/OF, with N at most OF and at most 100");
    }
    choose(request, RECIPE_LEASES);
    request->leases = leases;
    request->of = of;
}

/* Ends the process if there is no $TRACEPARENT. The library checks that it is valid. */
static const char *traceparent_of_environment(void)
{
    const char *traceparent = getenv("TRACEPARENT");

    if (traceparent == NULL || traceparent[0] == '\0') {
        output_report("--traceparent: TRACEPARENT is not set");
        exit(EX_USAGE);
    }
    return traceparent;
}

static uint64_t read_max_hold(const char *text)
{
    uint64_t ms = argument_milliseconds("--max-hold", text);

    if (ms < MAX_HOLD_LEAST_MS) {
        argument_wrong("--max-hold", text, "at least 1 second");
    }
    return ms;
}

/* These two functions store the value of an option and return true, or return false if
 * the option is not one of theirs. This one has the options that choose the lock, and how
 * long it is held. */
static bool is_of_the_lock(struct lock_request *request, int option, const char *argument)
{
    switch (option) {
    case 'x':
        choose(request, RECIPE_WRITE);
        return true;
    case 's':
        choose(request, RECIPE_READ);
        return true;
    case 'm':
        choose(request, RECIPE_MUTEX);
        return true;
    case OPTION_LEASES:
        read_leases(request, argument);
        return true;
    case OPTION_REVOCABLE:
        request->revocable = true;
        return true;
    case OPTION_DATA:
        request->node_data = argument;
        return true;
    case OPTION_TRACEPARENT:
        request->traceparent = traceparent_of_environment();
        return true;
    case OPTION_MAX_HOLD:
        request->max_hold_ms = read_max_hold(argument);
        request->rules.max_hold_ms = request->max_hold_ms;
        return true;
    case OPTION_MIN_HOLD:
        request->min_hold_ms = argument_milliseconds("--min-hold", argument);
        return true;
    case 'a':
        request->rules.waits_for_all = true;
        return true;
    default:
        return false;
    }
}

/* The options about the wait for the lock. */
static bool is_of_the_wait(struct lock_request *request, int option, const char *argument)
{
    switch (option) {
    case 'n':
        request->try_once = true;
        return true;
    case 'w':
        request->wait_ms = argument_milliseconds("--wait", argument);
        request->waits_for_long = false;
        request->try_once = request->wait_ms == 0;
        return true;
    case 'E':
        request->conflict_code =
            (int)argument_number("--conflict-exit-code", argument, 0, 255);
        return true;
    default:
        return false;
    }
}

/* Reads options up to the first word that is not an option: "+" stops getopt there. */
static void read_options(struct lock_request *request, int argc, char **argv)
{
    int option;

    while ((option = argument_next(
                argc, argv, "+xesmnw:E:ah" JOB_SHORT_OPTIONS CONNECTION_SHORT_OPTIONS,
                options)) != -1) {
        /* flock(1) has -e as another name of -x. */
        if (option == 'e') {
            option = 'x';
        }
        if (option == 'h') {
            subcommand_help(help);
        }
        if (!is_of_the_lock(request, option, optarg) &&
            !is_of_the_wait(request, option, optarg) &&
            !run_option(&request->runs, option, optarg) &&
            !job_option(&request->rules, &request->command, option, optarg) &&
            !connection_option(&request->connection, option, optarg)) {
            subcommand_usage(help); /* getopt has printed what is wrong */
        }
    }
}

/* Returns $USER or, because cron and systemd units may not set it, the system's name of the
 * effective user, or its number. The text is static. */
static const char *user_name(void)
{
    static char number[32];
    const char *user = getenv("USER");

    if (user == NULL || user[0] == '\0') {
        user = accounts_user_name(geteuid());
    }
    if (user != NULL) {
        return user;
    }
    snprintf(number, sizeof(number), "uid-%ld", (long)geteuid());
    return number;
}

/* Returns the default data of the lock's znode, which status and holders show: user,
 * host, pid and the name of CMD. CMD's arguments are left out because they may be
 * secret. The text is static. */
static const char *own_data(char **command)
{
    static char data[512];
    char host[128] = "?";
    const char *name = strrchr(command[0], '/');

    gethostname(host, sizeof(host) - 1);
    snprintf(data, sizeof(data), "%.100s@%s pid %ld: %.200s", user_name(), host,
             (long)getpid(), name != NULL ? name + 1 : command[0]);
    return data;
}

static void read_arguments(struct lock_request *request, int argc, char **argv)
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
    if (request->node_data == NULL) {
        request->node_data = own_data(request->command);
    }
    request->connection.subject = request->path;
    subcommand_needs_hosts(&request->connection);
    if (request->recipe_is_default && request->connection.lock_is_write) {
        request->recipe = RECIPE_WRITE;
    }
}

/* Ends the process if options contradict each other. */
static void check(struct lock_request *request)
{
    bool is_shared = request->recipe == RECIPE_LEASES || request->recipe == RECIPE_READ;

    run_options_check(&request->runs, request->path);
    if (run_options_has_key(&request->runs) && is_shared) {
        output_report("--key and --once-per need a lock that one holds alone");
        exit(EX_USAGE);
    }
    if (request->max_hold_ms > 0 && request->min_hold_ms > request->max_hold_ms) {
        output_report("--min-hold: expected at most --max-hold");
        exit(EX_USAGE);
    }
    if (request->revocable && request->recipe == RECIPE_LEASES) {
        argument_wrong("--revocable", "--leases", "one of the two");
    }
    if (request->revocable && request->traceparent != NULL) {
        argument_wrong("--revocable", "--traceparent", "one of the two");
    }
}

int subcommand_lock(int argc, char **argv)
{
    /* A mutex excludes Curator's InterProcessMutex, kazoo's Lock and the default of `uvzk
     * serve`; a read-write lock excludes none of them. */
    struct lock_request request = {.recipe = RECIPE_MUTEX,
                                   .recipe_is_default = true,
                                   .waits_for_long = true,
                                   .conflict_code = 1};

    request.rules.grace_ms = JOB_GRACE_MS;
    connection_options_init(&request.connection);
    run_options_init(&request.runs);
    read_arguments(&request, argc, argv);
    check(&request);
    /* --wait includes the time to connect. */
    uint64_t patience = request.connection.connect_timeout_ms;
    if (request.wait_ms > 0 && (patience == 0 || request.wait_ms < patience)) {
        request.connection.connect_timeout_ms = request.wait_ms;
    }
    if (!request.try_once && enclosing_hold_blocks(&request)) {
        output_report(
            "%s: this command would wait for itself: it runs inside a uvzk lock "
            "that holds this lock",
            request.path);
        return EXIT_OWN_LOCK;
    }
    request.hold = enclosing_hold_describe(&request);
    if (request.hold == NULL) {
        output_report("%s", uv_strerror(UV_ENOMEM));
        return EX_OSERR;
    }
    int exit_code = lock_job_run(&request);
    free(request.hold);
    return exit_code;
}
