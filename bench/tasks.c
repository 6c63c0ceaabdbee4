/* SPDX-License-Identifier: Apache-2.0 */
/* tasks: the options and the exit code. bench/run runs it.
 *
 *   0 everything was right   1 something was wrong, or no server   2 bad arguments */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#include "transport.h"
#include "uvzk.h"

static void bad_usage(void)
{
    fputs(
        "usage: tasks --hosts HOSTS [options]\n"
        "\n"
        "N tasks in one process, on one loop. Each acquires, releases as soon as it is\n"
        "granted, or after --hold ms, and when that is told acquires again. One JSON\n"
        "object on stdout.\n"
        "\n"
        "  --recipe R      mutex, semaphore or rwlock (mutex)\n"
        "  --tasks N       (16)\n"
        "  --paths P       locks; task i is at number i modulo P (1)\n"
        "  --sessions S    ZooKeeper sessions; those of a path take turns (1)\n"
        "  --together      they are one client\n"
        "  --transport T   c-client or native (c-client)\n"
        "  --tls LIST      options.tls; implies native\n"
        "  --leases L      of a semaphore (3)\n"
        "  --readers R     of a hundred acquires of a rwlock (90)\n"
        "  --hold MS       of each acquire (0)\n"
        "  --path PATH     of the locks (one of this process's own)\n"
        "  --journal FILE  of the holds\n"
        "  --warm MS       before the measuring (1000)\n"
        "  --window MS     of measuring (2000)\n",
        stderr);
    exit(2);
}

static enum recipe recipe_named(const char *name)
{
    static const char *const names[] = {
        [MUTEX] = "mutex", [SEMAPHORE] = "semaphore", [READ_WRITE] = "rwlock"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum recipe)i;
        }
    }
    bad_usage();
    return MUTEX;
}

static bool set_option(struct tasks_options *options, int letter, const char *text)
{
    switch (letter) {
    case 'r':
        options->recipe = recipe_named(text);
        return true;
    case 'l':
        return workload_number(text, 1, UINT32_MAX, &options->leases);
    case '1':
        options->together = true;
        return true;
    case 'R':
        return workload_number(text, 0, 100, &options->readers);
    case 'h':
        return workload_number(text, 0, 60000, &options->hold_ms);
    case 'P':
        options->base = text;
        return true;
    case 'j':
        options->journal = text;
        return true;
    default:
        return transport_option(&options->transport, &options->tls, letter, text) ||
               workload_option(&options->workload, letter, text);
    }
}

static void read_options(struct tasks_options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        WORKLOAD_LONG_OPTIONS,
        {"recipe", required_argument, NULL, 'r'},
        {"leases", required_argument, NULL, 'l'},
        {"readers", required_argument, NULL, 'R'},
        {"hold", required_argument, NULL, 'h'},
        {"path", required_argument, NULL, 'P'},
        {"journal", required_argument, NULL, 'j'},
        TRANSPORT_LONG_OPTIONS,
        {"together", no_argument, NULL, '1'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (!set_option(options, letter, optarg)) {
            bad_usage();
        }
    }
    if (optind < argc || !workload_is_complete(&options->workload)) {
        bad_usage();
    }
}

int main(int argc, char **argv)
{
    struct tasks_options options = {
        .workload =
            {.tasks = 16, .paths = 1, .sessions = 1, .warm_ms = 1000, .window_ms = 2000},
        .leases = 3,
        .readers = 90,
    };
    struct tasks_result result;

    read_options(&options, argc, argv);
    tasks_run(&options, &result);
    bool right = tasks_right(&result);
    tasks_print(stdout, &options, &result, right);
    return right ? 0 : 1;
}
