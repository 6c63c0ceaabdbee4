/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of group members.
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

#include "group_history.h"
#include "history_seeds.h"
#include "history_transport.h"

static struct group_history_result sum;

static void run_one(uint64_t seed, bool verbose, bool counts,
                    struct history_outcome *outcome)
{
    struct group_history_result result;

    group_history_run(seed, verbose, &result);
    *outcome = result.outcome;
    if (counts) {
        sum.counts.told += result.counts.told;
        sum.counts.present += result.counts.present;
        sum.changes += result.changes;
        sum.counts.closes += result.counts.closes;
    }
}

int main(void)
{
    uint64_t count;

    if (!history_seeds_run(history_transport.histories, run_one, &count)) {
        return 1;
    }
    printf(", %" PRIu64 " joins, %" PRIu64 " times told, %" PRIu64 " lists, %" PRIu64
           " closes: all checks hold\n",
           sum.counts.present, sum.counts.told, sum.changes, sum.counts.closes);
    return 0;
}
