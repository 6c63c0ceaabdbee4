#include "recipes/leases.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/listing.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "directory/watermark_watch.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "recipes/direct_lease.h"
#include "recipes/lease_making.h"
#include "recipes/lease_offers.h"
#include "recipes/shared_ticket.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

static struct uvzk__bid *bid_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__bid, in_line);
}

/* ------------------------------------------------------------------- counting */

/* Whether all of its leases stand, a listing behind them has come, and it has not been
 * counted; or only when there might be more than now. */
static bool to_count(const struct uvzk__bid *bid)
{
    return !uvzk__claim_is_given_up(bid->claim) &&
           (bid->direct ? uvzk__direct_lease_is_counted(bid)
                        : uvzk__listed_at(&bid->leases->freshness) > bid->made_stamp) &&
           (!uvzk__bid_is_counted(bid) || bid->max(bid->claim) < bid->allowed) &&
           uvzk__bid_complete(bid);
}

/* Whether it has leases, or may have. */
static bool has_begun(const struct uvzk__bid *bid)
{
    return !uvzk__claim_is_given_up(bid->claim) && uvzk__bid_begun(bid);
}

/* The last such one in line; or NULL. */
static struct uvzk__bid *last_that(struct uvzk__queue *queue,
                                   bool (*is_it)(const struct uvzk__bid *))
{
    for (struct uvzk__link *link = uvzk__leases(queue)->bidding.prev;
         link != &uvzk__leases(queue)->bidding; link = link->prev) {
        if (is_it(bid_at(link))) {
            return bid_at(link);
        }
    }
    return NULL;
}

/* It waits on, for as long as its ticket stands, or that of the one that it follows. */
static void withdraw(struct uvzk__bid *bid)
{
    if (bid->direct) {
        uvzk__direct_lease_withdraw(bid);
        return;
    }
    int status = bid->ticket == NULL && !uvzk__bid_is_follower(bid)
                     ? UVZK_EDELETED
                     : uvzk__bid_return(bid, uvzk__bid_leases(bid), true);

    uvzk__bid_emptied(bid);
    if (status != 0) {
        uvzk__bid_is_surplus(bid);
        uvzk__claim_end(bid->claim, status);
    }
}

/* Until there are no more than there may be, or it has none itself: those behind it go
 * first, counted or not, or they would be granted before it. False: what one of them has
 * is not known yet. */
static bool withdraw_surplus(struct uvzk__bid *bid, uint64_t *out)
{
    struct uvzk__bid *last = NULL;

    while (last != bid && *out > bid->max(bid->claim)) {
        last = last_that(bid->leases, has_begun);
        if (!uvzk__bid_settled(last)) {
            return false;
        }
        *out -= uvzk__bid_leases_out(last);
        withdraw(last);
    }
    return true;
}

/* Whoever else makes leases counts after that, and sees ours. So those of ours may hold
 * that there is room for beside all that the listing has shown; the others go, and hold
 * nothing meanwhile. */
static void count_made(struct uvzk__queue *queue)
{
    struct uvzk__bid *bid = last_that(queue, to_count);
    uint64_t out = bid == NULL ? 0 : uvzk__leases_out(queue);

    while (bid != NULL && withdraw_surplus(bid, &out)) {
        if (!uvzk__claim_is_given_up(bid->claim)) { /* it could not wait on */
            uvzk__bid_counted(bid);
        }
        bid = last_that(queue, to_count);
    }
}

/* ------------------------------------------------------------------- granting */

static void grant(struct uvzk__bid *bid, bool on_credit)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (on_credit) {
            uvzk__contender_on_credit(lease);
        }
        uvzk__contender_grant(lease);
    }
    uvzk__bid_granted(bid);
    uvzk__claim_grant(bid->claim, bid->token);
    uvzk__ticket_served(bid);
}

/* All stand, but it is a while since that was seen, or the session is not proved. */
static void want_proof(struct uvzk__bid *bid)
{
    struct uvzk__contender *lease = uvzk__first_lease(bid->claim);

    while (lease != NULL && uvzk__contender_prove(lease)) {
        lease = uvzk__next_lease(lease);
    }
}

static bool just_seen(const struct uvzk__bid *bid)
{
    for (struct uvzk__contender *lease = uvzk__first_lease(bid->claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (!uvzk__is_just_seen(lease)) {
            return false;
        }
    }
    return true;
}

static bool has_credit(const struct uvzk__bid *bid)
{
    return bid->handed_on &&
           uvzk__credits(&bid->leases->tallies) + bid->wanted <= UVZK__CREDITS_MAX;
}

/* Whether a ticket's delete is under way, which will check those on credit. */
static bool credit_comes(const struct uvzk__bid *bid)
{
    const struct uvzk__queue *locks = uvzk__queue_find(
        bid->claim->client, UVZK__EXCLUSIVE, uvzk__leases(bid->leases)->locks_path->text);

    return bid->handed_on && bid->wanted <= UVZK__CREDITS_MAX && locks != NULL &&
           !uvzk__ring_empty(&locks->leaving);
}

/* What was handed on is held on credit, though it has just been seen: somebody may have
 * deleted it between that and the delete of the ticket, which lets the next one in, and
 * checks it. True if it could be granted. If not, and it is not only a matter of credit, or
 * of those ahead of it, a proof is wanted. */
static bool grant_or_prove(struct uvzk__bid *bid, bool first)
{
    struct uvzk__client *client = bid->claim->client;
    bool proved = uvzk__prover_grants(client);
    bool seen = just_seen(bid), on_credit = has_credit(bid);

    if (proved && first && (seen || on_credit)) {
        grant(bid, on_credit);
        return true;
    }
    if (!proved || (!seen && !credit_comes(bid))) {
        want_proof(bid);
    }
    return false;
}

/* Its ticket was deleted by somebody else, and it stands at the tail again, or will: others
 * are served before it. Or that ticket may not serve it any more. */
static bool lost_its_place(const struct uvzk__bid *bid)
{
    const struct uvzk__contender *ticket = uvzk__bid_ticket(bid);

    if (ticket == NULL) {
        return uvzk__bid_is_follower(bid);
    }
    return uvzk__node_state(&ticket->node) != UVZK__NODE_STANDING ||
           uvzk__node_place(&ticket->node).czxid != bid->token ||
           uvzk__ticket_is_used_up(bid) ||
           (uvzk__bid_is_follower(bid) && !uvzk__ticket_may_serve(bid));
}

/* In the order of their tokens: nobody is granted before another one that has begun to
 * have leases, though they may have to be asked for once more. */
static void grant_complete(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__leases(queue)->bidding.next;
    bool first = true;

    while (link != &uvzk__leases(queue)->bidding) {
        struct uvzk__bid *bid = bid_at(link);
        link = link->next;
        if (uvzk__claim_is_given_up(bid->claim)) {
            continue;
        }
        if (!has_begun(bid)) {
            first = first && (uvzk__bid_leases(bid) == 0 || lost_its_place(bid));
        } else if (!uvzk__bid_complete(bid)) {
            first = false;
        } else if (lost_its_place(bid)) {
            withdraw(bid);
        } else {
            first = uvzk__bid_is_counted(bid) && grant_or_prove(bid, first) && first;
        }
    }
}

/* ----------------------------------------------------------------- the taker */

/* Whether others' leases were listed since `locks` is ours; and, counted: nothing has
 * been heard of any that has gone since. */
static bool bounded(const struct uvzk__queue *queue)
{
    return uvzk__listed_at(&queue->freshness) >
           uvzk__leases(queue)->taker->ticket->queue->reign_stamp;
}

static bool counted(const struct uvzk__queue *queue)
{
    return bounded(queue) && !uvzk__is_doubted(&queue->freshness);
}

/* The one of ours that is served next: by the same ticket; or behind that one in `locks`,
 * with nobody else between, unless the follower that is next has come before; or NULL. */
static struct uvzk__bid *next_served(struct uvzk__queue *queue, struct uvzk__bid *bid,
                                     const struct uvzk__bid *waiting)
{
    const struct uvzk__contender *own =
        bid == uvzk__leases(queue)->taker ? NULL : bid->ticket;
    struct uvzk__queue *locks = uvzk__leases(queue)->taker->ticket->queue;
    struct uvzk__link *link = own == NULL
                                  ? uvzk__ring_first(&locks->members)
                                  : uvzk__ring_next(&locks->members, &own->in_queue);
    const struct uvzk__contender *ticket = link == NULL ? NULL : contender_at(link);
    struct uvzk__bid *follower = uvzk__ticket_serves_next(bid);

    if (follower != NULL) {
        return follower;
    }

    if (!(queue->client->tuning & UVZK__TUNE_LOCAL_HANDOVER) || ticket == NULL ||
        uvzk__contender_beside(ticket) != queue || ticket->given_up ||
        uvzk__node_state(&ticket->node) != UVZK__NODE_STANDING || !ticket->covered ||
        uvzk__blocker(locks, ticket) != NULL) {
        return NULL;
    }
    struct uvzk__bid *next = uvzk__bid_of(ticket->claim);
    return waiting != NULL && waiting->arrival < next->arrival ? NULL : next;
}

/* The taker has to wait: for those of ours that go, for others, or for the count. */
static void wait_for_room(struct uvzk__queue *queue)
{
    uvzk__queue_set_crowded(queue, uvzk__aside(queue)->foreigners.leases > 0);
    if (counted(queue)) {
        uvzk__claim_end_tries(uvzk__leases(queue)->taker->claim);
    }
}

/* With fewer leases than there were, those that are let go are not handed on. */
static bool may_hand_on(const struct uvzk__queue *queue, const struct uvzk__bid *bid,
                        uint64_t out)
{
    return bounded(queue) && out <= bid->max(bid->claim) && !queue->unreadable;
}

/* Leases are made for the taker and those that follow it, in order, for as long as there
 * seems to be room. */
static void serve(struct uvzk__queue *queue)
{
    struct uvzk__lease_making *making = NULL;
    uint64_t out = uvzk__leases_out(queue);
    struct uvzk__bid *bid = uvzk__leases(queue)->taker;
    const struct uvzk__bid *waiting = uvzk__first_follower(queue);

    if (!uvzk__claim_is_given_up(bid->claim) && !uvzk__bid_begun(bid) &&
        uvzk__ticket_is_used_up(bid)) {
        uvzk__ticket_let_go(bid);
        return;
    }
    while (bid != NULL && !uvzk__claim_is_given_up(bid->claim) &&
           uvzk__bid_settled(bid)) {
        if (may_hand_on(queue, bid, out)) {
            uvzk__leases_take_offers(bid);
        }
        if (!uvzk__bid_complete(bid)) {
            uint32_t lacking = bid->wanted - uvzk__bid_leases_out(bid);
            if (out + lacking > bid->max(bid->claim)) {
                break;
            }
            if (!uvzk__may_send(queue->client) || uvzk__queue_is_resting(queue) ||
                !uvzk__lease_making_plan(&making, bid)) {
                break;
            }
            out += lacking;
        } else if (!uvzk__bid_is_counted(bid)) {
            break; /* how many there are will be known soon */
        }
        if (uvzk__bid_is_follower(bid)) {
            waiting = uvzk__next_follower(bid);
        }
        bid = next_served(queue, bid, waiting);
    }
    if (making == NULL && bid == uvzk__leases(queue)->taker && bid != NULL &&
        !uvzk__claim_is_given_up(bid->claim) && uvzk__bid_settled(bid) &&
        !uvzk__bid_complete(bid)) {
        wait_for_room(queue);
    }
    uvzk__lease_making_send(making);
}

void uvzk__leases_taker(struct uvzk__bid *bid)
{
    uvzk__leases_taken_by(bid->leases, bid);
    uvzk__leases_taken_at(bid->leases, uvzk__now(bid->claim->client));
    uvzk__queue_touch(bid->leases);
}

void uvzk__leases_no_taker(struct uvzk__bid *bid)
{
    if (uvzk__leases(bid->leases)->taker == bid) {
        uvzk__leases_taken_by(bid->leases, NULL);
        uvzk__queue_set_crowded(bid->ticket->queue, false);
        uvzk__queue_touch(bid->ticket->queue);
    }
    uvzk__queue_touch(bid->leases);
}

/* ------------------------------------------------------------------ requests */

static void init(struct uvzk__queue *queue)
{
    uvzk__list_init(&uvzk__leases(queue)->offers);
    uvzk__list_init(&uvzk__leases(queue)->bidding);
    uvzk__list_init(&uvzk__leases(queue)->followers);
}

/* Tickets that may not be deleted outlive the leases. */
static void forget(struct uvzk__queue *queue)
{
    const struct uvzk__queue *locks = uvzk__queue_find(
        queue->client, UVZK__EXCLUSIVE, uvzk__leases(queue)->locks_path->text);

    for (struct uvzk__link *link = locks == NULL ? NULL
                                                 : uvzk__ring_first(&locks->leaving);
         link != NULL; link = uvzk__ring_next(&locks->leaving, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (uvzk__contender_beside(contender) == queue) {
            uvzk__contender_is_ticket(contender, NULL);
        }
    }
}

static void freed(struct uvzk__queue *queue)
{
    forget(queue);
    uvzk__shared_path_let_go(uvzk__leases(queue)->locks_path);
}

static bool in_use(const struct uvzk__queue *queue)
{
    return uvzk__leases(queue)->bids > 0 || uvzk__leases(queue)->looking;
}

static void watches_lost(struct uvzk__queue *queue)
{
    if (uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) != NULL) {
        uvzk__freshness_doubted(queue); /* arming it does not tell what has gone */
    }
}

static void refused(struct uvzk__queue *queue, int status)
{
    if (uvzk__leases(queue)->taker != NULL) {
        uvzk__claim_end(uvzk__leases(queue)->taker->claim, status);
    }
}

/* What has been made is counted, in the pipeline without waiting for the reply; and the
 * taker that finds no room wants to know how things are. */
static bool wants_listing(const struct uvzk__queue *queue)
{
    bool pipeline = queue->client->tuning & UVZK__TUNE_PIPELINE;
    bool waits = uvzk__leases(queue)->taker != NULL &&
                 uvzk__leases(queue)->making == NULL &&
                 uvzk__bid_settled(uvzk__leases(queue)->taker) &&
                 !uvzk__bid_complete(uvzk__leases(queue)->taker);

    bool made = uvzk__leases(queue)->made_stamp > uvzk__listed_at(&queue->freshness) &&
                (uvzk__leases(queue)->making == NULL || pipeline);

    return ((made || uvzk__direct_lease_wants_listing(queue)) &&
            (uvzk__unsearchable_may(queue) || !uvzk__ring_empty(&queue->members))) ||
           queue->waits_long ||
           (waits && (!counted(queue) ||
                      (queue->crowded && uvzk__predecessor_watched(
                                             &uvzk__aside(queue)->predecessor) == NULL)));
}

static void request(struct uvzk__queue *queue)
{
    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    if (!queue->crowded) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_wants_search(queue) || wants_listing(queue)) {
        uvzk__listing_start(queue);
    }
}

static void settle(struct uvzk__queue *queue)
{
    uvzk__queue_set_crowded(queue, false);
    uvzk__direct_lease_settle(queue);
    uvzk__ticket_made_anew(queue);
    count_made(queue);
    if (uvzk__leases(queue)->taker != NULL && uvzk__leases(queue)->making == NULL) {
        serve(queue);
    }
    grant_complete(queue);
    uvzk__leases_withdraw_offers(queue,
                                 uvzk__leases(queue)->taker != NULL && !bounded(queue));
    uvzk__watermark_ask(queue);
    request(queue);
    uvzk__direct_lease_look(queue);
}

const struct uvzk__directory_kind uvzk__lease_directory = {
    .discipline = UVZK__COUNTED,
    .extra_size = sizeof(struct uvzk__lease_directory),
    .init = init,
    .freed = freed,
    .settle = settle,
    .in_use = in_use,
    .watches_lost = watches_lost,
    .refused = refused,
};
