/* SPDX-License-Identifier: Apache-2.0 */
#include "request_rate.h"

#define SECOND_MS 1000U

void request_rate_begin(struct request_rate *request_rate, struct sim *sim,
                        struct uvzk__port *port,
                        uint64_t (*submitted)(const struct uvzk__port *))
{
    request_rate->sim = sim;
    request_rate->port = port;
    request_rate->submitted = submitted;
    request_rate->from_ms = sim_now(sim);
    request_rate->before = submitted(port);
}

uint64_t request_rate_now(struct request_rate *request_rate)
{
    uint64_t sent = request_rate->submitted(request_rate->port) - request_rate->before;

    /* The second is over. Its requests are returned this time, and the next call counts
     * anew. */
    if (sim_now(request_rate->sim) >= request_rate->from_ms + SECOND_MS) {
        request_rate->from_ms = sim_now(request_rate->sim);
        request_rate->before += sent;
    }
    return sent;
}
