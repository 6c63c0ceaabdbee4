/* Counts and traces the steps of acquires (observed_steps.h). A step takes from the step
 * before until now, which is why an acquisition remembers when its last step was. */
#include "claim/observed_steps.h"

#include "claim/acquisition.h"
#include "claim/handover.h"
#include "claim/lock.h"
#include "engine/turn.h"

/* since_ms has 40 bits. Milliseconds since the machine's start fit for 34 years. */
#define MOMENT_MAX ((UINT64_C(1) << 40) - 1)

static void count(struct uvzk__observer *observer,
                  const struct uvzk__acquisition *acquisition, enum uvzk_trace_step step,
                  int status, uint64_t now, uint64_t took_ms)
{
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (step) {
    case UVZK_TRACE_GRANTED:
        uvzk__histogram_add(&metrics->acquire, took_ms);
        uvzk__handover_done(acquisition->claim, now, took_ms, &metrics->handover);
        break;
    case UVZK_TRACE_REFUSED:
        uvzk__count_refused(observer, status);
        break;
    case UVZK_TRACE_LOST:
        uvzk__count_lost(observer, status);
        uvzk__histogram_add(&metrics->hold, took_ms);
        uvzk__handover_started(acquisition->claim, now);
        break;
    case UVZK_TRACE_RELEASE:
        uvzk__histogram_add(&metrics->hold, took_ms);
        uvzk__handover_started(acquisition->claim, now);
        break;
    case UVZK_TRACE_RELEASED:
        uvzk__histogram_add(&metrics->release, took_ms);
        break;
    default:
        break;
    }
}

void uvzk__observe_step(struct uvzk__session *session,
                        struct uvzk__acquisition *acquisition, enum uvzk_trace_step step,
                        int status)
{
    struct uvzk__observer *observer = uvzk__observer_of(session);
    uint64_t now = uvzk__now(session);
    uint64_t since_ms = acquisition->since_ms;
    uint64_t took_ms = uvzk__elapsed_since(&since_ms, now);

    acquisition->since_ms = since_ms & MOMENT_MAX;
    count(observer, acquisition, step, status, now, took_ms);
    if (observer->trace_cb != NULL) {
        uvzk__trace_hold(session, step, acquisition->shell, acquisition->lock->path->text,
                         status, now, took_ms);
    }
}
