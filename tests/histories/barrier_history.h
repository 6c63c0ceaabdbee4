/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients are members of a double barrier in one simulated ensemble;
 * they enter, leave, give up, close and come back at random, while faults happen. A
 * seed decides everything. In every other history nobody gives up or closes: then its
 * rounds are exact for as long as no session ends. Meanwhile they wait for another
 * barrier (gate_history.h). In some histories somebody deletes the gate, members' znodes
 * and `ready` by hand (history_strikes.h): no round is exact from then on, less is known of
 * `ready` for a time, and who has lost his znode gives up or is told so.
 *
 * Checked in the servers' tree after each event, and at every callback:
 *   ready       is created only if enough members were there at once since the last one
 *   entered     at some moment there was `ready` while the member's znode stood
 *   rounds      nobody is in the k-th round before all have called their k-th enter, and
 *               nobody out of it before all have called their k-th leave
 *   answers     each call is told once, and says nothing that has not happened
 * and at the end, when the faults have stopped:
 *   liveness    exact rounds go on; once enough are there, all of them are let in
 *   residue     no member, no `ready`, no request, no watch, no session, no memory */
#ifndef UVZK_BARRIER_HISTORY_H
#define UVZK_BARRIER_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

struct barrier_history_result {
    struct history_outcome outcome;
    uint64_t enters, entered, left, given_up, expired;
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void barrier_history_run(uint64_t seed, bool verbose,
                         struct barrier_history_result *result);

#endif
