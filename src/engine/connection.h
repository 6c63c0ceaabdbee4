/* What the user is told of the connection: Curator's ConnectionState, derived
 * from the port's session events and the clock. A value: no pointers, no I/O.
 *
 *            CONNECTED event
 *   LATENT ------------------> CONNECTED ----------+
 *      |                                           | SUSPENDED event
 *      |                       RECONNECTED ------->+-----> SUSPENDED
 *      |                         ^      ^                   |    |
 *      |                         |      +-- CONNECTED event +    | T passes, or the
 *      |                         |          same session         | session is gone
 *      +-- EXPIRED, AUTH_FAILED  +------- CONNECTED event ---- LOST
 *          -> LOST
 *
 * A CONNECTED event that brings another session than the one before passes
 * through LOST. CLOSED is final, from anywhere. The same state is never told
 * twice in a row. LOST by the clock is a guess (Curator makes the same one): if
 * the session turns out alive the waiters of the queue still have their places. */
#ifndef UVZK_CONNECTION_H
#define UVZK_CONNECTION_H

#include "base/machine.h"
#include "engine/port.h"

extern const struct uvzk__machine uvzk__connection_machine;

struct uvzk__connection {
    uvzk_client_state_t state;
    bool connected; /* rpcs may be submitted */
    bool ever_connected;
    int64_t session_id;    /* 0: none */
    uint32_t timeout_ms;   /* negotiated; 0 before the first connection */
    uint64_t suspended_ms; /* when the connection was lost */
};

/* Whether rpcs may be submitted. */
static inline bool
uvzk__connection_is_connected(const struct uvzk__connection *connection)
{
    return connection->connected;
}

static inline uvzk_client_state_t
uvzk__connection_state(const struct uvzk__connection *connection)
{
    return connection->state;
}

static inline bool uvzk__state_is_connected(uvzk_client_state_t state)
{
    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

/* 0: none. */
static inline int64_t
uvzk__connection_session_id(const struct uvzk__connection *connection)
{
    return connection->session_id;
}

/* As negotiated; 0 before the first connection. */
static inline uint32_t
uvzk__connection_session_timeout(const struct uvzk__connection *connection)
{
    return connection->timeout_ms;
}

/* When the connection was last lost; 0: never. */
static inline uint64_t uvzk__connection_lost_ms(const struct uvzk__connection *connection)
{
    return connection->suspended_ms;
}

/* At most two states to tell, in order. */
struct uvzk__connection_news {
    uvzk_client_state_t states[2];
    int count;
    bool fresh;    /* CONNECTED to a session not known before */
    bool replaced; /* and the one before was never said to have ended */
};

void uvzk__connection_init(struct uvzk__connection *);

struct uvzk__connection_news uvzk__connection_step(struct uvzk__connection *,
                                                   const struct uvzk__session_event *,
                                                   uint64_t now_ms);

/* When the clock alone will make it LOST; UINT64_MAX when it will not. */
uint64_t uvzk__connection_lost_at(const struct uvzk__connection *);

/* When it is given up: a server that has lost its data, say, refuses the session
 * for good without ending it, and only a new one helps. Long after LOST, so that
 * an outage of the servers costs nobody a place while there is hope; UINT64_MAX
 * when connected. */
uint64_t uvzk__connection_abandon_at(const struct uvzk__connection *);

/* The session is known to be over before its event has said so: nothing is to be sent. */
void uvzk__connection_silent(struct uvzk__connection *);

/* The moment of LOST has come. */
struct uvzk__connection_news uvzk__connection_lapse(struct uvzk__connection *,
                                                    uint64_t now_ms);

struct uvzk__connection_news uvzk__connection_close(struct uvzk__connection *);

#endif
