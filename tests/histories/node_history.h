/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients keep persistent nodes in one simulated ensemble, each at a path
 * of its own, and all of them at one path that they share. They set data, close and come
 * back at random, while faults happen and an operator deletes znodes, in some histories
 * soon after they were created or set, too (history_strikes.h). A seed decides
 * everything.
 *
 * Checked at every callback:
 *   answers     nothing is told twice in a row, or after the close
 * and at the end, when the faults have stopped:
 *   existence   the znode of each open node is there, with its data, in its client's
 *               session; of several at one path one has it, and the others are told so
 *   closes      each is answered; what is closed is gone
 *   residue     no request, no watch, no session, no memory */
#ifndef UVZK_NODE_HISTORY_H
#define UVZK_NODE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"
#include "node_handles.h"

struct node_history_result {
    struct history_outcome outcome;
    struct node_handle_counts counts;
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void node_history_run(uint64_t seed, bool verbose, struct node_history_result *result);

#endif
