/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of a shared value.
 *
 *   UVZK_HISTORIES  how many; 5000, over the native transport 1000
 *   UVZK_SEED       the first seed; 1
 *   UVZK_WORLD      only these of enum history_kind; all
 *   UVZK_FAULTS     so many times as many faults; 1
 *   UVZK_VERBOSE    set: every line of every trace
 *   UVZK_STORIES    set: a line for each history, its seed and the hash of its trace
 *
 * A failing seed is printed; UVZK_SEED=that UVZK_HISTORIES=1 replays it exactly. */
#include <inttypes.h>
#include <stdio.h>

#include "history_seeds.h"
#include "history_transport.h"
#include "value_history.h"

static struct value_history_result sum;

static void run_one(uint64_t seed, bool verbose, bool counts,
                    struct history_outcome *outcome)
{
    struct value_history_result result;

    value_history_run(seed, verbose, &result);
    *outcome = result.outcome;
    if (counts) {
        sum.sets += result.sets;
        sum.set += result.set;
        sum.outdated += result.outdated;
        sum.unknown += result.unknown;
        sum.values += result.values;
    }
}

int main(void)
{
    uint64_t count;

    if (!history_seeds_run(history_transport.histories, run_one, &count)) {
        return 1;
    }
    printf(", %" PRIu64 " sets: %" PRIu64 " took effect, %" PRIu64 " outdated, %" PRIu64
           " not known; %" PRIu64 " values told: all checks hold\n",
           sum.sets, sum.set, sum.outdated, sum.unknown, sum.values);
    return 0;
}
