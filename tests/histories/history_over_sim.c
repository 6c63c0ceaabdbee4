/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation's own ports. */
#include "history_transport.h"

static struct uvzk__port *port_new(struct sim *sim, const char *name,
                                   const struct uvzk__port *beside, uint32_t timeout_ms)
{
    struct uvzk__port *port =
        beside == NULL ? sim_port_new(sim, name) : sim_port_beside(beside);

    sim_set_timeout(port, timeout_ms);
    return port;
}

/* Unless the history says that watches stay. */
static bool removes_watches(const struct uvzk__port *port)
{
    (void)port;
    return true;
}

const struct history_transport history_transport = {.histories = 5000,
                                                    .port_new = port_new,
                                                    .set_latency = sim_set_latency,
                                                    .auth_failed = sim_auth_failed,
                                                    .session_id = sim_session_id,
                                                    .clock = sim_clock,
                                                    .submitted = sim_submitted,
                                                    .watches = sim_armed,
                                                    .removes_watches = removes_watches};
