/* Moves the life of a port and checks it (port_life.h). loop_port.c calls it. */
#include "port/port_life.h"

#include "port/loop_port.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__PORT_, OPEN, ENDING),
    UVZK__STATE(UVZK__PORT_, ENDING, CLOSING),
    UVZK__STATE(UVZK__PORT_, CLOSING, FINISHING),
    UVZK__FINAL(UVZK__PORT_, FINISHING),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__loop_port *port = object;

    switch (port->life.state) {
    case UVZK__PORT_CLOSING:
        return !port->port_loop.unreferenced && !port->port_loop.turn_wanted &&
               port->port_loop.alarm_at == UINT64_MAX;
    case UVZK__PORT_FINISHING:
        return port->transport->is_empty(port);
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__port_machine =
    UVZK__MACHINE("port", table, struct uvzk__loop_port, life.state, invariant_holds);
