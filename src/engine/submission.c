#include "engine/submission.h"

#include <string.h>

#include "engine/barrier.h"
#include "engine/session.h"
#include "engine/turn.h"

#define BACKOFF_MS 100

bool uvzk__may_send(const struct uvzk__session *session)
{
    return uvzk__connection_is_connected(&session->connection) &&
           uvzk__barrier_is_open(&session->barrier) &&
           !session->submissions.backing_off && !session->port_closing;
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
    session->submissions.requests++;
    if (rpc->kind == UVZK__RPC_CHILDREN) {
        session->submissions.listings++;
    }
    rpc->sent_ms = uvzk__now(session);
    if (session->observer != NULL) {
        uvzk__count_request(session->observer, rpc);
        if (session->observer->trace_cb != NULL) {
            uvzk__trace_request(session, rpc);
        }
    }
    session->port->submit(session->port, rpc);
}

/* Codes that the C client also gives without having asked the server, or that
 * the server gives before it has looked at the session, are not among them. */
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

bool uvzk__is_transient(int status)
{
    switch (status) {
    case UVZK_ECONNLOSS:
    case UVZK_ENOTSENT:
    case UVZK_EEXPIRED:
    case UVZK_EAUTH:
    case UVZK_ECLOSED:
    case UVZK_ETHROTTLED:
    case UV_ENOMEM:
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

/* What no server says to such a request, so that nobody here knows what to make of it. */
static bool is_unexpected_status(const struct uvzk__rpc *rpc, int status)
{
    bool reads = rpc->kind == UVZK__RPC_GET || rpc->kind == UVZK__RPC_EXISTS ||
                 rpc->kind == UVZK__RPC_CHILDREN || rpc->kind == UVZK__RPC_SYNC;

    return reads && (status == UVZK_ENODEEXISTS || status == UVZK_ENOTEMPTY ||
                     status == UVZK_EBADVERSION);
}

/* A server with enableEagerACLCheck refuses a write by itself, without a quorum, for
 * which it sees rights missing; but of a multi it looks at no op. */
static bool may_lack_quorum(const struct uvzk__rpc *rpc, int status)
{
    return status == UVZK_ENOAUTH && rpc->kind != UVZK__RPC_MULTI;
}

static void answered(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                     int status, bool write)
{
    if (uvzk__is_answer(status)) {
        session->turn_hooks->answered(session, rpc,
                                      write && !may_lack_quorum(rpc, status));
        if (is_unexpected_status(rpc, status)) {
            uvzk__back_off(session);
        }
    } else if (status == UVZK_EEXPIRED || status == UVZK_EAUTH ||
               status == UVZK_ECLOSED) {
        /* The event that says so comes behind these replies. */
        uvzk__connection_silent(&session->connection);
    } else if (uvzk__connection_is_connected(&session->connection) ||
               (status != UVZK_ECONNLOSS && status != UVZK_ENOTSENT)) {
        uvzk__back_off(session);
    }
}

/* Beside the common way, which is not to have to keep anything for it. */
__attribute__((noinline)) static void observed_answer(struct uvzk__session *session,
                                                      const struct uvzk__rpc *rpc,
                                                      int status, bool write)
{
    uint64_t sent_ms = rpc->sent_ms;

    if (session->observer->trace_cb != NULL) {
        uvzk__trace_reply(session, rpc, status);
    }
    answered(session, rpc, status, write);
    uvzk__histogram_add(&session->observer->metrics.round_trip,
                        uvzk__now(session) - sent_ms);
}

void uvzk__answered(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                    int status, bool write)
{
    if (session->observer != NULL) {
        observed_answer(session, rpc, status, write);
    } else {
        answered(session, rpc, status, write);
    }
}
