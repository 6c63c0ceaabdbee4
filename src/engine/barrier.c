/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the barrier and evaluates its reply (barrier.h). lifecycle.c calls
 * uvzk__barrier_close at each CONNECTED; submission.c calls uvzk__barrier_ask at the end
 * of each backoff. When the barrier opens, the turn hook `connected` lets the other rooms
 * send. */
#include "engine/barrier.h"

#include "engine/session.h"
#include "engine/submission.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__BARRIER_, CLOSED, ASKING),
    UVZK__STATE(UVZK__BARRIER_, ASKING, OPEN, CLOSED),
    UVZK__STATE(UVZK__BARRIER_, OPEN, CLOSED),
};

/* OPEN: the barrier that was answered was sent on the present connection. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__session *session = object;

    return session->barrier.state != UVZK__BARRIER_OPEN ||
           session->barrier.stamp > session->connected_stamp;
}

const struct uvzk__machine uvzk__barrier_machine =
    UVZK__MACHINE("barrier", table, struct uvzk__session, barrier.state, invariant_holds);

static void barrier_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(rpc, struct uvzk__session, barrier.rpc);
    struct uvzk__barrier *barrier = &session->barrier;
    /* A barrier that was sent on an earlier connection says nothing about the present
     * server, because another server may have answered it. */
    bool current = barrier->stamp > session->connected_stamp;
    bool opens = reply->status == 0 && current;

    uvzk__answered(session, rpc, reply->status, true);
    uvzk__move(session, &uvzk__barrier_machine, session,
               opens ? UVZK__BARRIER_OPEN : UVZK__BARRIER_CLOSED);
    if (opens) {
        session->turn_hooks->connected(session);
    } else if (!current) {
        uvzk__barrier_ask(session);
    } else if (uvzk__is_connected(session) &&
               !uvzk__says_connection_lost(reply->status)) {
        /* The server has refused the barrier. The end of the backoff sends it again. If
         * the connection is lost instead, the next CONNECTED sends it. */
        uvzk__back_off(session);
    }
}

void uvzk__barrier_ask(struct uvzk__session *session)
{
    struct uvzk__barrier *barrier = &session->barrier;

    if (barrier->state != UVZK__BARRIER_CLOSED || !uvzk__is_connected(session) ||
        session->submissions.backing_off || uvzk__session_port_is_closing(session)) {
        return;
    }
    uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_ASKING);
    uvzk__rpc_prepare(&barrier->rpc, UVZK__RPC_MULTI, NULL, barrier_replied);
    uvzk__submit(session, &barrier->rpc);
    barrier->stamp = session->submissions.stamp;
}

/* A barrier that is ASKING crosses the reconnection: its reply finds that it is not of
 * this connection, and sends the barrier again. */
void uvzk__barrier_close(struct uvzk__session *session)
{
    if (session->barrier.state == UVZK__BARRIER_OPEN) {
        uvzk__move(session, &uvzk__barrier_machine, session, UVZK__BARRIER_CLOSED);
    }
    uvzk__barrier_ask(session);
}
