/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of all structures of a client, which must hold between any two events.
 * The state machines check their own invariants at each transition (invariant_holds() in
 * their files). This file checks across structures: each list's members, and each counter
 * against a new count. */
#ifndef UVZK_SIM_KIT_INVARIANTS_H
#define UVZK_SIM_KIT_INVARIANTS_H

#include "uvzk.h"

/* Returns the first violation as text; NULL if there is none, or if the client is
 * closed. */
const char *invariants_broken(const uvzk_client_t *);

/* Like invariants_broken, but checks a client with many contenders only at some moments.
 * moment: a number that grows, such as the virtual time in ms. */
const char *invariants_sampled(const uvzk_client_t *, uint64_t moment);

/* The test has watchers of its own in the client's table (engine/watch.h), from now on. */
void invariants_expect_more_watchers(void);

#endif
