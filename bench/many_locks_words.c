/* SPDX-License-Identifier: Apache-2.0 */
/* The output of many_locks for a new user: one line for each figure, with its meaning.
 * quickstart shows it. */
#include <inttypes.h>

#include "many_locks.h"

static double per_second(uint64_t count, uint64_t nanoseconds)
{
    return nanoseconds > 0 ? (double)count * 1e9 / (double)nanoseconds : 0.0;
}

static void print_took(FILE *out, uint64_t nanoseconds, const char *until, uint64_t count)
{
    fprintf(out, "%8.2f s  until %s: %.0f a second\n", (double)nanoseconds / 1e9, until,
            per_second(count, nanoseconds));
}

void many_locks_print_words(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result)
{
    double asked = (double)(result->asked > 0 ? result->asked : 1);
    double requests = (double)(result->first_queue_requests +
                               result->later_queue_requests + result->drain_requests);

    if (options->contenders > 1) {
        print_took(out, result->queue_ns, "all stood in the queue", result->asked);
        print_took(out, result->drain_ns, "each had had the lock, one after the other",
                   result->released);
        fprintf(out,
                "%8.0f us from a release until the next one has the lock "
                "(99 of 100: %.0f us)\n",
                result->handover_p50_us, result->handover_p99_us);
    } else {
        print_took(out, result->queue_ns, "all were held", result->granted);
        print_took(out, result->drain_ns, "all were given back", result->released);
    }
    fprintf(out, "%8.2f    requests to the server for each lock, taken and given back\n",
            requests / asked);
    if (many_locks_print_faults(NULL, options, result) == 0) {
        fprintf(out,
                "       0    double grants, out of order, or znodes left behind; "
                "%.0f MB of memory\n",
                (double)result->bytes_peak / 1e6);
    }
}
