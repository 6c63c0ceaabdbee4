/* SPDX-License-Identifier: Apache-2.0 */
#include "history_ports.h"

#include <stdio.h>

#include "history_transport.h"

uint32_t history_ports_open(struct uvzk__port *ports[HISTORY_PORTS_MAX], struct sim *sim,
                            int number, unsigned kinds, uint32_t timeout_ms)
{
    bool several = (kinds & HISTORY_SESSIONS) != 0 && number % 2 == 0;
    uint32_t count = several ? 2 + (uint32_t)sim_random(sim, HISTORY_PORTS_MAX - 1) : 1;
    char name[8];

    (void)snprintf(name, sizeof(name), "c%d", number);
    for (uint32_t i = 0; i < count; i++) {
        ports[i] =
            history_transport.port_new(sim, name, i == 0 ? NULL : ports[0], timeout_ms);
    }
    return count;
}

bool history_ports_auth_failed(struct uvzk__port *const *ports, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (history_transport.auth_failed(ports[i])) {
            return true;
        }
    }
    return false;
}
