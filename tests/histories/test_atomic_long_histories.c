/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of an atomic long.
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

#include "atomic_history.h"
#include "history_seeds.h"
#include "history_transport.h"

static struct atomic_history_result sum;

static void run_one(uint64_t seed, bool verbose, bool counts,
                    struct history_outcome *outcome)
{
    struct atomic_history_result result;

    atomic_history_run(seed, verbose, &result);
    *outcome = result.outcome;
    if (counts) {
        sum.calls += result.calls;
        sum.done += result.done;
        sum.outrun += result.outrun;
        sum.unknown += result.unknown;
        sum.promoted += result.promoted;
    }
}

int main(void)
{
    uint64_t count;

    if (!history_seeds_run(history_transport.histories, run_one, &count)) {
        return 1;
    }
    printf(", %" PRIu64 " calls: %" PRIu64 " done, %" PRIu64 " outrun, %" PRIu64
           " not known, %" PRIu64 " promoted: all checks hold\n",
           sum.calls, sum.done, sum.outrun, sum.unknown, sum.promoted);
    return 0;
}
