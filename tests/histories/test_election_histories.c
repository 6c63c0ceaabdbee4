/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of elections.
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

#include "election_history.h"
#include "history_seeds.h"
#include "history_transport.h"

static struct election_history_result sum;

static void run_one(uint64_t seed, bool verbose, bool counts,
                    struct history_outcome *outcome)
{
    struct election_history_result result;

    election_history_run(seed, verbose, &result);
    *outcome = result.outcome;
    if (counts) {
        sum.led += result.led;
        sum.resigned += result.resigned;
        sum.lost += result.lost;
        sum.timed_out += result.timed_out;
        sum.changes += result.changes;
        sum.errors += result.errors;
        sum.listed += result.listed;
        sum.futures += result.futures;
        sum.lost_txn_overlaps += result.lost_txn_overlaps;
    }
}

/* What so many histories must have met. */
static bool met_all(void)
{
    return sum.led > 0 && sum.resigned > 0 && sum.lost > 0 && sum.timed_out > 0 &&
           sum.changes > 0 && sum.errors > 0 && sum.listed > 0 && sum.futures > 0;
}

int main(void)
{
    uint64_t count;

    if (!history_seeds_run(history_transport.histories, run_one, &count)) {
        return 1;
    }
    printf(", %" PRIu64 " reigns: %" PRIu64 " resigned, %" PRIu64 " timed out, %" PRIu64
           " lost it; %" PRIu64 " changes, %" PRIu64 " errors, %" PRIu64
           " lists, %" PRIu64 " futures; %" PRIu64
           " excepted overlaps: all checks hold\n",
           sum.led, sum.resigned, sum.timed_out, sum.lost, sum.changes, sum.errors,
           sum.listed, sum.futures, sum.lost_txn_overlaps);
    if (count >= 1000 && !met_all()) {
        printf("FAILED: something was never met\n");
        return 1;
    }
    return 0;
}
