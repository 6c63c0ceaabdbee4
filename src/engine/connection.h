/* SPDX-License-Identifier: Apache-2.0 */
/* The connection state that the user's state callback reports: Curator's ConnectionState.
 * It is derived from the port's session events and the clock. A value: it has no pointers
 * and does no I/O. The caller (client/lifecycle.c) passes in the events and reports the
 * states.
 *
 *            CONNECTED event
 *   LATENT ------------------> CONNECTED ----------+
 *      |                                           | SUSPENDED event
 *      |                       RECONNECTED ------->+-----> SUSPENDED
 *      |                         ^      ^                   |    |
 *      |                         |      +-- CONNECTED event +    | T passes, or the
 *      |                         |          same session         | the session ended
 *      +-- EXPIRED, AUTH_FAILED  +------- CONNECTED event ---- LOST
 *          -> LOST
 *
 * T is the negotiated session timeout. A CONNECTED event with another session than the
 * one before passes through LOST. The first CONNECTED event leads to CONNECTED, also from
 * LOST; every later one leads to RECONNECTED, unless the state is CONNECTED. CLOSED is
 * final and can follow any state. The machine never reports the same state twice in a
 * row.
 *
 * LOST by the clock is a guess, which Curator makes too: the session may still live on
 * the servers. If it does, waiting contenders keep their places. */
#ifndef UVZK_CONNECTION_H
#define UVZK_CONNECTION_H

#include "base/machine.h"
#include "engine/port.h"

extern const struct uvzk__machine uvzk__connection_machine;

struct uvzk__connection {
    uint8_t state;         /* uvzk_client_state_t */
    bool connected;        /* requests may be submitted */
    bool ever_connected;   /* there has been a CONNECTED event, in any session */
    int64_t session_id;    /* 0: there is no session, or its end is known */
    uint32_t timeout_ms;   /* negotiated at the last connect; 0: never connected */
    uint64_t suspended_ms; /* when the connection was last lost; 0: never */
};

static inline uvzk_client_state_t
uvzk__connection_state(const struct uvzk__connection *connection)
{
    return (uvzk_client_state_t)connection->state;
}

static inline bool uvzk__state_is_connected(uvzk_client_state_t state)
{
    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

/* What a step has changed: at most two states, to be reported in this order. */
struct uvzk__connection_news {
    uvzk_client_state_t states[2];
    int count;
    bool fresh;    /* CONNECTED, to a new session */
    bool replaced; /* fresh, and no event has reported the end of the session before */
    bool illegal;  /* a move was illegal (engine/invariant.h), from the state below */
    uvzk_client_state_t illegal_from;
};

void uvzk__connection_init(struct uvzk__connection *);

/* Applies a session event. Returns the states to report. */
struct uvzk__connection_news uvzk__connection_step(struct uvzk__connection *,
                                                   const struct uvzk__session_event *,
                                                   uint64_t now_ms);

/* Returns the moment at which SUSPENDED becomes LOST by the clock, which is one session
 * timeout after the loss. UINT64_MAX: the state is not SUSPENDED. */
uint64_t uvzk__connection_lost_at(const struct uvzk__connection *);

/* Returns the moment at which the session is given up: three session timeouts after the
 * loss of the connection. A server that has lost its data, for example, refuses the
 * session again and again without ending it, and only a new session helps. The moment is
 * long after LOST, so that waiting contenders keep their places in an outage that the
 * session may survive. UINT64_MAX: connected, or there is no session. */
uint64_t uvzk__connection_abandon_at(const struct uvzk__connection *);

/* A reply has shown that the session is over, and the event that reports its end comes
 * later. Requests may no longer be submitted. */
void uvzk__connection_silent(struct uvzk__connection *);

/* Changes the state to LOST if the moment of uvzk__connection_lost_at has come. */
struct uvzk__connection_news uvzk__connection_lapse(struct uvzk__connection *,
                                                    uint64_t now_ms);

/* Changes the state to CLOSED. Later calls report nothing. */
struct uvzk__connection_news uvzk__connection_close(struct uvzk__connection *);

#endif
