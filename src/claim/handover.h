/* Measures handovers: the time from the moment when a release or loss is seen in a
 * directory until the next local grant there. Nothing is counted if the granted acquire
 * began after that moment. Only called if an observer or a tracer watches
 * (observed_steps.h). */
#ifndef UVZK_HANDOVER_H
#define UVZK_HANDOVER_H

#include <stdint.h>

struct uvzk__claim;

/* The claim's hold is released or lost now: records the time in the directories of all
 * its contenders. */
void uvzk__handover_started(const struct uvzk__claim *, uint64_t now);

/* The claim is granted now, waited_ms after its acquire. Returns how many ms ago the latest
 * release in its directories was, or UVZK__NO_HANDOVER if that was before the acquire, or
 * no release is known. */
#define UVZK__NO_HANDOVER UINT64_MAX
uint64_t uvzk__handover_done(const struct uvzk__claim *, uint64_t now,
                             uint64_t waited_ms);

#endif
