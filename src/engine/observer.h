/* SPDX-License-Identifier: Apache-2.0 */
/* The observer of a client: its counters and histograms, and the user's trace callback.
 * All sessions of a client share one observer. A client whose user has asked for neither
 * metrics nor traces has none (session->observer is NULL); each step then costs only the
 * test of that pointer. The functions that count often are inline here, because calling
 * them would cost more than counting (tests/cost). */
#ifndef UVZK_OBSERVER_H
#define UVZK_OBSERVER_H

#include "engine/port.h"

struct uvzk__session;

struct uvzk__observer {
    uvzk_client_trace_cb trace_cb; /* NULL: none */
    /* The counters and histograms. Sums of them are computed by uvzk__read_counters. */
    uvzk_client_metrics_t metrics;
};

/* Observes all sessions of the client from now on, if they are not observed already.
 * trace_cb NULL: an earlier trace callback stays. Returns 0 or UV_ENOMEM. */
int uvzk__observe(struct uvzk__session *, uvzk_client_trace_cb);
/* Frees the observer. Called once for a client, with any of its sessions. */
void uvzk__observer_free(struct uvzk__session *);

/* Sets *metrics to what has been counted. Fields that the observer does not know are
 * 0. */
void uvzk__read_counters(const struct uvzk__observer *, uvzk_client_metrics_t *);

/* Bucket 0 counts 0 ms, bucket 1 counts 1 ms, bucket 2 counts 2 and 3 ms, bucket 3 counts
 * 4 to 7 ms, and so on. The last bucket also counts everything above. */
static inline void uvzk__histogram_add(uvzk_histogram_t *histogram, uint64_t ms)
{
    unsigned bucket = 63U - (unsigned)__builtin_clzll(2 * ms + 1);
    const unsigned most = UVZK_HISTOGRAM_BUCKETS - 1;

    histogram->sum_ms += ms;
    histogram->buckets[bucket < most ? bucket : most]++;
}

/* Returns the ms since the previous step, whose time is *since_ms, and sets *since_ms to
 * now. *since_ms 0: the previous step was not observed, and the result is 0. */
static inline uint64_t uvzk__elapsed_since(uint64_t *since_ms, uint64_t now)
{
    uint64_t since = *since_ms == 0 ? now : *since_ms;

    *since_ms = now;
    return now - since;
}

/* An acquire has been refused with this status; a hold has been lost for this reason. */
void uvzk__count_refused(struct uvzk__observer *, int status);
void uvzk__count_lost(struct uvzk__observer *, int reason);
/* An orphan has been deleted; a diverged server is being left. */
void uvzk__count_orphan(struct uvzk__observer *);
void uvzk__count_diverged(struct uvzk__observer *);

/* Call the trace callback: for a step of an acquire or hold, for a request that is being
 * sent, and for a reply. The caller checks that there is a trace_cb. now: the time of the
 * step. took_ms: the time since the previous step. */
void uvzk__trace_hold(struct uvzk__session *, enum uvzk_trace_step step,
                      const uvzk_hold_t *, const char *path, int status, uint64_t now,
                      uint64_t took_ms);
void uvzk__trace_request(struct uvzk__session *, const struct uvzk__rpc *);
void uvzk__trace_reply(struct uvzk__session *, const struct uvzk__rpc *, int status);

/* Calls the trace callback, if there is one, with the connection state. The session has
 * an observer. */
void uvzk__observe_state(struct uvzk__session *, uvzk_client_state_t);

/* ------------------------------------------------------------ for this room alone */

/* The name of a request in a trace: that of ZooKeeper's Java API. Static text. */
const char *uvzk__rpc_name(const struct uvzk__rpc *);

#endif
