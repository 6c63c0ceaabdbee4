/* Whether a client repeats what is refused without a pause: how many requests it has
 * submitted in each second since pace_begin, the last one not over yet. */
#ifndef UVZK_SIM_PACE_H
#define UVZK_SIM_PACE_H

#include "sim.h"

struct pace {
    struct sim *sim;
    struct uvzk__port *port;
    uint64_t from_ms, before; /* of the present second, requests before it */
};

/* The port is not closed as long as it is looked at. */
void pace_begin(struct pace *pace, struct sim *sim, struct uvzk__port *port);
/* Requests in the present second; a moment later the next one may have begun. To be
 * called often. */
uint64_t pace_look(struct pace *pace);

#endif
