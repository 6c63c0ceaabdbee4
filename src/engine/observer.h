/* Who wants to know what a client does: counters and histograms, and a callback for each
 * step. A client that nobody observes has none (session->observer is NULL), and then a step
 * costs the test of that pointer, nothing else. Counting is here in full, where it is
 * part of the caller: calls would cost more than what they do (tests/cost). */
#ifndef UVZK_OBSERVER_H
#define UVZK_OBSERVER_H

#include "engine/port.h"

struct uvzk__session;

struct uvzk__observer {
    uvzk_client_trace_cb trace_cb;          /* NULL: none */
    uint64_t requests[UVZK__RPC_MULTI + 1]; /* by their kind */
    uvzk_client_metrics_t metrics; /* without these, and without what can be added up */
};

/* It is observed from now on, if it has not been, in all its sessions. UV_ENOMEM. */
int uvzk__observe(struct uvzk__session *, uvzk_client_trace_cb);
void uvzk__observer_free(struct uvzk__session *);

/* What has been counted; what it does not know is 0. */
void uvzk__read_counters(const struct uvzk__observer *, uvzk_client_metrics_t *);

/* The bucket of 0 is the first, that of 1 the second, of 2 and 3 the third, and so on. */
static inline void uvzk__histogram_add(uvzk_histogram_t *histogram, uint64_t ms)
{
    unsigned bucket = 63U - (unsigned)__builtin_clzll(2 * ms + 1);
    const unsigned most = UVZK_HISTOGRAM_BUCKETS - 1;

    histogram->sum_ms += ms;
    histogram->buckets[bucket < most ? bucket : most]++;
}

/* Of the step before, which this one replaces, until now; 0 if nobody observed it. */
static inline uint64_t uvzk__elapsed_since(uint64_t *since_ms, uint64_t now)
{
    uint64_t since = *since_ms == 0 ? now : *since_ms;

    *since_ms = now;
    return now - since;
}

void uvzk__count_refused(struct uvzk__observer *, int status);
void uvzk__count_lost(struct uvzk__observer *, int reason);
/* An orphan has been deleted; a server has diverged, and is left. */
void uvzk__count_orphan(struct uvzk__observer *);
void uvzk__count_diverged(struct uvzk__observer *);

static inline void uvzk__count_request(struct uvzk__observer *observer,
                                       const struct uvzk__rpc *rpc)
{
    observer->requests[rpc->kind]++;
}

/* What becomes of an acquire, in the order of the steps; a request leaves, or has been
 * answered; the session's state. Only if there is a trace_cb. */
void uvzk__trace_hold(struct uvzk__session *, enum uvzk_trace_step step,
                      const uvzk_hold_t *, const char *path, int status, uint64_t now,
                      uint64_t took_ms);
void uvzk__trace_request(struct uvzk__session *, const struct uvzk__rpc *);
void uvzk__trace_reply(struct uvzk__session *, const struct uvzk__rpc *, int status);

/* If there is one. */
void uvzk__observe_state(struct uvzk__session *, uvzk_client_state_t);

#endif
