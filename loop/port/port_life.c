/* Moves the life of a port and checks it (port_life.h). loop_port.c calls it. */
#include "port/port_life.h"

#include "port/loop_port.h"

#define OPEN UVZK__PORT_OPEN
#define ENDING UVZK__PORT_ENDING
#define CLOSING UVZK__PORT_CLOSING
#define FINISHING UVZK__PORT_FINISHING

static const struct uvzk__state table[] = {
    [OPEN] = {"OPEN", UVZK__BIT(ENDING)},
    [ENDING] = {"ENDING", UVZK__BIT(CLOSING)},
    [CLOSING] = {"CLOSING", UVZK__BIT(FINISHING)},
    [FINISHING] = {"FINISHING", 0},
};

const struct uvzk__machine uvzk__port_machine = UVZK__OLD_MACHINE("port", table);

static bool invariant_holds(struct uvzk__port_life *life)
{
    const struct uvzk__loop_port *port =
        UVZK__CONTAINER_OF(life, struct uvzk__loop_port, life);
    switch (life->state) {
    case CLOSING:
        return !port->port_loop.unreferenced && !port->port_loop.turn_wanted &&
               port->port_loop.alarm_at == UINT64_MAX;
    case FINISHING:
        return port->transport->is_empty(port);
    default:
        return true;
    }
}

void uvzk__port_life_move(struct uvzk__port_life *life, enum uvzk__port_state state)
{
    struct uvzk__loop_port *port = UVZK__CONTAINER_OF(life, struct uvzk__loop_port, life);
    unsigned from = life->state;

    life->state = (uint8_t)uvzk__machine_after(&uvzk__port_machine, from, state);
    uvzk__port_check_move(&port->port, &uvzk__port_machine, from, state,
                          invariant_holds(life));
}
