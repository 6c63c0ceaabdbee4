/* Who wants to know what a client does: counters and histograms, and a callback for each
 * step. A client that nobody observes has none (client->observer is NULL), and then a step
 * costs the test of that pointer, nothing else. */
#ifndef UVZK_OBSERVER_H
#define UVZK_OBSERVER_H

#include "engine/port.h"

struct uvzk__client;

struct uvzk__observer {
    uvzk_client_trace_cb trace_cb; /* NULL: none */
    uvzk_client_metrics_t metrics;
};

/* It is observed from now on, if it has not been. UV_ENOMEM. */
int uvzk__observe(struct uvzk__client *, uvzk_client_trace_cb);
void uvzk__observer_free(struct uvzk__client *);

/* A request leaves, and: it has been answered; proof: it was for a proof. */
void uvzk__observe_request(struct uvzk__client *, const struct uvzk__rpc *);
void uvzk__observe_reply(struct uvzk__client *, const struct uvzk__rpc *, int status);
void uvzk__observe_proof(struct uvzk__client *, const struct uvzk__rpc *);

/* What becomes of an acquire, in the order of the steps. since_ms: of the step before,
 * which this one replaces; 0: nobody observed it then. */
void uvzk__observe_hold(struct uvzk__client *, enum uvzk_trace_step step,
                        const uvzk_hold_t *, const char *path, int status,
                        uint64_t *since_ms);

/* The session's state. */
void uvzk__observe_state(struct uvzk__client *, uvzk_client_state_t);

#endif
