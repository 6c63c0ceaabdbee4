/* SPDX-License-Identifier: Apache-2.0 */
/* Detects a client that repeats refused requests without a pause: counts how many
 * requests a port submits in each second since request_rate_begin. */
#ifndef UVZK_SIM_REQUEST_RATE_H
#define UVZK_SIM_REQUEST_RATE_H

#include "sim.h"

struct request_rate {
    struct sim *sim;
    struct uvzk__port *port;
    uint64_t (*submitted)(const struct uvzk__port *);
    uint64_t from_ms, before; /* when the current second began; requests before it */
};

/* Begins the first second. `submitted` says how many requests the port has submitted, e.g.
 * sim_submitted. The port must not be closed while its requests are counted. */
void request_rate_begin(struct request_rate *request_rate, struct sim *sim,
                        struct uvzk__port *port,
                        uint64_t (*submitted)(const struct uvzk__port *));
/* Returns the requests of the current second so far. Must be called often: a second ends
 * at the first call that is 1000 ms or more after its beginning. */
uint64_t request_rate_now(struct request_rate *request_rate);

#endif
