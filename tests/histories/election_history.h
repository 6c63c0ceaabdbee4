/* SPDX-License-Identifier: Apache-2.0 */
/* One history: a few clients in one simulated ensemble take part in elections, on a path
 * of latches and on one of selectors; they queue, lead, resign, are closed and come back
 * at random, while faults happen. A seed decides everything.
 *
 * Checked after every event:
 *   exclusion   no two participants of a path are leaders
 *   deposed     where no loop is late, nobody is told to lead before the one who led was
 *               told that it does not
 *   reigns      where no loop is late, none is longer than its max_reign_ms
 * at every callback:
 *   order       leader_cb and deposed_cb alternate; none comes after the close
 *   tokens      grow from leader to leader
 *   changes     a leader that is reported was never followed by one reported before
 * and at the end, when the faults have stopped:
 *   liveness    every path has one leader, whom all followers know
 *   residue     no znode, no watch, no session, no memory */
#ifndef UVZK_ELECTION_HISTORY_H
#define UVZK_ELECTION_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

struct election_history_result {
    struct history_outcome outcome;
    uint64_t led, resigned, lost, timed_out, changes, errors, listed, futures;
    uint64_t lost_txn_overlaps; /* moments with two leaders, which the promise excepts */
};

/* On failure the trace's last lines have been printed to stderr. verbose: every line
 * of the trace goes there as it happens. */
void election_history_run(uint64_t seed, bool verbose,
                          struct election_history_result *result);

#endif
