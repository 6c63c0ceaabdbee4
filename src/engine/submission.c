/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests through the port, records what replies prove, and pauses the session
 * (submission.h). All rooms above send through uvzk__submit. */
#include "engine/submission.h"

#include <string.h>

#include "engine/barrier.h"
#include "engine/probe_points.h"
#include "engine/session.h"
#include "engine/size_limit.h"
#include "engine/turn.h"

#define BACKOFF_MS 100

/* [P1] On a new connection nothing is sent before a quorum has accepted the barrier: a
 * server that lags would show an old state. */
bool uvzk__may_send(const struct uvzk__session *session)
{
    return uvzk__is_connected(session) && session->barrier.state == UVZK__BARRIER_OPEN &&
           !session->submissions.backing_off && !uvzk__session_port_is_closing(session) &&
           !uvzk__is_broken(session);
}

void uvzk__rpc_prepare(struct uvzk__rpc *rpc, enum uvzk__rpc_kind kind, const char *path,
                       uvzk__reply_cb reply_cb)
{
    memset(rpc, 0, sizeof(*rpc));
    rpc->kind = (uint8_t)kind;
    rpc->path = path;
    rpc->version = -1;
    rpc->reply_cb = reply_cb;
}

void uvzk__submit(struct uvzk__session *session, struct uvzk__rpc *rpc)
{
    session->submissions.stamp++;
    session->submissions.requests[rpc->kind]++;
    rpc->sent_ms = uvzk__now(session);
    if (session->observer != NULL && session->observer->trace_cb != NULL) {
        uvzk__trace_request(session, rpc);
    }
    if (uvzk__probed()) {
        uvzk__probe_request(session, rpc);
    }
    uvzk__size_limit_submit(session, rpc);
}

/* The list has no code that the C client also returns without asking the server, and none
 * that a server returns before it has checked the session. Such a reply does not prove
 * that the session lives. */
bool uvzk__is_answer(int status)
{
    switch (status) {
    case 0:
    case UVZK_ENONODE:
    case UVZK_ENODEEXISTS:
    case UVZK_ENOTEMPTY:
    case UVZK_EBADVERSION:
    case UVZK_ENOAUTH:
        return true;
    default:
        return false;
    }
}

static void backoff_over(struct uvzk__timer *timer)
{
    struct uvzk__session *session =
        UVZK__CONTAINER_OF(timer, struct uvzk__session, submissions.backoff_timer);

    session->submissions.backing_off = false;
    uvzk__barrier_ask(session);
    session->turn_hooks->resume(session);
    uvzk__wake(session);
}

void uvzk__back_off(struct uvzk__session *session)
{
    if (!session->submissions.backing_off) {
        session->submissions.backing_off = true;
        session->submissions.backoff_timer.due = backoff_over;
        uvzk__timer_set(session, &session->submissions.backoff_timer,
                        uvzk__now(session) + BACKOFF_MS);
    }
}

/* A status that no server returns for such a request. The code that sent the request does
 * not handle it and may send the request again at once, so the caller backs off. */
static bool is_unexpected_status(const struct uvzk__rpc *rpc, int status)
{
    bool reads = rpc->kind == UVZK__RPC_GET || rpc->kind == UVZK__RPC_EXISTS ||
                 rpc->kind == UVZK__RPC_CHILDREN || rpc->kind == UVZK__RPC_SYNC;

    return reads && (status == UVZK_ENODEEXISTS || status == UVZK_ENOTEMPTY ||
                     status == UVZK_EBADVERSION);
}

/* Returns true if a server may have answered a write without a quorum. A server with
 * enableEagerACLCheck refuses a write by itself if it sees that rights are missing. It
 * does not check the ops of a multi. */
static bool may_lack_quorum(const struct uvzk__rpc *rpc, int status)
{
    return status == UVZK_ENOAUTH && rpc->kind != UVZK__RPC_MULTI;
}

/* Returns true if the port itself refuses such a request (port.h, 15, 16 and 17). The
 * caller manages without it, and does not send it again. */
static bool is_done_without(const struct uvzk__rpc *rpc, int status)
{
    return rpc->refused != 0 ||
           (status == UVZK_EUNIMPLEMENTED &&
            (rpc->kind == UVZK__RPC_ADD_WATCH ||
             (rpc->kind == UVZK__RPC_CREATE && rpc->mode == UVZK__CONTAINER)));
}

static void submission_answered(struct uvzk__session *session,
                                const struct uvzk__rpc *rpc, int status, bool write)
{
    uvzk__size_limit_replied(session, rpc, status);
    if (uvzk__is_answer(status)) {
        session->turn_hooks->answered(session, rpc,
                                      write && !may_lack_quorum(rpc, status));
        if (is_unexpected_status(rpc, status)) {
            uvzk__back_off(session);
        }
    } else if (uvzk__says_session_over(status)) {
        /* Nothing more is submitted until the event that reports it. */
        uvzk__connection_silent(&session->connection);
    } else if (!is_done_without(rpc, status) &&
               (uvzk__is_connected(session) || !uvzk__says_connection_lost(status))) {
        /* After a connection loss no backoff is needed: nothing is sent before the next
         * CONNECTED. All other failures would repeat at once. */
        uvzk__back_off(session);
    }
}

/* For a client with an observer, or while a tracer watches. Not inlined, so that the common
 * case, neither of them, need not save registers for it. sent_ms is read first, because the
 * rpc may be gone after submission_answered(). */
__attribute__((noinline)) static void observed_answer(struct uvzk__session *session,
                                                      const struct uvzk__rpc *rpc,
                                                      int status, bool write)
{
    uint64_t sent_ms = rpc->sent_ms;

    if (session->observer != NULL && session->observer->trace_cb != NULL) {
        uvzk__trace_reply(session, rpc, status);
    }
    if (uvzk__probed()) {
        uvzk__probe_reply(session, rpc, status);
    }
    submission_answered(session, rpc, status, write);
    if (session->observer != NULL) {
        uvzk__histogram_add(&session->observer->metrics.round_trip,
                            uvzk__now(session) - sent_ms);
    }
}

void uvzk__answered(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                    int status, bool write)
{
    if (session->observer != NULL || uvzk__probed()) {
        observed_answer(session, rpc, status, write);
    } else {
        submission_answered(session, rpc, status, write);
    }
}
