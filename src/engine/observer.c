#include "engine/observer.h"

#include "engine/client.h"

int uvzk__observe(struct uvzk__client *client, uvzk_client_trace_cb trace_cb)
{
    if (client->observer == NULL) {
        uvzk__is_observed(client, uvzk__calloc(1, sizeof(*client->observer)));
    }
    if (client->observer == NULL) {
        return UV_ENOMEM;
    }
    if (trace_cb != NULL) {
        client->observer->trace_cb = trace_cb;
    }
    return 0;
}

void uvzk__observer_free(struct uvzk__client *client)
{
    uvzk__free(client->observer);
}

/* ------------------------------------------------------------------------- counting */

/* The bucket of 0 is the first, that of 1 the second, of 2 and 3 the third, and so on. */
static size_t bucket_of(uint64_t ms)
{
    const size_t most = UVZK_HISTOGRAM_BUCKETS - 1;
    size_t bits = ms == 0 ? 0 : 64 - (size_t)__builtin_clzll(ms);

    return bits < most ? bits : most;
}

static void took(uvzk_histogram_t *histogram, uint64_t ms)
{
    histogram->count++;
    histogram->sum_ms += ms;
    histogram->buckets[bucket_of(ms)]++;
}

static uint64_t *count_of(uvzk_client_metrics_t *metrics, enum uvzk__rpc_kind kind)
{
    switch (kind) {
    case UVZK__RPC_CREATE:
        return &metrics->creates;
    case UVZK__RPC_DELETE:
        return &metrics->deletes;
    case UVZK__RPC_MULTI:
        return &metrics->multis;
    case UVZK__RPC_CHILDREN:
        return &metrics->listings;
    case UVZK__RPC_GET:
    case UVZK__RPC_EXISTS:
        return &metrics->looks;
    default:
        return &metrics->others;
    }
}

static void refused(uvzk_client_metrics_t *metrics, int status)
{
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

static void lost(uvzk_client_metrics_t *metrics, int reason)
{
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

/* -------------------------------------------------------------------------- tracing */

static bool is_traced(const struct uvzk__client *client)
{
    return client->observer->trace_cb != NULL;
}

static void trace(struct uvzk__client *client, const uvzk_trace_t *event)
{
    client->observer->trace_cb(client->shell, event);
}

static const char *name_of(const struct uvzk__rpc *rpc)
{
    static const char *const names[] = {
        [UVZK__RPC_CREATE] = "create", [UVZK__RPC_DELETE] = "delete",
        [UVZK__RPC_SET] = "set",       [UVZK__RPC_GET] = "get",
        [UVZK__RPC_EXISTS] = "exists", [UVZK__RPC_CHILDREN] = "getChildren",
        [UVZK__RPC_SYNC] = "sync",     [UVZK__RPC_MULTI] = "multi"};

    return names[rpc->kind];
}

/* ------------------------------------------------------------------------- the steps */

void uvzk__observe_request(struct uvzk__client *client, const struct uvzk__rpc *rpc)
{
    struct uvzk__observer *observer = client->observer;

    (*count_of(&observer->metrics, (enum uvzk__rpc_kind)rpc->kind))++;
    if (is_traced(client)) {
        trace(client, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                      .step = UVZK_TRACE_REQUEST,
                                      .at = rpc->sent_ms,
                                      .path = rpc->path,
                                      .request = name_of(rpc)});
    }
}

void uvzk__observe_reply(struct uvzk__client *client, const struct uvzk__rpc *rpc,
                         int status)
{
    uint64_t now = uvzk__now(client);

    took(&client->observer->metrics.round_trip, now - rpc->sent_ms);
    if (is_traced(client)) {
        trace(client, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                      .step = UVZK_TRACE_REPLY,
                                      .at = now,
                                      .took_ms = now - rpc->sent_ms,
                                      .status = status,
                                      .path = rpc->path,
                                      .request = name_of(rpc)});
    }
}

void uvzk__observe_proof(struct uvzk__client *client, const struct uvzk__rpc *rpc)
{
    took(&client->observer->metrics.proof, uvzk__now(client) - rpc->sent_ms);
}

static void count_hold(uvzk_client_metrics_t *metrics, enum uvzk_trace_step step,
                       int status, uint64_t took_ms)
{
    switch (step) {
    case UVZK_TRACE_GRANTED:
        metrics->grants++;
        took(&metrics->acquire, took_ms);
        break;
    case UVZK_TRACE_REFUSED:
        refused(metrics, status);
        break;
    case UVZK_TRACE_LOST:
        lost(metrics, status);
        took(&metrics->hold, took_ms);
        break;
    case UVZK_TRACE_RELEASE:
        took(&metrics->hold, took_ms);
        break;
    case UVZK_TRACE_RELEASED:
        metrics->releases++;
        took(&metrics->release, took_ms);
        break;
    default:
        break;
    }
}

void uvzk__observe_hold(struct uvzk__client *client, enum uvzk_trace_step step,
                        const uvzk_hold_t *hold, const char *path, int status,
                        uint64_t *since_ms)
{
    uint64_t now = uvzk__now(client), took_ms = *since_ms == 0 ? 0 : now - *since_ms;

    *since_ms = now;
    count_hold(&client->observer->metrics, step, status, took_ms);
    if (is_traced(client)) {
        trace(client, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                      .step = (uint32_t)step,
                                      .at = now,
                                      .took_ms = took_ms,
                                      .status = status,
                                      .hold = hold,
                                      .path = path});
    }
}

void uvzk__observe_state(struct uvzk__client *client, uvzk_client_state_t state)
{
    if (is_traced(client)) {
        trace(client, &(uvzk_trace_t){.size = sizeof(uvzk_trace_t),
                                      .step = UVZK_TRACE_STATE,
                                      .at = uvzk__now(client),
                                      .status = (int)state});
    }
}
