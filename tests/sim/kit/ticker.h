/* A process that does nothing but have an event at every so many ms. With it a test can
 * perform a simulation event by event, and still act at given moments. */
#ifndef UVZK_SIM_TICKER_H
#define UVZK_SIM_TICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/port.h"
#include "sim.h"

struct ticker {
    struct sim *sim;
    struct uvzk__port *port;
    struct uvzk__port_user user;
    uint64_t period_ms;
    bool ticked;
};

void ticker_begin(struct ticker *ticker, struct sim *sim, uint64_t period_ms);
/* Whether the next event, which is performed, was none of the ticker's. */
bool ticker_step(struct ticker *ticker);
void ticker_end(struct ticker *ticker);

#endif
