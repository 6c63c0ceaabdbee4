#include "leases.h"

#include <string.h>

#include "claim.h"
#include "contender.h"
#include "driver.h"
#include "listing.h"
#include "parents.h"
#include "predecessor.h"
#include "queue.h"
#include "rollcall.h"

static struct uvzk__bid *bid_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* ----------------------------------------------------------- a claim's leases */

struct uvzk__contender *uvzk__lease_after(const struct uvzk__claim *claim,
                                          struct uvzk__link *link)
{
    for (link = link->next; link != &claim->contenders; link = link->next) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        if (!contender->ticket) {
            return contender;
        }
    }
    return NULL;
}

static struct uvzk__contender *first_lease(const struct uvzk__claim *claim)
{
    return uvzk__lease_after(claim, claim->contenders.next->prev);
}

static struct uvzk__contender *next_lease(struct uvzk__contender *lease)
{
    return uvzk__lease_after(lease->claim, &lease->in_claim);
}

static uint32_t count_leases(const struct uvzk__claim *claim)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = first_lease(claim); lease != NULL;
         lease = next_lease(lease)) {
        count++;
    }
    return count;
}

/* Whether all are settled in one of these states, and none has been given up. */
static bool all_in_state(const struct uvzk__claim *claim, unsigned states)
{
    for (struct uvzk__contender *lease = first_lease(claim); lease != NULL;
         lease = next_lease(lease)) {
        if (!(states & 1U << lease->node.state) || lease->node.in_flight ||
            lease->given_up) {
            return false;
        }
    }
    return true;
}

static bool all_stand(const struct uvzk__claim *claim)
{
    return all_in_state(claim, 1U << UVZK__NODE_STANDING);
}

bool uvzk__bid_complete(const struct uvzk__bid *bid)
{
    return count_leases(bid->claim) == bid->wanted && all_stand(bid->claim);
}

/* ------------------------------------------------------------------- granting */

static void grant(struct uvzk__bid *bid)
{
    for (struct uvzk__contender *lease = first_lease(bid->claim); lease != NULL;
         lease = next_lease(lease)) {
        if (bid->handed_on) {
            uvzk__contender_on_credit(lease);
        }
        uvzk__contender_grant(lease);
    }
    uvzk__claim_grant(bid->claim, bid->token);
    if (bid->ticket != NULL) {
        uvzk__contender_unwanted(bid->ticket);
    }
}

static void called(struct uvzk__rollcall *rollcall, const struct uvzk__reply *reply,
                   int status, size_t failed)
{
    struct uvzk__bid *bid = rollcall->data;

    (void)reply;
    (void)failed;
    bid->calling = false;
    bid->fresh = status == 0;
    bid->handed_on = bid->handed_on && status != 0;
    uvzk__queue_touch(bid->leases);
    if (status != 0 && status != UVZK_EDELETED &&
        !uvzk__queue_passing(bid->leases, status)) {
        uvzk__claim_end(bid->claim, status);
    }
    uvzk__claim_unpin(bid->claim);
}

/* All stand, but it is a while since that was seen, or the session is not proved. */
static void call_the_roll(struct uvzk__bid *bid)
{
    struct uvzk__client *client = bid->claim->client;
    struct uvzk__rollcall *rollcall;

    if (bid->leases->resting || !uvzk__may_send(client)) {
        return;
    }
    if (!uvzk__proof_possible(&client->proof)) {
        uvzk__claim_end(bid->claim, UVZK_EPROOF);
        return;
    }
    rollcall = uvzk__rollcall_new(bid->claim, 0);
    if (rollcall == NULL) {
        uvzk__queue_rest(bid->leases);
        return;
    }
    bid->calling = true;
    uvzk__claim_pin(bid->claim);
    rollcall->done = called;
    rollcall->data = bid;
    uvzk__rollcall_send(rollcall, 0);
}

/* The first claim with leases that stand and have not been granted, or NULL. */
static struct uvzk__bid *complete_bid(struct uvzk__queue *queue)
{
    for (struct uvzk__link *link = queue->members.next; link != &queue->members;
         link = link->next) {
        struct uvzk__claim *claim =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->claim;
        struct uvzk__bid *bid = bid_of(claim);
        if (!claim->given_up && !bid->calling && uvzk__bid_complete(bid)) {
            return bid;
        }
    }
    return NULL;
}

static void grant_complete(struct uvzk__queue *queue)
{
    struct uvzk__client *client = queue->client;
    struct uvzk__bid *bid;

    while ((bid = complete_bid(queue)) != NULL) {
        bool credit =
            !bid->handed_on || queue->credits + bid->wanted <= UVZK__CREDITS_MAX;
        if (bid->fresh && credit &&
            uvzk__proof_grants(&client->proof, uvzk__now(client))) {
            grant(bid);
        } else {
            uvzk__claim_pin(bid->claim);
            call_the_roll(bid);
            bool under_way = bid->calling;
            uvzk__claim_unpin(bid->claim);
            if (!under_way) {
                return; /* not now; or its claim has ended */
            }
        }
    }
}

static void forget_what_was_seen(struct uvzk__queue *queue)
{
    for (struct uvzk__link *link = queue->members.next; link != &queue->members;
         link = link->next) {
        bid_of(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->claim)->fresh =
            false;
    }
}

/* -------------------------------------------------------------------- making */

static void created(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__bid *bid = UVZK__CONTAINER_OF(rpc, struct uvzk__bid, rpc);
    struct uvzk__claim *claim = bid->claim;
    size_t count = rpc->op_count;

    bid->creating = false;
    uvzk__answered(claim->client, rpc, reply->status, true);
    uvzk__claim_pin(claim);
    uvzk__contender_unpin(bid->leases_made[0]);
    uvzk__queue_touch(bid->leases);
    if (reply->status == UVZK_ENONODE && reply->failed_op == 0 && bid->ticket != NULL) {
        uvzk__contender_missing(bid->ticket);
    }
    bid->fresh = reply->status == 0;
    for (size_t i = 1; i < count; i++) {
        uvzk__contender_made_by_op(bid->leases_made[i], reply, i, count, bid->token);
    }
    uvzk__claim_unpin(claim);
}

static void add_op(struct uvzk__bid *bid, struct uvzk__contender *lease)
{
    uvzk__contender_create_op(lease, &bid->ops[bid->rpc.op_count]);
    bid->leases_made[bid->rpc.op_count++] = lease;
}

/* Makes those that are not there, all at once, if the ticket still stands. */
static void create(struct uvzk__bid *bid)
{
    struct uvzk__client *client = bid->claim->client;

    if (!uvzk__may_send(client)) {
        return;
    }
    uvzk__rpc_prepare(&bid->rpc, UVZK__RPC_MULTI, NULL, created);
    bid->ops[0].kind = UVZK__OP_CHECK;
    bid->ops[0].path = bid->ticket->path;
    bid->ops[0].version = -1;
    bid->rpc.ops = bid->ops;
    bid->rpc.op_count = 1;
    for (struct uvzk__contender *lease = first_lease(bid->claim); lease != NULL;
         lease = next_lease(lease)) {
        if (lease->node.state == UVZK__NODE_CREATING) {
            add_op(bid, lease);
        }
    }
    bid->creating = true;
    bid->token = bid->ticket->node.place.czxid;
    bid->leases_made[0] = bid->ticket; /* its path is needed until the reply */
    uvzk__contender_pin(bid->ticket);
    uvzk__submit(client, &bid->rpc);
    for (size_t i = 1; i < bid->rpc.op_count; i++) {
        uvzk__contender_sent(bid->leases_made[i]);
    }
}

static int add_leases(struct uvzk__bid *bid)
{
    int status = 0;

    for (uint32_t have = count_leases(bid->claim); status == 0 && have < bid->wanted;
         have++) {
        struct uvzk__contender *lease;
        status = uvzk__contender_new(bid->claim, bid->leases, UVZK__TOKEN_LEASE, &lease);
        if (status == 0) {
            lease->once = true;
        }
    }
    return status;
}

/* --------------------------------------------------------------- handing on */

static bool same_data(const struct uvzk__claim *one, const struct uvzk__claim *other)
{
    return one->data == NULL || other->data == NULL
               ? one->data == other->data
               : one->data_length == other->data_length &&
                     memcmp(one->data, other->data, one->data_length) == 0;
}

static struct uvzk__claim *offer_for(struct uvzk__bid *bid)
{
    struct uvzk__link *head = &bid->leases->offers;

    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        struct uvzk__claim *offer =
            UVZK__CONTAINER_OF(link, struct uvzk__claim, unwinding);
        if (all_stand(offer) && same_data(offer, bid->claim)) {
            return offer;
        }
    }
    return NULL;
}

static void take_offers(struct uvzk__bid *bid)
{
    struct uvzk__claim *offer;
    uint32_t have = count_leases(bid->claim);

    while (have < bid->wanted && (offer = offer_for(bid)) != NULL) {
        struct uvzk__contender *lease = first_lease(offer);
        uvzk__claim_detach(lease); /* the last one takes the offer along */
        uvzk__claim_attach(bid->claim, lease);
        bid->ticket->once = true; /* without it others would wait for what we have */
        bid->token = bid->ticket->node.place.czxid;
        bid->handed_on = true;
        bid->fresh = ++have == bid->wanted;
    }
}

bool uvzk__leases_offer(struct uvzk__claim *claim)
{
    struct uvzk__bid *bid = bid_of(claim);
    struct uvzk__queue *queue = bid->leases;

    if (bid->ticket != NULL || claim->contender_count != count_leases(claim) ||
        !all_stand(claim) ||
        (queue->taker == NULL &&
         !uvzk__queue_next_is_ours(queue->client, UVZK__EXCLUSIVE, queue->locks_path))) {
        return false;
    }
    for (struct uvzk__contender *lease = first_lease(claim); lease != NULL;
         lease = next_lease(lease)) {
        if (lease->held) {
            uvzk__contender_ungrant(lease);
        }
    }
    uvzk__list_append(&queue->offers, &claim->unwinding);
    uvzk__queue_touch(queue);
    return true;
}

/* ----------------------------------------------------------------- the taker */

/* Whether others have no more leases than the last listing showed; and, counted:
 * nothing has been heard of any that has gone since. */
static bool bounded(const struct uvzk__queue *queue)
{
    return queue->listed_stamp > queue->taker->ticket->queue->reign_stamp;
}

static bool counted(const struct uvzk__queue *queue)
{
    return bounded(queue) && !queue->list_again;
}

/* Everybody's leases, those included that are being deleted, or may have been made;
 * those are not that nothing has been sent for yet. */
static uint64_t leases_out(const struct uvzk__queue *queue)
{
    uint64_t count = queue->foreign_leases + queue->contender_count;

    for (struct uvzk__link *link = queue->strangers.next; link != &queue->strangers;
         link = link->next) {
        enum uvzk__node_needs needs = uvzk__node_needs(
            &UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue)->node);
        count -= needs == UVZK__NEEDS_CREATE || needs == UVZK__NEEDS_PARENTS;
    }
    return count;
}

/* How many of them are the claim's. */
static uint32_t leases_had(const struct uvzk__claim *claim)
{
    uint32_t count = 0;

    for (struct uvzk__contender *lease = first_lease(claim); lease != NULL;
         lease = next_lease(lease)) {
        count += uvzk__node_has_place(&lease->node);
    }
    return count;
}

static void serve_taker(struct uvzk__queue *queue)
{
    struct uvzk__bid *bid = queue->taker;
    const unsigned settled = 1U << UVZK__NODE_STANDING | 1U << UVZK__NODE_CREATING;
    int status;

    if (bid->claim->given_up || !all_in_state(bid->claim, settled)) {
        return; /* over, or on its way */
    }
    /* With fewer leases than there were, those that are let go are not handed on. */
    if (bounded(queue) && leases_out(queue) <= bid->max(bid->claim)) {
        take_offers(bid);
    }
    if (uvzk__bid_complete(bid) || !counted(queue)) {
        return;
    }
    if (leases_out(queue) - leases_had(bid->claim) + bid->wanted > bid->max(bid->claim)) {
        queue->crowded = queue->foreign_leases > 0;
        uvzk__claim_end_tries(bid->claim);
        return;
    }
    status = add_leases(bid);
    if (status == 0) {
        create(bid);
    } else {
        uvzk__claim_end(bid->claim, status);
    }
}

/* Nobody of ours is going to take them. */
static void withdraw_offers(struct uvzk__queue *queue)
{
    bool served = queue->taker == NULL || uvzk__bid_complete(queue->taker);
    bool asking = queue->taker != NULL && !bounded(queue);
    struct uvzk__link offers, *link;

    if (uvzk__list_empty(&queue->offers)) {
        return;
    }
    bool awaited =
        asking || (served && uvzk__queue_next_is_ours(queue->client, UVZK__EXCLUSIVE,
                                                      queue->locks_path));
    uvzk__list_move(&queue->offers, &offers);
    while ((link = uvzk__list_take(&offers)) != NULL) {
        struct uvzk__claim *offer =
            UVZK__CONTAINER_OF(link, struct uvzk__claim, unwinding);
        if (awaited && all_stand(offer)) {
            uvzk__list_append(&queue->offers, link);
        } else {
            uvzk__claim_withdraw(offer);
        }
    }
}

void uvzk__leases_taker(struct uvzk__bid *bid)
{
    bid->leases->taker = bid;
    uvzk__queue_touch(bid->leases);
}

void uvzk__leases_no_taker(struct uvzk__bid *bid)
{
    if (bid->leases->taker == bid) {
        bid->leases->taker = NULL;
    }
    uvzk__queue_touch(bid->leases);
}

/* ------------------------------------------------------------------ requests */

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__queue *queue = UVZK__CONTAINER_OF(watch, struct uvzk__queue, watch);

    (void)event;
    queue->list_again = true;
    uvzk__predecessor_forget(queue);
    uvzk__queue_touch(queue);
}

void uvzk__leases_init(struct uvzk__queue *queue)
{
    queue->watch.watch_cb = fired;
}

/* A ticket of ours is on its way, and its listing with it; if that shows nobody before
 * it, this one, sent behind it, shows all the leases there are. */
static bool may_count_soon(const struct uvzk__queue *queue)
{
    const struct uvzk__queue *locks;

    if (queue->taker != NULL || !(queue->client->tuning & UVZK__TUNE_PIPELINE)) {
        return false;
    }
    locks = uvzk__queue_find(queue->client, UVZK__EXCLUSIVE, queue->locks_path);
    return locks != NULL && locks->doing == UVZK__QUEUE_LISTING &&
           uvzk__list_empty(&locks->holders) && uvzk__list_empty(&locks->members) &&
           !uvzk__list_empty(&locks->strangers) &&
           queue->listed_stamp < locks->asked_stamp;
}

static void request(struct uvzk__queue *queue)
{
    bool waits = queue->taker != NULL && !queue->taker->creating &&
                 !uvzk__bid_complete(queue->taker);

    if (queue->doing != UVZK__QUEUE_IDLE || queue->resting ||
        !uvzk__may_send(queue->client)) {
        return;
    }
    if (!queue->crowded) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_has_stranger(queue, UVZK__NODE_UNKNOWN) ||
               may_count_soon(queue) ||
               (waits &&
                (!counted(queue) || (queue->crowded && queue->watched == NULL)))) {
        uvzk__listing_start(queue);
    }
}

void uvzk__leases_settle(struct uvzk__queue *queue)
{
    queue->crowded = false;
    if (queue->taker != NULL) {
        serve_taker(queue);
    }
    grant_complete(queue);
    forget_what_was_seen(queue);
    withdraw_offers(queue);
    request(queue);
}
