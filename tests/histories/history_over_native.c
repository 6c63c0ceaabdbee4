/* SPDX-License-Identifier: Apache-2.0 */
/* The native transport, over streams of bytes in virtual time. */
#include "history_sim.h"
#include "history_transport.h"
#include "tampering.h"
#include "uvzk.h"
#include "virtual_port.h"

static struct uvzk__port *port_new(struct sim *sim, const char *name,
                                   const struct uvzk__port *beside, uint32_t timeout_ms)
{
    struct uvzk__port *port = virtual_port_new(name, beside, timeout_ms);

    (void)sim;
    virtual_port_start(port);
    return port;
}

static bool auth_failed(const struct uvzk__port *port)
{
    (void)port;
    return false;
}

static uint64_t clock_of(const struct uvzk__port *port)
{
    (void)port;
    return uvzk_now();
}

/* Of a million replies so many are tampered with, in a program of its own. */
#ifndef TAMPER
#define TAMPER 0
#endif
#define HISTORIES (TAMPER > 0 ? 200 : 1000)

/* Its processes have the simulation's clock, and no credentials. */
const struct history_transport history_transport = {
    .histories = HISTORIES,
    .without = HISTORY_CLOCKS | HISTORY_AUTH,
    .by_bytes = true,
    .tamper = TAMPER,
    .tampered = tampering_count,
    .begin = virtual_ports_begin,
    .end = virtual_ports_end,
    .port_new = port_new,
    .set_latency = virtual_port_set_latency,
    .auth_failed = auth_failed,
    .session_id = virtual_port_session_id,
    .clock = clock_of,
    .submitted = virtual_port_submitted,
    .watches = virtual_port_watches,
    .removes_watches = virtual_port_removes_watches};
