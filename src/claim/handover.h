/* From when something is seen to be let go until the next of ours has it: of a directory in
 * which nobody was waited for meanwhile nothing is known, and nothing told. Only for who
 * counts (observer.h). */
#ifndef UVZK_HANDOVER_H
#define UVZK_HANDOVER_H

#include "engine/observer.h"

struct uvzk__claim;

/* It lets go of what it has. */
void uvzk__handover_started(const struct uvzk__claim *, uint64_t now);

/* It is granted, after so long: counts how long ago the last one before it let go, if it
 * waited then. */
void uvzk__handover_done(const struct uvzk__claim *, uint64_t now, uint64_t waited_ms,
                         uvzk_histogram_t *);

#endif
