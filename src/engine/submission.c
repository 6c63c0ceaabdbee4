#include "engine/submission.h"

#include <string.h>

#include "engine/barrier.h"
#include "engine/client.h"
#include "engine/turn.h"

#define HOLD_BACK_MS 100

bool uvzk__may_send(const struct uvzk__client *client)
{
    return uvzk__session_is_connected(&client->session) &&
           uvzk__barrier_is_open(&client->barrier) && !client->submissions.holding_back &&
           !client->port_closing;
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

void uvzk__submit(struct uvzk__client *client, struct uvzk__rpc *rpc)
{
    client->submissions.stamp++;
    client->submissions.requests++;
    if (rpc->kind == UVZK__RPC_CHILDREN) {
        client->submissions.listings++;
    }
    rpc->sent_ms = uvzk__now(client);
    if (client->observer != NULL) {
        uvzk__count_request(client->observer, rpc);
        if (client->observer->trace_cb != NULL) {
            uvzk__trace_request(client, rpc);
        }
    }
    client->port->submit(client->port, rpc);
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

bool uvzk__is_passing(int status)
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

static void hold_back_over(struct uvzk__timed *timed)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(timed, struct uvzk__client, submissions.hold_back);

    client->submissions.holding_back = false;
    uvzk__barrier_ask(client);
    client->above->resume(client);
    uvzk__wake(client);
}

void uvzk__hold_back(struct uvzk__client *client)
{
    if (!client->submissions.holding_back) {
        client->submissions.holding_back = true;
        client->submissions.hold_back.due = hold_back_over;
        uvzk__timed_set(client, &client->submissions.hold_back,
                        uvzk__now(client) + HOLD_BACK_MS);
    }
}

/* What no server says to such a request, so that nobody here knows what to make of it. */
static bool is_out_of_place(const struct uvzk__rpc *rpc, int status)
{
    bool reads = rpc->kind == UVZK__RPC_GET || rpc->kind == UVZK__RPC_EXISTS ||
                 rpc->kind == UVZK__RPC_CHILDREN || rpc->kind == UVZK__RPC_SYNC;

    return reads && (status == UVZK_ENODEEXISTS || status == UVZK_ENOTEMPTY ||
                     status == UVZK_EBADVERSION);
}

/* A server with enableEagerACLCheck refuses a write by itself, without a quorum, for which it
 * sees rights missing; but of a multi it looks at no op. */
static bool may_be_its_own_word(const struct uvzk__rpc *rpc, int status)
{
    return status == UVZK_ENOAUTH && rpc->kind != UVZK__RPC_MULTI;
}

static void answered(struct uvzk__client *client, const struct uvzk__rpc *rpc, int status,
                     bool write)
{
    if (uvzk__is_answer(status)) {
        client->above->answered(client, rpc, write && !may_be_its_own_word(rpc, status));
        if (is_out_of_place(rpc, status)) {
            uvzk__hold_back(client);
        }
    } else if (status == UVZK_EEXPIRED || status == UVZK_EAUTH ||
               status == UVZK_ECLOSED) {
        /* The event that says so comes behind these replies. */
        uvzk__session_silent(&client->session);
    } else if (uvzk__session_is_connected(&client->session) ||
               (status != UVZK_ECONNLOSS && status != UVZK_ENOTSENT)) {
        uvzk__hold_back(client);
    }
}

/* Beside the common way, which is not to have to keep anything for it. */
__attribute__((noinline)) static void observed_answer(struct uvzk__client *client,
                                                      const struct uvzk__rpc *rpc,
                                                      int status, bool write)
{
    uint64_t sent_ms = rpc->sent_ms;

    if (client->observer->trace_cb != NULL) {
        uvzk__trace_reply(client, rpc, status);
    }
    answered(client, rpc, status, write);
    uvzk__took(&client->observer->metrics.round_trip, uvzk__now(client) - sent_ms);
}

void uvzk__answered(struct uvzk__client *client, const struct uvzk__rpc *rpc, int status,
                    bool write)
{
    if (client->observer != NULL) {
        observed_answer(client, rpc, status, write);
    } else {
        answered(client, rpc, status, write);
    }
}
