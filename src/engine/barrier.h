/* SPDX-License-Identifier: Apache-2.0 */
/* The barrier is the first request on each connection: an empty multi. It changes
 * nothing, but a quorum must accept it. The session sends no other request on a
 * connection before the barrier of that connection has been answered with status 0.
 *
 *          CONNECTED, or the backoff is over            answered with 0
 *   CLOSED ----------------------------------> ASKING ------------------> OPEN
 *     ^ ^                                        |                          |
 *     | `--- refused, or connection lost --------'                          |
 *     `----------- the next CONNECTED, which leads on to ASKING ------------'
 *
 * Why: a server may lag behind the quorum. A server that accepts a session is known to
 * have applied only what the session's last *reply* showed. A watch event is not a reply,
 * so the server may not have applied a change that an event has reported. A leader that
 * has been replaced, and does not know it yet, may not know a change that another server
 * showed a moment ago. Both would answer a getChildren, and even a sync, without asking a
 * quorum.
 *
 * The server that answers the barrier has applied everything that was committed before
 * the barrier, and what it shows later is at least as new. Every decision rests on this
 * rule: a reading shows at least what was committed before the last reply on its
 * connection, and the reply to the barrier precedes every reading on that connection. */
#ifndef UVZK_BARRIER_H
#define UVZK_BARRIER_H

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__session;

enum uvzk__barrier_state {
    UVZK__BARRIER_CLOSED,
    UVZK__BARRIER_ASKING,
    UVZK__BARRIER_OPEN
};

extern const struct uvzk__machine uvzk__barrier_machine;

/* One for each session. Only barrier.c reads or writes the fields. */
struct uvzk__barrier {
    struct uvzk__rpc rpc;
    uint64_t stamp; /* of the latest submission (submission.h) */
    uint8_t state;  /* enum uvzk__barrier_state */
};

/* A new connection has been established: the barrier of the connection before no longer
 * counts, and the barrier for this connection is sent. */
void uvzk__barrier_close(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Sends the barrier if it is CLOSED, there is a connection and the session is not backing
 * off. Also called at the end of the backoff that follows a refused barrier. */
void uvzk__barrier_ask(struct uvzk__session *);

#endif
