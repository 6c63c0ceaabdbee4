/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and traces the steps of acquires (observed_steps.h). A step takes from the step
 * before until now, which is why an acquisition remembers when its last step was. */
#include "claim/observed_steps.h"

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/probe_points.h"
#include "engine/turn.h"

/* since_ms has the low 37 bits of a moment: enough for a step of four years. */
#define MOMENT_MAX ((UINT64_C(1) << 37) - 1)

/* --------------------------------------------------------------------- handovers */

/* A handover lasts from the moment when a release or loss is seen in a directory until the
 * next local grant there. Nothing is counted if the granted acquire began after that
 * moment. The times are kept in the queues of a claim's directories, so that a grant in the
 * same directory finds them. */
#define NO_HANDOVER UINT64_MAX

static struct uvzk__queue *queue_at(const struct uvzk__link *link)
{
    return uvzk__contender_of_link(link)->queue;
}

/* The claim's hold is released or lost now: records the time in the directories of all
 * its contenders. */
static void handover_started(const struct uvzk__claim *claim, uint64_t now)
{
    const struct uvzk__ring *ring = &claim->contenders;

    for (const struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        uvzk__queue_set_released(queue_at(link), now);
    }
}

/* The claim is granted now, waited_ms after its acquire. Returns how many ms ago the latest
 * release in its directories was, or NO_HANDOVER if that was before the acquire, or no
 * release is known. */
static uint64_t handover_done(const struct uvzk__claim *claim, uint64_t now,
                              uint64_t waited_ms)
{
    const struct uvzk__ring *ring = &claim->contenders;
    uint64_t least = NO_HANDOVER;

    for (const struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        uint64_t ago = uvzk__queue_released_ago(queue_at(link), now);
        least = ago < least ? ago : least;
    }
    /* Only a release that this acquire has waited for is a handover. */
    return least <= waited_ms ? least : NO_HANDOVER;
}

/* Returns how long the handover took that this step completes, or NO_HANDOVER. */
static uint64_t observed_steps_handover(const struct uvzk__acquisition *acquisition,
                                        enum uvzk_trace_step step, uint64_t now,
                                        uint64_t took_ms)
{
    if (step == UVZK_TRACE_GRANTED) {
        return handover_done(acquisition->claim, now, took_ms);
    }
    if (step == UVZK_TRACE_LOST || step == UVZK_TRACE_RELEASE) {
        handover_started(acquisition->claim, now);
    }
    return NO_HANDOVER;
}

/* ------------------------------------------------------------------------- steps */

static void observed_steps_count(struct uvzk__observer *observer,
                                 enum uvzk_trace_step step, int status, uint64_t took_ms,
                                 uint64_t handover_ms)
{
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (step) {
    case UVZK_TRACE_GRANTED:
        uvzk__histogram_add(&metrics->acquire, took_ms);
        if (handover_ms != NO_HANDOVER) {
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

    if (handover_ms != NO_HANDOVER) {
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
