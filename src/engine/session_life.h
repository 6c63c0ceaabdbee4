/* The life of a session, from its creation until its port is closed. It is not the
 * session's connection (connection.h), which comes and goes.
 *
 *   CREATED --uvzk_client_start--> STARTED --uvzk_client_close--> CLOSING
 *      |                                                          ^  |
 *      `-----------------uvzk_client_close------------------------'  | nothing is left
 *                                                                    | to wait for
 *                                     CLOSED <--closed()-- PORT_CLOSING
 *
 * CLOSING: new acquires are refused; deletes are still sent; a broken client
 * (invariant.h) gets there by itself. PORT_CLOSING: port->close() has been called, so the
 * port must no longer be called. CLOSED: there is no port. The client ends when all its
 * sessions are CLOSED. */
#ifndef UVZK_SESSION_LIFE_H
#define UVZK_SESSION_LIFE_H

#include <stdint.h>

#include "base/machine.h"

enum uvzk__session_state {
    UVZK__SESSION_CREATED,      /* next: STARTED CLOSING */
    UVZK__SESSION_STARTED,      /* next: CLOSING */
    UVZK__SESSION_CLOSING,      /* next: PORT_CLOSING */
    UVZK__SESSION_PORT_CLOSING, /* next: CLOSED */
    UVZK__SESSION_CLOSED        /* final */
};

extern const struct uvzk__machine uvzk__session_machine;

/* Part of struct uvzk__session; zeros: CREATED. client/lifecycle.c moves it. */
struct uvzk__session_life {
    uint8_t state; /* enum uvzk__session_state */
};

#endif
