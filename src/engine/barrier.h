/* The first request on each connection: an empty multi, which changes nothing, but which
 * a quorum has to agree to. Nothing of ours is sent before it has been answered.
 *
 *   CLOSED --- CONNECTED ---> ASKING --- answered ---> OPEN
 *     ^                         |  ^                     |
 *     |                 refused |  | a pause is over     | CONNECTED once more
 *     |                         v  |                     v
 *     +---- SUSPENDED -------- CLOSED                  ASKING
 *
 * A server may lag behind: the one that a connection lands on is only known not to be
 * behind the last *reply* of this session. What an event told is no reply, nor is what
 * another server showed us a moment ago known to a leader that has been replaced and
 * does not know it; both would answer a listing, and even a sync, all by themselves. The
 * server that answers the barrier has carried out all that was committed before it, and
 * what it shows from then on is newer still. Hence the rule on which every decision
 * rests: a reading shows at least what was committed before the last reply on its
 * connection, and there is a barrier's reply before every reading. */
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

/* Nobody else touches it. */
struct uvzk__barrier {
    struct uvzk__rpc rpc;
    uint64_t stamp; /* of its submission */
    uint8_t state;  /* enum uvzk__barrier_state */
};

/* A connection has come about: asks. */
void uvzk__barrier_close(struct uvzk__session *);

/* Asks if it is closed and nothing is under way: after a refusal, when the pause that
 * the server wanted is over. */
void uvzk__barrier_ask(struct uvzk__session *);

/* Whether it has been answered on this connection. */
static inline bool uvzk__barrier_is_open(const struct uvzk__barrier *barrier)
{
    return barrier->state == UVZK__BARRIER_OPEN;
}

#endif
