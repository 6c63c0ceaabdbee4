/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of a double barrier.
 *
 *   UVZK_HISTORIES  how many; 1000, over the native transport 200
 *   UVZK_SEED       the first seed; 1
 *   UVZK_WORLD      only these of enum history_kind; all
 *   UVZK_FAULTS     so many times as many faults; 1
 *   UVZK_VERBOSE    set: every line of every trace
 *   UVZK_STORIES    set: a line for each history, its seed and the hash of its trace
 *
 * A failing seed is printed; UVZK_SEED=that UVZK_HISTORIES=1 replays it exactly. */
#include <inttypes.h>
#include <stdio.h>

#include "barrier_history.h"
#include "history_seeds.h"
#include "history_transport.h"

static struct barrier_history_result sum;

static void run_one(uint64_t seed, bool verbose, bool counts,
                    struct history_outcome *outcome)
{
    struct barrier_history_result result;

    barrier_history_run(seed, verbose, &result);
    *outcome = result.outcome;
    if (counts) {
        sum.enters += result.enters;
        sum.entered += result.entered;
        sum.left += result.left;
        sum.given_up += result.given_up;
        sum.expired += result.expired;
    }
}

int main(void)
{
    uint64_t count;

    if (!history_seeds_run(history_transport.histories / 5, run_one, &count)) {
        return 1;
    }
    printf(", %" PRIu64 " enters: %" PRIu64 " came in, %" PRIu64
           " left with the others; %" PRIu64 " calls given up, %" PRIu64
           " sessions ended: all checks hold\n",
           sum.enters, sum.entered, sum.left, sum.given_up, sum.expired);
    return 0;
}
