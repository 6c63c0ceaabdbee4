/* One history: a few clients in one simulated ensemble, each with several actors
 * that acquire, hold, re-enter, release, cancel and time out at random on a few
 * lock paths, while faults happen. A seed decides everything.
 *
 * Checked after every event:
 *   exclusion   never two valid holds on one path at one instant
 * at every callback:
 *   tokens      each grant's token is larger than every one granted before
 *   answers     each request ends exactly once, in a legal order of callbacks
 * and at the end, when the faults have stopped and everyone has let go:
 *   liveness    everybody has been answered
 *   residue     no contender's znode, no watch, no contender in memory */
#ifndef UVZK_HISTORY_H
#define UVZK_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

struct history_options {
    unsigned tuning; /* UVZK__TUNE_* */
    bool faults;
    bool verbose; /* every line of the trace to stderr, as it happens */
};

struct history_result {
    uint64_t steps, requests;
    uint64_t grants, refusals, losses, releases;
    uint64_t trace_hash;
    char failure[256]; /* empty: all is well */
};

/* On failure the trace's last lines have been printed to stderr. */
void history_run(uint64_t seed, const struct history_options *options,
                 struct history_result *result);

#endif
