#include "guard.h"

#include "contender.h"
#include "driver.h"
#include "queue.h"
#include "revocation.h"
#include "watch_budget.h"

static void disarm(struct uvzk__contender *contender)
{
    if (contender->guarding != UVZK__GUARD_NONE) {
        contender->guarding = UVZK__GUARD_NONE;
        uvzk__watch_budget_give(contender->client, contender->path);
    }
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(watch, struct uvzk__contender, guard);

    disarm(contender);
    if (event == UVZK__WATCH_DELETED) {
        uvzk__contender_missing(contender); /* nothing if the delete is ours */
    } else {
        uvzk__queue_touch(contender->queue);
        uvzk__contender_pump(contender); /* what is revocable is read again */
    }
}

static void armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(rpc, struct uvzk__contender, rpc);
    struct uvzk__client *client = contender->client;
    int status = reply->status;

    uvzk__answered(client, rpc, status, false);
    if (status == 0 && contender->ended) {
        client->port->unwatch(client->port, &contender->guard);
    }
    if (!contender->ended) {
        if (status == 0) {
            contender->guarding = UVZK__GUARD_ARMED;
            uvzk__revocation_read(contender, reply);
        } else {
            disarm(contender);
        }
        if (status == UVZK_ENONODE) {
            uvzk__contender_missing(contender);
        } else if (status == UVZK_ENOAUTH) {
            uvzk__contender_end(contender, status);
        }
    }
    if (!contender->ended) {
        uvzk__queue_touch(contender->queue);
        uvzk__contender_pump(contender);
    }
    uvzk__contender_unpin(contender);
}

void uvzk__guard_init(struct uvzk__contender *contender)
{
    contender->guard.watch_cb = fired;
    contender->guarding = UVZK__GUARD_NONE;
}

void uvzk__guard(struct uvzk__contender *contender)
{
    struct uvzk__client *client = contender->client;

    if (contender->guarding != UVZK__GUARD_NONE || !uvzk__may_send(client) ||
        contender->node.state != UVZK__NODE_STANDING) {
        return;
    }
    if (!uvzk__watch_budget_take(client, contender->path)) {
        uvzk__contender_end(contender, UVZK_ELIMIT);
        return;
    }
    contender->guarding = UVZK__GUARD_ARMING;
    uvzk__contender_pin(contender);
    uvzk__rpc_prepare(&contender->rpc, UVZK__RPC_GET, contender->path, armed);
    contender->rpc.watch = &contender->guard;
    uvzk__submit(client, &contender->rpc);
    contender->look_stamp = client->stamp;
}

void uvzk__guard_end(struct uvzk__contender *contender)
{
    struct uvzk__client *client = contender->client;

    if (contender->guarding == UVZK__GUARD_ARMED && !client->port_closing) {
        client->port->unwatch(client->port, &contender->guard);
    }
    disarm(contender);
}

void uvzk__guard_lost(struct uvzk__contender *contender)
{
    disarm(contender);
}
