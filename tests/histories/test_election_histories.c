/* Seeded histories of elections.
 *
 *   UVZK_HISTORIES  how many; 10000, over the native transport 2000
 *   UVZK_SEED       the first seed; 1
 *   UVZK_WORLD      only these of enum history_kind; all
 *   UVZK_FAULTS     so many times as many faults; 1
 *   UVZK_VERBOSE    set: every line of every trace
 *
 * A failing seed is printed; UVZK_SEED=that UVZK_HISTORIES=1 replays it exactly. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "election_history.h"
#include "failing_allocator.h"
#include "history_transport.h"

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void add(struct election_history_result *sum,
                const struct election_history_result *result)
{
    sum->steps += result->steps;
    sum->faults += result->faults;
    sum->led += result->led;
    sum->resigned += result->resigned;
    sum->lost += result->lost;
    sum->timed_out += result->timed_out;
    sum->changes += result->changes;
    sum->errors += result->errors;
    sum->listed += result->listed;
    sum->futures += result->futures;
    sum->lost_txn_overlaps += result->lost_txn_overlaps;
}

static void run(uint64_t seed, struct election_history_result *sum)
{
    struct election_history_result result;

    election_history_run(seed, getenv("UVZK_VERBOSE") != NULL, &result);
    if (result.failure[0] != '\0') {
        printf("FAILED: seed %" PRIu64 ": %s\n", seed, result.failure);
        printf("replay: UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1 UVZK_VERBOSE=1\n", seed);
        fflush(NULL);
        _Exit(1); /* what is broken is not worth a leak report */
    }
    add(sum, &result);
}

/* The same seed must give the same history, to the last byte of the trace. */
static int replays_exactly(uint64_t seed)
{
    struct election_history_result first, second;

    election_history_run(seed, false, &first);
    election_history_run(seed, false, &second);
    if (first.trace_hash != second.trace_hash || first.steps != second.steps) {
        printf("FAILED: seed %" PRIu64 " does not replay\n", seed);
        return 1;
    }
    return 0;
}

/* What so many histories must have met. */
static bool met_all(const struct election_history_result *sum)
{
    return sum->led > 0 && sum->resigned > 0 && sum->lost > 0 && sum->timed_out > 0 &&
           sum->changes > 0 && sum->errors > 0 && sum->listed > 0 && sum->futures > 0;
}

int main(void)
{
    uint64_t first = setting("UVZK_SEED", 1);
    uint64_t count = setting("UVZK_HISTORIES", history_transport.histories);
    struct election_history_result sum = {0};

    if (failing_allocator_install() != 0) {
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%" PRIu64 " histories from seed %" PRIu64 "\n", count, first);
    for (uint64_t seed = first; seed < first + count; seed++) {
        run(seed, &sum);
        if ((seed - first + 1) % 1000 == 0) {
            printf("%" PRIu64 " done, the next seed is %" PRIu64 "\n", seed - first + 1,
                   seed + 1);
        }
    }
    if (replays_exactly(first) != 0) {
        return 1;
    }
    printf("%" PRIu64 " histories, %" PRIu64 " events, %" PRIu64 " faults, %" PRIu64
           " reigns: %" PRIu64 " resigned, %" PRIu64 " timed out, %" PRIu64
           " lost it; %" PRIu64 " changes, %" PRIu64 " errors, %" PRIu64
           " lists, %" PRIu64 " futures; %" PRIu64
           " excepted overlaps: all checks hold\n",
           count, sum.steps, sum.faults, sum.led, sum.resigned, sum.timed_out, sum.lost,
           sum.changes, sum.errors, sum.listed, sum.futures, sum.lost_txn_overlaps);
    if (count >= 1000 && !met_all(&sum)) {
        printf("FAILED: something was never met\n");
        return 1;
    }
    return 0;
}
