#include "driver.h"

#include <string.h>

#include "barrier.h"
#include "claim.h"
#include "contender.h"
#include "lifecycle.h"
#include "prover.h"
#include "queue.h"
#include "replica.h"
#include "sweep.h"

/* A turn repeats itself while callbacks make new work, but not for ever: the
 * loop's other handles want to be served. */
#define ROUNDS_A_TURN 64

#define HOLD_BACK_MS 100

uint64_t uvzk__now(struct uvzk__client *client)
{
    return client->port->now(client->port);
}

bool uvzk__may_send(const struct uvzk__client *client)
{
    return client->session.connected && uvzk__barrier_open(client) &&
           !client->holding_back && !client->port_closing;
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
    client->stamp++;
    client->request_count++;
    if (rpc->kind == UVZK__RPC_CHILDREN) {
        client->listing_count++;
    }
    rpc->sent_ms = uvzk__now(client);
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
        UVZK__CONTAINER_OF(timed, struct uvzk__client, hold_back);

    client->holding_back = false;
    uvzk__barrier_ask(client);
    uvzk__resume(client);
}

void uvzk__hold_back(struct uvzk__client *client)
{
    if (!client->holding_back) {
        client->holding_back = true;
        client->hold_back.due = hold_back_over;
        uvzk__timed_set(client, &client->hold_back, uvzk__now(client) + HOLD_BACK_MS);
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

void uvzk__answered(struct uvzk__client *client, const struct uvzk__rpc *rpc, int status,
                    bool write)
{
    bool sync = rpc->kind == UVZK__RPC_SYNC && client->proof.mode == UVZK_PROOF_SYNC;

    if (uvzk__is_answer(status)) {
        uvzk__proof_answered(&client->proof, rpc->sent_ms, uvzk__now(client),
                             write || sync);
        uvzk__prover_schedule(client);
        if (is_out_of_place(rpc, status)) {
            uvzk__hold_back(client);
        }
    } else if (status == UVZK_EEXPIRED || status == UVZK_EAUTH ||
               status == UVZK_ECLOSED) {
        /* The event that says so comes behind these replies. */
        client->session.connected = false;
    } else if (client->session.connected ||
               (status != UVZK_ECONNLOSS && status != UVZK_ENOTSENT)) {
        uvzk__hold_back(client);
    }
}

void uvzk__wake(struct uvzk__client *client)
{
    if (!client->port_closing) {
        client->port->wake(client->port);
    }
}

void uvzk__timed_set(struct uvzk__client *client, struct uvzk__timed *timed,
                     uint64_t at_ms)
{
    uint64_t before = uvzk__deadline_next(&client->deadlines);

    uvzk__deadline_set(&client->deadlines, &timed->deadline, at_ms);
    if (at_ms < before && !client->port_closing) {
        client->port->alarm(client->port, at_ms);
    }
}

void uvzk__timed_clear(struct uvzk__client *client, struct uvzk__timed *timed)
{
    uvzk__deadline_clear(&client->deadlines, &timed->deadline);
}

void uvzk__tell_soon(struct uvzk__client *client, struct uvzk__telling *telling)
{
    if (uvzk__list_empty(&telling->link)) {
        uvzk__list_append(&client->tellings, &telling->link);
        uvzk__wake(client);
    }
}

void uvzk__resume(struct uvzk__client *client)
{
    struct uvzk__link *link = client->contenders.next;

    while (link != &client->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        link = link->next;
        uvzk__contender_pump(contender);
    }
    struct uvzk__queue *queue, *next;
    HASH_ITER(hh, client->queues, queue, next)
    {
        uvzk__queue_touch(queue);
    }
    uvzk__replicas_resume(client);
    uvzk__wake(client);
}

static void run_due(struct uvzk__client *client)
{
    uint64_t now = uvzk__now(client);
    struct uvzk__deadline *deadline;

    while ((deadline = uvzk__deadline_pop(&client->deadlines, now)) != NULL) {
        struct uvzk__timed *timed =
            UVZK__CONTAINER_OF(deadline, struct uvzk__timed, deadline);
        timed->due(timed);
    }
}

static void settle_dirty(struct uvzk__client *client)
{
    struct uvzk__link dirty, *link;

    client->settlings++;
    uvzk__list_move(&client->dirty, &dirty);
    while ((link = uvzk__list_take(&dirty)) != NULL) {
        uvzk__queue_settle(UVZK__CONTAINER_OF(link, struct uvzk__queue, dirty));
    }
}

void uvzk__tell_all(struct uvzk__client *client)
{
    struct uvzk__link tellings, *link;

    uvzk__list_move(&client->tellings, &tellings);
    while ((link = uvzk__list_take(&tellings)) != NULL) {
        struct uvzk__telling *telling =
            UVZK__CONTAINER_OF(link, struct uvzk__telling, link);
        telling->deliver(telling);
    }
}

/* Whoever dooms a node touches its queue too. */
static bool has_work(const struct uvzk__client *client)
{
    return !uvzk__list_empty(&client->dirty) || !uvzk__list_empty(&client->tellings) ||
           !uvzk__list_empty(&client->unwinding);
}

void uvzk__turn(struct uvzk__client *client)
{
    int rounds = 0;

    do {
        run_due(client);
        uvzk__claims_unwind(client);
        settle_dirty(client);
        uvzk__sweep(client); /* after settling: a handover is checked by its delete */
        uvzk__tell_all(client);
    } while (has_work(client) && ++rounds < ROUNDS_A_TURN);
    if (has_work(client)) {
        uvzk__wake(client);
    }
    if (!client->port_closing) {
        client->port->alarm(client->port, uvzk__deadline_next(&client->deadlines));
        uvzk__close_when_done(client);
    }
}
