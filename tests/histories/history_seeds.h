/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a kind of histories: runs them seed by seed, as the environment says
 * (test_shared_value_histories.c). */
#ifndef UVZK_HISTORY_SEEDS_H
#define UVZK_HISTORY_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "history_sim.h"

/* Runs one history. counts: it is one of those of which the kind keeps the sums. */
typedef void (*history_seeds_run_one)(uint64_t seed, bool verbose, bool counts,
                                      struct history_outcome *outcome);

/* usual: how many, unless the environment says otherwise. Ends the process if one fails;
 * otherwise prints how many there were, with their events and faults, without the end of
 * the line, and sets *count. Returns false if the first one does not replay, or if there is
 * no allocator that can fail. */
bool history_seeds_run(uint64_t usual, history_seeds_run_one run_one, uint64_t *count);

#endif
