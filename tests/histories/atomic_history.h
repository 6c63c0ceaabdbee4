/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients change a number in one simulated ensemble, each through one
 * or two atomic longs, some of which are promoted to a mutex. They add, compare and set,
 * set, read, close and come back at random, while faults happen; in some histories somebody
 * deletes the znode, or znodes of the mutex (history_strikes.h). A seed decides everything. Each change adds an amount of its own, or
 * sets a number of its own, and all that the znode ever was is written down, event by
 * event, so that each transaction is known to be that of one call.
 *
 * Checked at every callback:
 *   answers     each call is told once
 * and at the end, when the faults have stopped:
 *   liveness    every call has been answered, and every client can add
 *   changes     told 0: it took effect once, over the number that it says; told that it was
 *               not: never; not known: at most once
 *   reads       a get was told a number that the znode had
 *   residue     no request, no session, no memory, no contender for the mutex */
#ifndef UVZK_ATOMIC_HISTORY_H
#define UVZK_ATOMIC_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

struct atomic_history_result {
    struct history_outcome outcome;
    uint64_t calls, done, outrun, unknown, promoted;
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void atomic_history_run(uint64_t seed, bool verbose,
                        struct atomic_history_result *result);

#endif
