/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process that does nothing but produce an event every period_ms. With it a
 * test can run a simulation event by event, and still act at given times. */
#ifndef UVZK_SIM_TICKER_H
#define UVZK_SIM_TICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/port.h"
#include "sim.h"

struct ticker {
    struct sim *sim;
    /* NULL after the close. */
    struct uvzk__port *port;
    struct uvzk__port_user user;
    uint64_t period_ms;
    /* The latest event was the ticker's. */
    bool ticked;
};

/* Adds the ticker to the simulation. In the trace its name is "metronome". */
void ticker_begin(struct ticker *ticker, struct sim *sim, uint64_t period_ms);
/* Performs the next event. Returns whether it was another event than the ticker's. */
bool ticker_step(struct ticker *ticker);
/* Closes the ticker's port and runs the simulation until it is closed. */
void ticker_end(struct ticker *ticker);

#endif
