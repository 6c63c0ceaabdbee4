/* Counts and traces the steps of acquires (observed_steps.h). A step takes from the step
 * before until now, which is why an acquisition remembers when its last step was. */
#include "claim/observed_steps.h"

#include "claim/acquisition.h"
#include "claim/handover.h"
#include "claim/lock.h"
#include "engine/probe_points.h"
#include "engine/turn.h"

/* since_ms has the low 37 bits of a moment: enough for a step of four years. */
#define MOMENT_MAX ((UINT64_C(1) << 37) - 1)

/* Returns how long the handover took that this step completes, or UVZK__NO_HANDOVER. */
static uint64_t observed_steps_handover(const struct uvzk__acquisition *acquisition,
                                        enum uvzk_trace_step step, uint64_t now,
                                        uint64_t took_ms)
{
    if (step == UVZK_TRACE_GRANTED) {
        return uvzk__handover_done(acquisition->claim, now, took_ms);
    }
    if (step == UVZK_TRACE_LOST || step == UVZK_TRACE_RELEASE) {
        uvzk__handover_started(acquisition->claim, now);
    }
    return UVZK__NO_HANDOVER;
}

static void observed_steps_count(struct uvzk__observer *observer,
                                 enum uvzk_trace_step step, int status, uint64_t took_ms,
                                 uint64_t handover_ms)
{
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (step) {
    case UVZK_TRACE_GRANTED:
        uvzk__histogram_add(&metrics->acquire, took_ms);
        if (handover_ms != UVZK__NO_HANDOVER) {
            uvzk__histogram_add(&metrics->handover, handover_ms);
        }
        break;
    case UVZK_TRACE_REFUSED:
        uvzk__count_refused(observer, status);
        break;
    case UVZK_TRACE_LOST:
        uvzk__count_lost(observer, status);
        uvzk__histogram_add(&metrics->hold, took_ms);
        break;
    case UVZK_TRACE_RELEASE:
        uvzk__histogram_add(&metrics->hold, took_ms);
        break;
    case UVZK_TRACE_RELEASED:
        uvzk__histogram_add(&metrics->release, took_ms);
        break;
    default:
        break;
    }
}

static void observed_steps_probe(const struct uvzk__session *session,
                                 const struct uvzk__acquisition *acquisition,
                                 enum uvzk_trace_step step, int status, uint64_t took_ms,
                                 uint64_t handover_ms)
{
    const struct uvzk__probed_hold probed = {acquisition->handle,
                                             acquisition->lock->path->text,
                                             session->connection.session_id, took_ms};

    if (handover_ms != UVZK__NO_HANDOVER) {
        uvzk__probe_handover(&probed, handover_ms);
    }
    uvzk__probe_hold(&probed, step,
                     acquisition->claim == NULL ? 0 : acquisition->claim->fencing_token,
                     status);
}

void uvzk__observe_step(struct uvzk__session *session,
                        struct uvzk__acquisition *acquisition, enum uvzk_trace_step step,
                        int status)
{
    struct uvzk__observer *observer = session->observer;
    uint64_t now = uvzk__now(session);
    uint64_t since_ms = acquisition->since_ms;
    uint64_t took_ms = uvzk__elapsed_since(&since_ms, now) & MOMENT_MAX;
    uint64_t handover_ms = observed_steps_handover(acquisition, step, now, took_ms);

    acquisition->since_ms = since_ms & MOMENT_MAX;
    if (observer != NULL) {
        observed_steps_count(observer, step, status, took_ms, handover_ms);
        if (observer->trace_cb != NULL) {
            uvzk__trace_hold(session, step, acquisition->handle,
                             acquisition->lock->path->text, status, now, took_ms);
        }
    }
    if (uvzk__probed()) {
        observed_steps_probe(session, acquisition, step, status, took_ms, handover_ms);
    }
}
