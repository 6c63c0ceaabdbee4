/* SPDX-License-Identifier: Apache-2.0 */
#include "history_seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "failing_allocator.h"
#include "history_transport.h"

#define ENOUGH 1000U /* histories, to have seen what is rare */

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void run(uint64_t seed, history_seeds_run_one run_one, struct history_outcome *sum)
{
    struct history_outcome outcome;

    run_one(seed, getenv("UVZK_VERBOSE") != NULL, true, &outcome);
    if (outcome.failure[0] != '\0') {
        printf("FAILED: seed %" PRIu64 ": %s\n", seed, outcome.failure);
        printf("replay: UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1 UVZK_VERBOSE=1\n", seed);
        fflush(NULL);
        _Exit(1); /* what is broken is not worth a leak report */
    }
    if (getenv("UVZK_STORIES") != NULL) {
        printf("story %" PRIu64 " %016" PRIx64 "\n", seed, outcome.trace_hash);
    }
    sum->steps += outcome.steps;
    sum->faults += outcome.faults;
    sum->struck += outcome.struck;
}

/* The same seed must give the same history, to the last byte of the trace. */
static bool replays_exactly(uint64_t seed, history_seeds_run_one run_one)
{
    struct history_outcome first, second;

    run_one(seed, false, false, &first);
    run_one(seed, false, false, &second);
    if (first.trace_hash != second.trace_hash || first.steps != second.steps) {
        printf("FAILED: seed %" PRIu64 " does not replay\n", seed);
        return false;
    }
    return true;
}

bool history_seeds_run(uint64_t usual, history_seeds_run_one run_one, uint64_t *count)
{
    uint64_t first = setting("UVZK_SEED", 1);
    struct history_outcome sum = {0};

    *count = setting("UVZK_HISTORIES", usual);
    if (failing_allocator_install() != 0) {
        return false;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%" PRIu64 " histories from seed %" PRIu64 "\n", *count, first);
    for (uint64_t seed = first; seed < first + *count; seed++) {
        run(seed, run_one, &sum);
        if ((seed - first + 1) % 1000 == 0) {
            printf("%" PRIu64 " done, the next seed is %" PRIu64 "\n", seed - first + 1,
                   seed + 1);
        }
    }
    if (!replays_exactly(first, run_one)) {
        return false;
    }
    if (*count >= ENOUGH && sum.struck == 0 &&
        (history_sim_allowed() & HISTORY_STRIKES) != 0) {
        printf("FAILED: so many histories, and no znode that was deleted by hand\n");
        return false;
    }
    printf("%" PRIu64 " histories, %" PRIu64 " events, %" PRIu64 " faults, %" PRIu64
           " znodes deleted by hand",
           *count, sum.steps, sum.faults, sum.struck);
    if (history_tampered() > 0) {
        printf(", %" PRIu64 " replies tampered with", history_tampered());
    }
    return true;
}
