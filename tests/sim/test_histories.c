/* Seeded histories, each with another mix of the optimisations.
 *
 *   UVZK_HISTORIES  how many; 10000
 *   UVZK_SEED       the first seed; 1
 *   UVZK_TUNING     always these UVZK__TUNE_* bits
 *   UVZK_VERBOSE    set: every line of every trace
 *
 * A failing seed is printed; UVZK_SEED=that UVZK_HISTORIES=1 replays it exactly. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "history.h"

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

/* The plain algorithm, everything, and every mix between. */
static unsigned tuning_of(uint64_t seed)
{
    switch (seed % 4) {
    case 0:
        return 0;
    case 1:
        return (unsigned)(seed / 4 % (UVZK__TUNE_ALL + 1));
    default:
        return UVZK__TUNE_ALL;
    }
}

static int run(uint64_t seed, struct history_result *sum)
{
    struct history_options options = {
        .tuning = (unsigned)setting("UVZK_TUNING", tuning_of(seed)),
        .faults = true,
        .verbose = getenv("UVZK_VERBOSE") != NULL,
    };
    struct history_result result;

    history_run(seed, &options, &result);
    if (result.failure[0] != '\0') {
        printf("FAILED: seed %" PRIu64 ", tuning %u: %s\n", seed, options.tuning,
               result.failure);
        printf("replay: UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1 UVZK_VERBOSE=1\n", seed);
        return 1;
    }
    sum->steps += result.steps;
    sum->requests += result.requests;
    sum->grants += result.grants;
    sum->refusals += result.refusals;
    sum->losses += result.losses;
    sum->releases += result.releases;
    return 0;
}

/* The same seed must give the same history, to the last byte of the trace. */
static int replays_exactly(uint64_t seed)
{
    struct history_options options = {.tuning = UVZK__TUNE_ALL, .faults = true};
    struct history_result first, second;

    history_run(seed, &options, &first);
    history_run(seed, &options, &second);
    if (first.trace_hash != second.trace_hash || first.steps != second.steps) {
        printf("FAILED: seed %" PRIu64 " does not replay\n", seed);
        return 1;
    }
    return 0;
}

int main(void)
{
    uint64_t first = setting("UVZK_SEED", 1);
    uint64_t count = setting("UVZK_HISTORIES", 10000);
    struct history_result sum = {0};

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%" PRIu64 " histories from seed %" PRIu64 "\n", count, first);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (run(seed, &sum) != 0) {
            fflush(NULL);
            _Exit(1); /* what is broken is not worth a leak report */
        }
        if ((seed - first + 1) % 1000 == 0) {
            printf("%" PRIu64 " done, the next seed is %" PRIu64 "\n", seed - first + 1,
                   seed + 1);
        }
    }
    if (replays_exactly(first) != 0) {
        return 1;
    }
    printf("%" PRIu64 " histories, %" PRIu64 " events, %" PRIu64 " grants, %" PRIu64
           " refusals, %" PRIu64 " losses, %" PRIu64 " releases: all checks hold\n",
           count, sum.steps, sum.grants, sum.refusals, sum.losses, sum.releases);
    return 0;
}
