/* Whether a client repeats what is refused without a pause: how many requests it has
 * submitted in each second since request_rate_begin, the last one not over yet. */
#ifndef UVZK_SIM_REQUEST_RATE_H
#define UVZK_SIM_REQUEST_RATE_H

#include "sim.h"

struct request_rate {
    struct sim *sim;
    struct uvzk__port *port;
    uint64_t from_ms, before; /* of the present second, requests before it */
};

/* The port is not closed as long as it is looked at. */
void request_rate_begin(struct request_rate *request_rate, struct sim *sim,
                        struct uvzk__port *port);
/* Requests in the present second; a moment later the next one may have begun. To be
 * called often. */
uint64_t request_rate_now(struct request_rate *request_rate);

#endif
