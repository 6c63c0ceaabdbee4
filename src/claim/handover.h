/* Measures handovers: the time from the moment when a release or loss is seen in a
 * directory until the next local grant there. Nothing is counted if the granted acquire
 * began after that moment. Only called for a client with an observer (observer.h). */
#ifndef UVZK_HANDOVER_H
#define UVZK_HANDOVER_H

#include "engine/observer.h"

struct uvzk__claim;

/* The claim's hold is released or lost now: records the time in the directories of all
 * its contenders. */
void uvzk__handover_started(const struct uvzk__claim *, uint64_t now);

/* The claim is granted now, waited_ms after its acquire. Adds to the histogram how long
 * ago the latest release in its directories was, if that was not before the acquire. */
void uvzk__handover_done(const struct uvzk__claim *, uint64_t now, uint64_t waited_ms,
                         uvzk_histogram_t *);

#endif
