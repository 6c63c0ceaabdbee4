#include "engine/barrier.h"

#include <assert.h>

#include "engine/client.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define CLOSED UVZK__BARRIER_CLOSED
#define ASKING UVZK__BARRIER_ASKING
#define OPEN UVZK__BARRIER_OPEN

static const struct uvzk__state table[] = {
    [CLOSED] = {"CLOSED", UVZK__BIT(ASKING)},
    [ASKING] = {"ASKING", UVZK__BIT(OPEN) | UVZK__BIT(CLOSED)},
    [OPEN] = {"OPEN", UVZK__BIT(CLOSED)},
};

const struct uvzk__machine uvzk__barrier_machine = UVZK__MACHINE("barrier", table);

static bool sound(const struct uvzk__client *client)
{
    return client->barrier.state != OPEN ||
           client->barrier.stamp > client->connected_stamp;
}

/* The only writer of state. */
static void move(struct uvzk__client *client, enum uvzk__barrier_state state)
{
    client->barrier.state =
        (uint8_t)uvzk__machine_move(&uvzk__barrier_machine, client->barrier.state, state);
    assert(sound(client));
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(rpc, struct uvzk__client, barrier.rpc);
    struct uvzk__barrier *barrier = &client->barrier;
    /* Of an earlier connection's nobody knows who answered it. */
    bool current = barrier->stamp > client->connected_stamp;
    bool opens = reply->status == 0 && current;

    uvzk__answered(client, rpc, reply->status, true);
    move(client, opens ? OPEN : CLOSED);
    if (opens) {
        client->above->reached(client);
    } else if (!current) {
        uvzk__barrier_ask(client);
    } else if (uvzk__session_is_connected(&client->session) &&
               reply->status != UVZK_ECONNLOSS && reply->status != UVZK_ENOTSENT) {
        uvzk__hold_back(client);
    }
}

void uvzk__barrier_ask(struct uvzk__client *client)
{
    struct uvzk__barrier *barrier = &client->barrier;

    if (barrier->state != CLOSED || !uvzk__session_is_connected(&client->session) ||
        uvzk__is_held_back(&client->submissions) || client->port_closing) {
        return;
    }
    move(client, ASKING);
    uvzk__rpc_prepare(&barrier->rpc, UVZK__RPC_MULTI, NULL, replied);
    uvzk__submit(client, &barrier->rpc);
    barrier->stamp = uvzk__stamp(&client->submissions);
}

void uvzk__barrier_close(struct uvzk__client *client)
{
    if (client->barrier.state == OPEN) {
        move(client, CLOSED);
    }
    uvzk__barrier_ask(client);
}
