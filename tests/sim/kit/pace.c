#include "pace.h"

#define SECOND_MS 1000U

void pace_begin(struct pace *pace, struct sim *sim, struct uvzk__port *port)
{
    pace->sim = sim;
    pace->port = port;
    pace->from_ms = sim_now(sim);
    pace->before = sim_submitted(port);
}

uint64_t pace_look(struct pace *pace)
{
    uint64_t sent = sim_submitted(pace->port) - pace->before;

    if (sim_now(pace->sim) >= pace->from_ms + SECOND_MS) {
        pace->from_ms = sim_now(pace->sim);
        pace->before += sent;
    }
    return sent;
}
