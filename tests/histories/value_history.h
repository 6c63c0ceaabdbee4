/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients share a value in one simulated ensemble, each through one
 * or two shared values; they set it, try to set it, close and come back at random, while
 * faults happen; in some histories somebody deletes the znode and makes it again, also soon
 * after it was made or set (history_strikes.h). A seed decides everything. Each set writes text of its own, and all that the znode ever was is
 * written down, event by event.
 *
 * Checked at every callback:
 *   order       what is told never goes back, and was the znode's data at that mzxid
 *   answers     each set is told once
 * and at the end, when the faults have stopped:
 *   liveness    every set has been answered, everyone knows the last value
 *   sets        told 0: it took effect once; told that it was refused: never; not
 *               known: at most once; those of one value in the order of the calls
 *   try_sets    those that took effect replaced just the value they were to replace
 *   residue     no request, no watch, no session, no memory */
#ifndef UVZK_VALUE_HISTORY_H
#define UVZK_VALUE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

struct value_history_result {
    struct history_outcome outcome;
    uint64_t sets, set, outdated, unknown, values;
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void value_history_run(uint64_t seed, bool verbose, struct value_history_result *result);

#endif
