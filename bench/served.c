/* SPDX-License-Identifier: Apache-2.0 */
/* served: locks through `uvzk serve`, compared with the library in the same program, in
 * one run; and how soon a killed program's lock is granted to the next one.
 *
 *   0 measured   1 a failure   2 bad arguments */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "served.h"

#define ROUNDS_MAX 99U

static void bad_usage(void)
{
    fputs("usage: served --hosts HOSTS --socket PATH [options]\n"
          "\n"
          "Tasks acquire and release, each a mutex of its own: by turns directly, and\n"
          "through the daemon. One JSON object on stdout, of the medians of all rounds.\n"
          "\n"
          "  --tasks N     (100)\n"
          "  --window MS   of each turn (3000)\n"
          "  --rounds N    (5)\n"
          "  --kills N     (20)\n",
          stderr);
    exit(2);
}

static int compare_rates(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *rates, size_t count)
{
    qsort(rates, count, sizeof(*rates), compare_rates);
    return count % 2 == 1 ? rates[count / 2]
                          : (rates[count / 2 - 1] + rates[count / 2]) / 2;
}

static bool measure(const struct served_run *run, uint64_t rounds, uint64_t kills)
{
    double direct[ROUNDS_MAX], served[ROUNDS_MAX], ratios[ROUNDS_MAX];
    struct latencies grants;

    for (uint64_t i = 0; i < rounds; i++) {
        direct[i] = served_run_direct(run);
        served[i] = direct[i] > 0 ? served_run_through_daemon(run) : 0;
        if (served[i] <= 0) {
            return false;
        }
        ratios[i] = served[i] / direct[i];
    }
    if (latencies_init(&grants, kills) < 0 || !served_run_kills(run, &grants, kills)) {
        return false;
    }
    printf("{\"tasks\":%" PRIu64 ",\"direct_per_s\":%.0f,\"served_per_s\":%.0f,"
           "\"ratio\":%.2f,\"kills\":%" PRIu64 ",\"kill_to_grant_ms_median\":%.1f,"
           "\"kill_to_grant_ms_max\":%.1f}\n",
           run->tasks, median(direct, rounds), median(served, rounds),
           median(ratios, rounds), kills, latencies_percentile_us(&grants, 50) / 1000,
           latencies_percentile_us(&grants, 100) / 1000);
    latencies_free(&grants);
    return true;
}

static uint64_t number(const char *text, uint64_t most)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (*end != '\0' || value == 0 || value > most) {
        bad_usage();
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"hosts", required_argument, NULL, 'H'},
                                            {"socket", required_argument, NULL, 's'},
                                            {"tasks", required_argument, NULL, 't'},
                                            {"window", required_argument, NULL, 'w'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"kills", required_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    struct served_run run = {.tasks = 100, .window_ms = 3000};
    uint64_t rounds = 5, kills = 20;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'H':
            run.hosts = optarg;
            break;
        case 's':
            run.socket = optarg;
            break;
        case 't':
            run.tasks = number(optarg, 10000);
            break;
        case 'w':
            run.window_ms = number(optarg, 3600000);
            break;
        case 'r':
            rounds = number(optarg, ROUNDS_MAX);
            break;
        case 'k':
            kills = number(optarg, 100000);
            break;
        default:
            bad_usage();
        }
    }
    if (run.hosts == NULL || run.socket == NULL || optind < argc) {
        bad_usage();
    }
    return measure(&run, rounds, kills) ? 0 : 1;
}
