/* SPDX-License-Identifier: Apache-2.0 */
/* raw_tasks: the options, the JSON object, and the exit code.
 *
 *   0 measured   1 an error of ZooKeeper, or no server   2 bad arguments */
#include "raw_tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { MOST_BATCH = 1000, MOST_SAMPLES = 4000000 };

static void bad_usage(void)
{
    fputs("usage: raw_tasks singles|multis|handoff --hosts HOSTS [options]\n"
          "\n"
          "The ZooKeeper C client without any lock logic, driven as hard as it goes. One "
          "JSON\n"
          "object on stdout.\n"
          "\n"
          "  singles         create, delete; so many tasks under way on one session\n"
          "  multis          the same in multis\n"
          "  handoff         delete, watch event, next delete, along rows of so many\n"
          "                  znodes; a cycle is one handing over\n"
          "\n"
          "  --tasks N       (256)\n"
          "  --paths P       directories; task i is in number i modulo P (1)\n"
          "  --sessions S    of the handoff; at least 2 (2)\n"
          "  --batch B       of the multis (64)\n"
          "  --hold MS       of the handoff: from each event until the delete (0)\n"
          "  --warm MS       before the measuring (1000)\n"
          "  --window MS     of measuring (2000)\n",
          stderr);
    exit(2);
}

static void (*mode_named(const char *name))(struct raw_tasks *)
{
    if (name != NULL && strcmp(name, "singles") == 0) {
        return raw_singles;
    }
    if (name != NULL && strcmp(name, "multis") == 0) {
        return raw_multis;
    }
    if (name == NULL || strcmp(name, "handoff") != 0) {
        bad_usage();
    }
    return raw_handoff;
}

static bool set_option(struct raw_tasks *run, int letter, const char *text)
{
    switch (letter) {
    case 'b':
        return workload_number(text, 1, MOST_BATCH, &run->batch);
    case 'h':
        return workload_number(text, 0, 60000, &run->hold_ms);
    default:
        return workload_option(&run->workload, letter, text);
    }
}

static void read_options(struct raw_tasks *run, int argc, char **argv)
{
    static const struct option options[] = {
        WORKLOAD_LONG_OPTIONS,
        {"batch", required_argument, NULL, 'b'},
        {"hold", required_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!set_option(run, letter, optarg)) {
            bad_usage();
        }
    }
    if (optind + 1 != argc || !workload_is_complete(&run->workload) ||
        run->workload.sessions < 2) {
        bad_usage();
    }
}

static void print_percentiles(struct raw_tasks *run, const char *what)
{
    printf("\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f,\"%s_p999_us\":%.1f,", what,
           latencies_percentile_us(&run->latencies, 50), what,
           latencies_percentile_us(&run->latencies, 99), what,
           latencies_percentile_us(&run->latencies, 99.9));
}

static void print(struct raw_tasks *run, const char *mode)
{
    double seconds = (double)run->active_ns / 1e9;

    printf("{\"program\":\"raw_tasks\",\"mode\":\"%s\",\"tasks\":%" PRIu64
           ",\"paths\":%" PRIu64 ",\"sessions\":%" PRIu64 ",\"batch\":%" PRIu64 ",",
           mode, run->workload.tasks, run->workload.paths, run->workload.sessions,
           run->batch);
    printf("\"seconds\":%.3f,\"cycles\":%" PRIu64 ",\"cycles_per_s\":%.1f,", seconds,
           (uint64_t)run->cycles, seconds > 0 ? (double)run->cycles / seconds : 0);
    print_percentiles(run, "cycle");
    if (strcmp(mode, "handoff") == 0) {
        print_percentiles(run, "handover"); /* a cycle is one */
    }
    printf("\"right\":%s}\n", run->error == ZOK && run->cycles > 0 ? "true" : "false");
}

int main(int argc, char **argv)
{
    struct raw_tasks run = {.workload = {.tasks = 256,
                                         .paths = 1,
                                         .sessions = 2,
                                         .warm_ms = 1000,
                                         .window_ms = 2000},
                            .batch = 64};

    read_options(&run, argc, argv);
    void (*mode)(struct raw_tasks *) = mode_named(argv[optind]);
    if (latencies_init(&run.latencies, MOST_SAMPLES) != 0) {
        fputs("raw_tasks: out of memory\n", stderr);
        return 1;
    }
    mode(&run);
    print(&run, argv[optind]);
    latencies_free(&run.latencies);
    if (run.error != ZOK) {
        fprintf(stderr, "raw_tasks: %s (%d)\n", zerror(run.error), run.error);
    }
    return run.error == ZOK ? 0 : 1;
}
