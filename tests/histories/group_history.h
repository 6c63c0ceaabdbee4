/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients are members of one group in one simulated ensemble, each with an
 * id of its own, and all of them with one id that they share. They set data, close and come
 * back at random, while faults happen and an operator deletes znodes, in some histories
 * soon after they were created or set, too (history_strikes.h). A seed decides
 * everything.
 *
 * Checked at every callback:
 *   answers     no status is told twice in a row, no list either, nothing after the close
 *   itself      each lists itself, with its newest data
 * and at the end, when the faults have stopped:
 *   existence   the znode of each open member is there, with its data, in its client's
 *               session; of several with one id one has it, and the others are told so
 *   members     each lists the znodes that there are, with their data, and nothing else, and
 *               has been told of them
 *   closes      each is answered; what is closed is gone
 *   residue     no request, no watch, no session, no memory */
#ifndef UVZK_GROUP_HISTORY_H
#define UVZK_GROUP_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"
#include "node_handles.h"

struct group_history_result {
    struct history_outcome outcome;
    struct node_handle_counts counts;
    uint64_t changes;
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void group_history_run(uint64_t seed, bool verbose, struct group_history_result *result);

#endif
