/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an acquire and its hold, from the acquire call to the release, as the
 * client's metrics, its trace callback and the USDT probes report them. */
#ifndef UVZK_OBSERVED_STEPS_H
#define UVZK_OBSERVED_STEPS_H

#include "engine/observer.h"

struct uvzk__acquisition;

/* The acquisition takes this step now, and its session has an observer, or a tracer
 * watches (uvzk__probed). Measures how long the step took, since the step before. status:
 * of a refusal, a loss or a release. */
void uvzk__observe_step(struct uvzk__session *, struct uvzk__acquisition *,
                        enum uvzk_trace_step, int status);

#endif
