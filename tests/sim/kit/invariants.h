/* What must hold of all that a client keeps, between any two events: the invariants
 * that the machines check of themselves at each move (invariant_holds(), in their
 * files), once more and over whole structures: each list's members, each count counted
 * again. */
#ifndef UVZK_SIM_KIT_INVARIANTS_H
#define UVZK_SIM_KIT_INVARIANTS_H

#include "uvzk.h"

/* What does not hold; NULL if all does, or if the client is closed. */
const char *invariants_broken(const uvzk_client_t *);

/* The same, but of a client with many contenders seldom: now and then, as `moment` says. */
const char *invariants_sampled(const uvzk_client_t *, uint64_t moment);

#endif
