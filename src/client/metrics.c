/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_client_metrics and uvzk_client_write_metrics: a client's gauges, counters and
 * histograms, as a struct and as text for Prometheus. Gauges and the numbers of requests
 * are added up over the sessions when they are read. The other counters and the
 * histograms come from the observer (engine/observer.h); a client without an observer has
 * none, and the text leaves them out. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/refusal.h"
#include "base/struct_size.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "client/combined_state.h"
#include "directory/directories.h"
#include "engine/session.h"
#include "proof/prover.h"

void uvzk_client_metrics_init_size(uvzk_client_metrics_t *metrics, size_t size)
{
    if (metrics != NULL) {
        memset(metrics, 0, size);
        metrics->size = size;
    }
}

/* ----------------------------------------------------------------------- the struct */

static void count_claims(const struct uvzk__session *session,
                         uvzk_client_metrics_t *metrics)
{
    const struct uvzk__link *head = &session->claims->locks, *at;

    for (at = head->next; at != head; at = at->next) {
        const struct uvzk__lock *lock =
            UVZK__CONTAINER_OF((uintptr_t)at, struct uvzk__lock, in_session);
        metrics->locks++;
        for (const struct uvzk__claim *claim = uvzk__lock_first_claim(lock);
             claim != NULL; claim = uvzk__lock_next_claim(lock, claim)) {
            /* The acquisitions of one claim hold or wait together. */
            *(uvzk__claim_grant_notified(claim) ? &metrics->held : &metrics->waiting) +=
                uvzk__ring_length(&claim->acquisitions);
        }
    }
}

static void count_foreign(const struct uvzk__session *session,
                          uvzk_client_metrics_t *metrics)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;

    for (const struct uvzk__queue *queue = uvzk__catalogue_first(catalogue);
         queue != NULL; queue = uvzk__catalogue_next(catalogue, queue)) {
        metrics->foreign += uvzk__queue_optional(queue)->foreign_nodes.children;
    }
}

static void add_requests(const struct uvzk__session *session,
                         uvzk_client_metrics_t *metrics)
{
    uint64_t sent[UVZK__RPC_KINDS];

    for (int kind = 0; kind < UVZK__RPC_KINDS; kind++) {
        sent[kind] = uvzk__requests(&session->submissions, (enum uvzk__rpc_kind)kind);
        metrics->requests += sent[kind];
    }
    metrics->creates += sent[UVZK__RPC_CREATE];
    metrics->deletes += sent[UVZK__RPC_DELETE];
    metrics->multis += sent[UVZK__RPC_MULTI];
    metrics->listings += sent[UVZK__RPC_CHILDREN];
    metrics->reads += sent[UVZK__RPC_GET] + sent[UVZK__RPC_EXISTS];
    metrics->others +=
        sent[UVZK__RPC_SET] + sent[UVZK__RPC_SYNC] + sent[UVZK__RPC_ADD_WATCH];
    metrics->proofs += uvzk__prover_proofs(session);
}

static void add_session(const struct uvzk__session *session,
                        uvzk_client_metrics_t *metrics)
{
    metrics->contenders += session->directories->contender_count;
    metrics->undeletable += session->directories->undeletable_count;
    metrics->mixed_kinds += session->directories->mixed_kinds;
    metrics->node_bytes += session->directories->node_bytes;
    metrics->node_bytes_most += session->directories->node_bytes_max;
    metrics->watches += uvzk__watch_count(&session->watches);
    metrics->watch_bytes += uvzk__watch_bytes(&session->watches);
    metrics->watch_bytes_most += UVZK__WATCH_BYTES_MAX;
    count_claims(session, metrics);
    count_foreign(session, metrics);
    add_requests(session, metrics);
}

static void read_metrics(const struct uvzk__session *session,
                         uvzk_client_metrics_t *metrics)
{
    uvzk_client_metrics_init(metrics);
    if (session->observer != NULL) {
        uvzk__read_counters(session->observer, metrics);
    }
    metrics->state = (uint32_t)uvzk__combined_state_now(session);
    metrics->session_timeout_ms = session->connection.timeout_ms;
    metrics->session_id = session->connection.session_id;
    for (uint32_t i = 0; i < session->client->count; i++) {
        add_session(session->client->sessions[i], metrics);
    }
}

int uvzk_client_start_metrics(uvzk_client_t *handle)
{
    struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    if (session == NULL) {
        return uvzk__refuse(handle == NULL ? UV_EINVAL : UVZK_ESTATE,
                            handle == NULL ? "client is NULL"
                                           : "client is not initialised");
    }
    return uvzk__observe(session, NULL);
}

int uvzk_client_metrics(const uvzk_client_t *handle, uvzk_client_metrics_t *metrics)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;
    uvzk_client_metrics_t now;

    if (handle == NULL || metrics == NULL ||
        metrics->size < UVZK__SIZE_UP_TO(uvzk_client_metrics_t, handover)) {
        return uvzk__refuse(UV_EINVAL, handle == NULL
                                           ? "client is NULL"
                                           : "metrics is NULL, or its size not "
                                             "set by uvzk_client_metrics_init");
    }
    if (session == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    read_metrics(session, &now);
    uvzk__answer_into(metrics, &now, sizeof(now));
    return 0;
}

/* ------------------------------------------------------------------------- the text */

/* The text so far. `length` counts what the whole text needs, as snprintf does, even when
 * it is longer than the buffer. */
struct text {
    char *buffer;
    size_t size, length;
    const char *client; /* the value of the label `client`, not escaped */
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text,
                                                      const char *format, ...)
{
    /* Without room nothing is written, but the length is still counted. */
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(room == 0 ? NULL : text->buffer + text->length, room, format,
                           arguments);
    va_end(arguments);
    text->length += length < 0 ? 0 : (size_t)length;
}

/* Writes `uvzk_name{client="..."`, with the label's value escaped as Prometheus requires
 * it. */
static void put_name(struct text *text, const char *name)
{
    put(text, "uvzk_%s{client=\"", name);
    for (const char *at = text->client; *at != '\0'; at++) {
        if (*at == '\n') {
            put(text, "\\n");
        } else {
            put(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        }
    }
    put(text, "\"");
}

static void put_type(struct text *text, const char *name, const char *type,
                     const char *help)
{
    put(text, "# HELP uvzk_%s %s\n# TYPE uvzk_%s %s\n", name, help, name, type);
}

static void put_single(struct text *text, const char *name, const char *type,
                       const char *help, uint64_t value)
{
    put_type(text, name, type, help);
    put_name(text, name);
    put(text, "} %" PRIu64 "\n", value);
}

static void put_gauge(struct text *text, const char *name, const char *help,
                      uint64_t value)
{
    put_single(text, name, "gauge", help, value);
}

/* Writes one of several values of a name that a label distinguishes. */
static void put_part(struct text *text, const char *name, const char *label,
                     const char *part, uint64_t value)
{
    put_name(text, name);
    put(text, ",%s=\"%s\"} %" PRIu64 "\n", label, part, value);
}

/* Writes a histogram. Bucket i counts durations up to 2^i - 1 ms; Prometheus expects
 * seconds and cumulative counts. */
static void put_histogram(struct text *text, const char *name, const char *help,
                          const uvzk_histogram_t *histogram)
{
    char part[64];
    uint64_t count = 0;

    put_type(text, name, "histogram", help);
    (void)snprintf(part, sizeof(part), "%s_bucket", name);
    for (size_t i = 0; i + 1 < UVZK_HISTOGRAM_BUCKETS; i++) {
        uint64_t ms = (UINT64_C(1) << i) - 1;
        count += histogram->buckets[i];
        put_name(text, part);
        put(text, ",le=\"%" PRIu64 ".%03" PRIu64 "\"} %" PRIu64 "\n", ms / 1000,
            ms % 1000, count);
    }
    put_part(text, part, "le", "+Inf", histogram->count);
    (void)snprintf(part, sizeof(part), "%s_sum", name);
    put_name(text, part);
    put(text, "} %" PRIu64 ".%03" PRIu64 "\n", histogram->sum_ms / 1000,
        histogram->sum_ms % 1000);
    (void)snprintf(part, sizeof(part), "%s_count", name);
    put_name(text, part);
    put(text, "} %" PRIu64 "\n", histogram->count);
}

static void put_gauges(struct text *text, const uvzk_client_metrics_t *metrics)
{
    put_gauge(text, "connected", "Whether there is a connection.",
              uvzk__state_is_connected(metrics->state));
    put_gauge(text, "locks", "Locks that are open.", metrics->locks);
    put_gauge(text, "waiting", "Acquires that are pending.", metrics->waiting);
    put_gauge(text, "held", "Holds.", metrics->held);
    put_gauge(text, "contenders", "Znodes in lock directories.", metrics->contenders);
    put_gauge(text, "undeletable", "Of these, those that an ACL forbids to delete.",
              metrics->undeletable);
    put_gauge(text, "foreign", "Other children of lock directories.", metrics->foreign);
    put_gauge(text, "node_bytes", "Bytes of the contenders' paths.", metrics->node_bytes);
    put_gauge(text, "node_bytes_most", "How many there may be.",
              metrics->node_bytes_most);
    put_gauge(text, "watches", "Watches that are armed.", metrics->watches);
    put_gauge(text, "watch_bytes", "Bytes of what is watched.", metrics->watch_bytes);
    put_gauge(text, "watch_bytes_most", "How many there may be.",
              metrics->watch_bytes_most);
}

struct session_gauge {
    struct text *text;
    const char *name;
    uint64_t (*value)(const uvzk_session_entry_t *);
};

static uint64_t is_connected(const uvzk_session_entry_t *entry)
{
    return uvzk__state_is_connected((uvzk_client_state_t)entry->state);
}

static uint64_t metrics_contenders(const uvzk_session_entry_t *entry)
{
    return entry->contenders;
}

static uint64_t node_bytes(const uvzk_session_entry_t *entry)
{
    return entry->node_bytes;
}

static uint64_t watch_bytes(const uvzk_session_entry_t *entry)
{
    return entry->watch_bytes;
}

static void put_of_session(const uvzk_client_t *client, const uvzk_session_entry_t *entry,
                           void *context)
{
    const struct session_gauge *gauge = context;
    char number[16];

    (void)client;
    (void)snprintf(number, sizeof(number), "%" PRIu32, entry->number);
    put_part(gauge->text, gauge->name, "session", number, gauge->value(entry));
}

/* Writes the gauges of each session if there are several. With one session they are the
 * client's. */
static void put_sessions(struct text *text, const uvzk_client_t *handle)
{
    const struct {
        const char *name, *help;
        uint64_t (*value)(const uvzk_session_entry_t *);
    } gauges[] = {
        {"session_connected", "Whether there is a connection.", is_connected},
        {"session_contenders", "Znodes in lock directories.", metrics_contenders},
        {"session_node_bytes", "Bytes of their paths.", node_bytes},
        {"session_watch_bytes", "Bytes of what is watched.", watch_bytes},
    };

    for (size_t i = 0;
         uvzk__has_sessions(handle->impl) && i < sizeof(gauges) / sizeof(gauges[0]);
         i++) {
        struct session_gauge gauge = {text, gauges[i].name, gauges[i].value};
        put_type(text, gauges[i].name, "gauge", gauges[i].help);
        (void)uvzk_client_each_session(handle, put_of_session, &gauge);
    }
}

static void put_requests(struct text *text, const uvzk_client_metrics_t *metrics)
{
    put_type(text, "requests_total", "counter", "Requests that were sent.");
    put_part(text, "requests_total", "kind", "create", metrics->creates);
    put_part(text, "requests_total", "kind", "delete", metrics->deletes);
    put_part(text, "requests_total", "kind", "multi", metrics->multis);
    put_part(text, "requests_total", "kind", "list", metrics->listings);
    put_part(text, "requests_total", "kind", "read", metrics->reads);
    put_part(text, "requests_total", "kind", "other", metrics->others);
}

/* What is counted without uvzk_client_start_metrics. */
static void put_mixed_kinds(struct text *text, const uvzk_client_metrics_t *metrics)
{
    put_single(text, "mixed_kinds_total", "counter",
               "Contenders that came after one of another kind of lock.",
               metrics->mixed_kinds);
}

static void put_counters(struct text *text, const uvzk_client_metrics_t *metrics)
{
    put_single(text, "grants_total", "counter", "Acquires that were granted.",
               metrics->grants);
    put_single(text, "releases_total", "counter", "Releases that were told.",
               metrics->releases);
    put_type(text, "refused_total", "counter", "Acquires that were refused.");
    put_part(text, "refused_total", "reason", "behind_others",
             metrics->refused_behind_others);
    put_part(text, "refused_total", "reason", "unreachable",
             metrics->refused_unreachable);
    put_part(text, "refused_total", "reason", "not_queued", metrics->refused_not_queued);
    put_part(text, "refused_total", "reason", "cancelled", metrics->refused_cancelled);
    put_part(text, "refused_total", "reason", "other", metrics->refused_otherwise);
    put_type(text, "lost_total", "counter", "Holds that were lost.");
    put_part(text, "lost_total", "reason", "expired", metrics->lost_expired);
    put_part(text, "lost_total", "reason", "unproved", metrics->lost_unproved);
    put_part(text, "lost_total", "reason", "deleted", metrics->lost_deleted);
    put_part(text, "lost_total", "reason", "other", metrics->lost_otherwise);
    put_single(text, "orphans_total", "counter",
               "Znodes of ours that no lock knew, and that were deleted.",
               metrics->orphans);
    put_single(text, "diverged_total", "counter",
               "Servers that showed what was deleted, and were left.", metrics->diverged);
}

static void put_histograms(struct text *text, const uvzk_client_metrics_t *metrics)
{
    put_histogram(text, "acquire_seconds", "From the acquire to the grant.",
                  &metrics->acquire);
    put_histogram(text, "hold_seconds", "From the grant to the release or loss.",
                  &metrics->hold);
    put_histogram(text, "handover_seconds",
                  "From when one was seen to let go until the next has it.",
                  &metrics->handover);
    put_histogram(text, "release_seconds", "From the release until it is known.",
                  &metrics->release);
    put_histogram(text, "round_trip_seconds", "Of requests.", &metrics->round_trip);
    put_histogram(text, "proof_seconds", "Of proofs of ownership.", &metrics->proof);
}

int uvzk_client_write_metrics(const uvzk_client_t *handle, const char *name, char *buffer,
                              size_t size)
{
    struct text text = {.buffer = buffer, .size = size, .client = name};
    uvzk_client_metrics_t metrics;

    if (name == NULL || (buffer == NULL && size > 0)) {
        return uvzk__refuse(UV_EINVAL, name == NULL ? "name is NULL"
                                                    : "buffer is NULL, size is not 0");
    }
    uvzk_client_metrics_init(&metrics);
    int status = uvzk_client_metrics(handle, &metrics);
    if (status != 0) {
        return status;
    }
    put_gauges(&text, &metrics);
    put_sessions(&text, handle);
    put_requests(&text, &metrics);
    put_mixed_kinds(&text, &metrics);
    if (metrics.counting) {
        put_counters(&text, &metrics);
        put_histograms(&text, &metrics);
    }
    return (int)text.length;
}
