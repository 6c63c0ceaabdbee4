/* Seeded histories of persistent nodes.
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

#include "failing_allocator.h"
#include "history_transport.h"
#include "node_history.h"

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void run(uint64_t seed, struct node_history_result *sum)
{
    struct node_history_result result;

    node_history_run(seed, getenv("UVZK_VERBOSE") != NULL, &result);
    if (result.failure[0] != '\0') {
        printf("FAILED: seed %" PRIu64 ": %s\n", seed, result.failure);
        printf("replay: UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1 UVZK_VERBOSE=1\n", seed);
        fflush(NULL);
        _Exit(1); /* what is broken is not worth a leak report */
    }
    sum->steps += result.steps;
    sum->faults += result.faults;
    sum->told += result.told;
    sum->present += result.present;
    sum->closes += result.closes;
}

/* The same seed must give the same history, to the last byte of the trace. */
static int replays_exactly(uint64_t seed)
{
    struct node_history_result first, second;

    node_history_run(seed, false, &first);
    node_history_run(seed, false, &second);
    if (first.trace_hash != second.trace_hash || first.steps != second.steps) {
        printf("FAILED: seed %" PRIu64 " does not replay\n", seed);
        return 1;
    }
    return 0;
}

int main(void)
{
    uint64_t first = setting("UVZK_SEED", 1);
    uint64_t count = setting("UVZK_HISTORIES", history_transport.histories);
    struct node_history_result sum = {0};

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
    printf("%" PRIu64 " histories, %" PRIu64 " events, %" PRIu64 " faults: %" PRIu64
           " times told, %" PRIu64 " times there, %" PRIu64 " closes: all checks hold\n",
           count, sum.steps, sum.faults, sum.told, sum.present, sum.closes);
    return 0;
}
