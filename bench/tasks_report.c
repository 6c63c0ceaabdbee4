/* SPDX-License-Identifier: Apache-2.0 */
/* The output of tasks: the JSON object, and what was wrong. */
#include <inttypes.h>

#include "tasks.h"
#include "transport.h"
#include "uvzk.h"

static int wrong(uint64_t count, const char *sentence)
{
    if (count > 0) {
        fprintf(stderr, "tasks: WRONG: %" PRIu64 " %s\n", count, sentence);
    }
    return count > 0;
}

bool tasks_right(const struct tasks_result *result)
{
    int faults = 0;

    if (result->failure[0] != '\0') {
        fprintf(stderr, "tasks: WRONG: given up: %s\n", result->failure);
        faults++;
    }
    faults += wrong(result->overlaps, "grants while somebody held whom they exclude");
    faults += wrong(result->out_of_order, "grants were against the order of the tokens");
    faults += wrong(result->invalid_grants, "grants were not valid when told");
    faults += wrong(result->refused, "acquires were refused");
    faults += wrong(result->lost, "holds were lost");
    faults += wrong(result->cycles == 0, "time without a single cycle");
    if (result->first_error != 0) {
        fprintf(stderr, "tasks: the first error code was %s, %s\n",
                uvzk_err_name(result->first_error), uvzk_strerror(result->first_error));
    }
    return faults == 0;
}

static void print_percentiles(FILE *out, const char *what, const double *us)
{
    fprintf(out, "\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f,\"%s_p999_us\":%.1f,", what,
            us[0], what, us[1], what, us[2]);
}

void tasks_print(FILE *out, const struct tasks_options *options,
                 const struct tasks_result *result, bool right)
{
    double seconds = (double)result->window_ns / 1e9;
    double cycles = (double)result->cycles;

    fprintf(out,
            "{\"program\":\"tasks\",\"transport\":\"%s\",\"tasks\":%" PRIu64
            ",\"paths\":%" PRIu64 ",\"sessions\":%" PRIu64 ",",
            transport_name(options->transport), options->workload.tasks,
            options->workload.paths, options->workload.sessions);
    fprintf(out, "\"seconds\":%.3f,\"cycles\":%" PRIu64 ",\"cycles_per_s\":%.1f,",
            seconds, result->cycles, seconds > 0 ? cycles / seconds : 0);
    print_percentiles(out, "acquire", result->acquire_us);
    print_percentiles(out, "cycle", result->cycle_us);
    print_percentiles(out, "handover", result->handover_us);
    fprintf(out,
            "\"requests\":%" PRIu64 ",\"listings\":%" PRIu64 ",\"proofs\":%" PRIu64 ",",
            result->requests, result->listings, result->proofs);
    fprintf(out,
            "\"overlaps\":%" PRIu64 ",\"out_of_order\":%" PRIu64
            ",\"invalid_grants\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"lost\":%" PRIu64
            ",",
            result->overlaps, result->out_of_order, result->invalid_grants,
            result->refused, result->lost);
    fprintf(out, "\"right\":%s}\n", right ? "true" : "false");
}
