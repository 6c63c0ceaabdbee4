/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and traces for the observer of a client (observer.h). The first part sets it up,
 * the second part counts and reads the counters, and the third part calls the trace
 * callback. */
#include "engine/observer.h"

#include "engine/session.h"

int uvzk__observe(struct uvzk__session *session, uvzk_client_trace_cb trace_cb)
{
    struct uvzk__observer *observer = uvzk__first_session(session)->observer;

    if (observer == NULL) {
        observer = uvzk__calloc(1, sizeof(*observer));
    }
    if (observer == NULL) {
        return UV_ENOMEM;
    }
    /* A session gets the observer that the client already has, or the new one. */
    for (uint32_t i = 0; i < session->client->count; i++) {
        session->client->sessions[i]->observer = observer;
    }
    if (trace_cb != NULL) {
        observer->trace_cb = trace_cb;
    }
    return 0;
}

void uvzk__observer_free(struct uvzk__session *session)
{
    uvzk__free(session->observer);
}

/* ------------------------------------------------------------------------- counting */

/* uvzk__histogram_add does not count, to be cheaper: the count is the sum of the
 * buckets. */
static void add_up(uvzk_histogram_t *histogram)
{
    histogram->count = 0;
    for (size_t i = 0; i < UVZK_HISTOGRAM_BUCKETS; i++) {
        histogram->count += histogram->buckets[i];
    }
}

void uvzk__read_counters(const struct uvzk__observer *observer,
                         uvzk_client_metrics_t *metrics)
{
    *metrics = observer->metrics;
    metrics->counting = 1;
    add_up(&metrics->acquire);
    add_up(&metrics->hold);
    add_up(&metrics->release);
    add_up(&metrics->round_trip);
    add_up(&metrics->proof);
    add_up(&metrics->handover);
    metrics->grants = metrics->acquire.count;
    metrics->releases = metrics->release.count;
}

void uvzk__count_refused(struct uvzk__observer *observer, int status)
{
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (status) {
    case UV_ETIMEDOUT:
        metrics->refused_behind_others++;
        break;
    case UVZK_EUNREACHABLE:
    case UVZK_ECONNLOSS:
        metrics->refused_unreachable++;
        break;
    case UVZK_ENOTQUEUED:
        metrics->refused_not_queued++;
        break;
    case UV_ECANCELED:
        metrics->refused_cancelled++;
        break;
    default:
        metrics->refused_otherwise++;
        break;
    }
}

void uvzk__count_lost(struct uvzk__observer *observer, int reason)
{
    uvzk_client_metrics_t *metrics = &observer->metrics;

    switch (reason) {
    case UVZK_EEXPIRED:
        metrics->lost_expired++;
        break;
    case UVZK_EPROOF:
        metrics->lost_unproved++;
        break;
    case UVZK_EDELETED:
        metrics->lost_deleted++;
        break;
    default:
        metrics->lost_otherwise++;
        break;
    }
}

void uvzk__count_orphan(struct uvzk__observer *observer)
{
    observer->metrics.orphans++;
}

void uvzk__count_diverged(struct uvzk__observer *observer)
{
    observer->metrics.diverged++;
}

/* -------------------------------------------------------------------------- tracing */

static void observer_trace(struct uvzk__session *session, const uvzk_trace_t *event)
{
    session->observer->trace_cb(session->handle, event);
}

const char *uvzk__rpc_name(const struct uvzk__rpc *rpc)
{
    static const char *const names[] = {
        [UVZK__RPC_CREATE] = "create",     [UVZK__RPC_DELETE] = "delete",
        [UVZK__RPC_SET] = "set",           [UVZK__RPC_GET] = "get",
        [UVZK__RPC_EXISTS] = "exists",     [UVZK__RPC_CHILDREN] = "getChildren",
        [UVZK__RPC_SYNC] = "sync",         [UVZK__RPC_MULTI] = "multi",
        [UVZK__RPC_ADD_WATCH] = "addWatch"};

    return names[rpc->kind];
}

void uvzk__trace_request(struct uvzk__session *session, const struct uvzk__rpc *rpc)
{
    observer_trace(session, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                            .step = UVZK_TRACE_REQUEST,
                                            .at = rpc->sent_ms,
                                            .path = rpc->path,
                                            .request = uvzk__rpc_name(rpc)});
}

void uvzk__trace_reply(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                       int status)
{
    uint64_t now = uvzk__now(session);

    observer_trace(session, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                            .step = UVZK_TRACE_REPLY,
                                            .at = now,
                                            .took_ms = now - rpc->sent_ms,
                                            .status = status,
                                            .path = rpc->path,
                                            .request = uvzk__rpc_name(rpc)});
}

void uvzk__trace_hold(struct uvzk__session *session, enum uvzk_trace_step step,
                      const uvzk_hold_t *hold, const char *path, int status, uint64_t now,
                      uint64_t took_ms)
{
    observer_trace(session, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                            .step = (uint32_t)step,
                                            .at = now,
                                            .took_ms = took_ms,
                                            .status = status,
                                            .hold = hold,
                                            .path = path});
}

void uvzk__observe_state(struct uvzk__session *session, uvzk_client_state_t state)
{
    if (session->observer->trace_cb != NULL) {
        observer_trace(session, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                                .step = UVZK_TRACE_STATE,
                                                .at = uvzk__now(session),
                                                .status = (int)state});
    }
}
