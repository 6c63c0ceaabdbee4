#include "engine/barrier.h"

#include "engine/client.h"
#include "engine/submission.h"
#include "engine/turn.h"

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(rpc, struct uvzk__client, barrier.rpc);
    struct uvzk__barrier *barrier = &client->barrier;
    /* Of an earlier connection's nobody knows who answered it. */
    bool current = barrier->stamp > client->connected_stamp;

    barrier->under_way = false;
    uvzk__answered(client, rpc, reply->status, true);
    if (reply->status == 0 && current) {
        barrier->open = true;
        client->above->reached(client);
    } else if (!current) {
        uvzk__barrier_ask(client);
    } else if (client->session.connected && reply->status != UVZK_ECONNLOSS &&
               reply->status != UVZK_ENOTSENT) {
        uvzk__hold_back(client);
    }
}

void uvzk__barrier_ask(struct uvzk__client *client)
{
    struct uvzk__barrier *barrier = &client->barrier;

    if (barrier->open || barrier->under_way || !client->session.connected ||
        client->holding_back || client->port_closing) {
        return;
    }
    barrier->under_way = true;
    uvzk__rpc_prepare(&barrier->rpc, UVZK__RPC_MULTI, NULL, replied);
    uvzk__submit(client, &barrier->rpc);
    barrier->stamp = client->stamp;
}

bool uvzk__barrier_open(const struct uvzk__client *client)
{
    return client->barrier.open;
}

void uvzk__barrier_close(struct uvzk__client *client)
{
    client->barrier.open = false;
    uvzk__barrier_ask(client);
}
