/* The life of a port.
 *
 *   OPEN --close_soon()--> ENDING --close()--> CLOSING --nothing is left--> FINISHING
 *
 * ENDING: the port keeps its loop alive, and learns at once if the program closes its
 * loop handles. CLOSING: no callback but the replies with UVZK_ECLOSED; what the
 * transport has may be left. FINISHING: libuv closes the loop handles, then the
 * port is freed. */
#ifndef UVZK_PORT_LIFE_H
#define UVZK_PORT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

enum uvzk__port_state {
    UVZK__PORT_OPEN,     /* next: ENDING */
    UVZK__PORT_ENDING,   /* next: CLOSING */
    UVZK__PORT_CLOSING,  /* next: FINISHING */
    UVZK__PORT_FINISHING /* final */
};

extern const struct uvzk__machine uvzk__port_machine;

/* Part of struct uvzk__loop_port; zeros: OPEN. */
struct uvzk__port_life {
    uint8_t state; /* enum uvzk__port_state */
};

/* These return true if the port is in this state or in a later one. */
static inline bool uvzk__port_is_ending(const struct uvzk__port_life *life)
{
    return life->state >= UVZK__PORT_ENDING;
}
static inline bool uvzk__port_is_closing(const struct uvzk__port_life *life)
{
    return life->state >= UVZK__PORT_CLOSING;
}
static inline bool uvzk__port_is_finishing(const struct uvzk__port_life *life)
{
    return life->state == UVZK__PORT_FINISHING;
}

#endif
