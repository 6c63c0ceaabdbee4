#include "recipes/direct_lease.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/making.h"
#include "directory/queue.h"
#include "directory/ranks.h"
#include "directory/vouching.h"
#include "directory/watermark.h"
#include "engine/flight.h"
#include "engine/submission.h"

/* NULL: none of ours is there. */
static struct uvzk__queue *locks_of(const struct uvzk__queue *leases)
{
    return uvzk__queue_find(leases->client, UVZK__EXCLUSIVE,
                            uvzk__leases(leases)->locks_path->text);
}

static bool none_of_ours_waits(const struct uvzk__queue *leases)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(leases);
    const struct uvzk__queue *locks = locks_of(leases);

    return directory->tickets == 0 && directory->taker == NULL &&
           uvzk__first_follower(leases) == NULL &&
           uvzk__list_empty(&directory->bidding) &&
           (locks == NULL || uvzk__contenders_in(&locks->tallies) == 0);
}

static bool may_send(const struct uvzk__bid *bid)
{
    struct uvzk__queue *leases = bid->leases;

    return uvzk__may_send(leases->client) && !uvzk__queue_is_resting(leases) &&
           leases->making == 0 && !leases->behind && uvzk__rank_is_due(leases) &&
           none_of_ours_waits(leases) && uvzk__leases_out(leases) < bid->max(bid->claim);
}

bool uvzk__direct_lease_may(const struct uvzk__bid *bid)
{
    return (bid->claim->client->tuning & UVZK__TUNE_DIRECT_LEASE) && bid->wanted == 1 &&
           uvzk__leases(bid->leases)->direct == NULL &&
           uvzk__watermark_is_alone(bid->leases) && may_send(bid);
}

int uvzk__direct_lease_begin(struct uvzk__bid *bid, bool position)
{
    int status = uvzk__bid_fill(bid);

    if (status == 0) {
        uvzk__bid_goes_direct(bid, position);
    }
    return status;
}

/* ------------------------------------------------------------------ a ticket instead */

/* Before all others of ours, when it is settled. What has not been sent for its lease the
 * taker sends. */
static void has_ticket_instead(struct uvzk__bid *bid)
{
    uvzk__bid_goes_direct_no_more(bid);
    uvzk__bid_follows_first(bid);
    uvzk__leases_ticket_anew(bid->leases, true);
    uvzk__queue_touch(bid->leases);
}

void uvzk__direct_lease_withdraw(struct uvzk__bid *bid)
{
    uvzk__watermark_met(bid->leases);
    has_ticket_instead(bid);
    int status = uvzk__bid_return(bid, uvzk__bid_leases(bid), true);
    if (status != 0) {
        uvzk__bid_is_surplus(bid);
        uvzk__claim_end(bid->claim, status);
    }
}

bool uvzk__direct_lease_makes_way(struct uvzk__queue *leases)
{
    struct uvzk__bid *bid = uvzk__leases(leases)->direct;
    bool waits = bid != NULL && !uvzk__claim_is_given_up(bid->claim) &&
                 !uvzk__bid_begun(bid) &&
                 uvzk__list_empty(&uvzk__first_lease(bid->claim)->errand);

    if (waits) {
        has_ticket_instead(bid);
    }
    return waits;
}

/* ------------------------------------------------------------------------ its lease */

static void ask(struct uvzk__bid *bid, struct uvzk__contender *lease)
{
    if (may_send(bid)) {
        uvzk__bid_made_directly(bid);
        uvzk__make(lease);
        uvzk__queue_touch(bid->leases); /* the look leaves behind it */
    } else {
        has_ticket_instead(bid);
    }
}

/* The request that counts the leases: the create, by the lease's number, or a listing behind
 * it; 0: none has, yet. */
static uint64_t counted_at(const struct uvzk__contender *lease)
{
    uint64_t listed = uvzk__listed_at(&lease->queue->freshness);

    return lease->covered && listed < lease->create_stamp ? lease->create_stamp
           : listed > lease->create_stamp                 ? listed
                                                          : 0;
}

bool uvzk__direct_lease_is_counted(const struct uvzk__bid *bid)
{
    uint64_t counted = counted_at(uvzk__first_lease(bid->claim));

    return counted != 0 && uvzk__leases(bid->leases)->vacant_stamp > counted;
}

/* A look behind its create has found somebody, or nothing. */
static bool has_met_somebody(const struct uvzk__bid *bid)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(bid->leases);

    return !directory->looking && directory->look_stamp > bid->made_stamp &&
           directory->vacant_stamp < directory->look_stamp;
}

static void judge(struct uvzk__bid *bid, const struct uvzk__contender *lease)
{
    uvzk__bid_stands_directly(bid, uvzk__node_place(&lease->node).czxid,
                              lease->create_stamp);
    if (lease->create_stamp < bid->claim->client->connected_stamp ||
        has_met_somebody(bid)) {
        uvzk__direct_lease_withdraw(bid);
    }
}

void uvzk__direct_lease_settle(struct uvzk__queue *leases)
{
    struct uvzk__bid *bid = uvzk__leases(leases)->direct;

    if (bid == NULL || uvzk__claim_is_given_up(bid->claim)) {
        return;
    }
    struct uvzk__contender *lease = uvzk__first_lease(bid->claim);
    if (uvzk__bid_complete(bid)) {
        judge(bid, lease);
    } else if (uvzk__bid_begun(bid) ||
               uvzk__node_state(&lease->node) == UVZK__NODE_PARENTS ||
               !uvzk__list_empty(&lease->errand)) {
        return; /* it is on its way, or its directory is */
    } else if (uvzk__bid_is_counted(bid)) {
        ask(bid, lease);
    } else {
        has_ticket_instead(bid); /* it was not made, after all */
    }
}

/* ---------------------------------------------------------------------- its readings */

/* Its lease, which stands or is on its way, if the pipeline takes what leaves behind it;
 * or NULL. */
static const struct uvzk__contender *lease_sent(const struct uvzk__queue *leases)
{
    const struct uvzk__bid *bid = uvzk__leases(leases)->direct;

    if (bid == NULL || uvzk__claim_is_given_up(bid->claim) || !uvzk__bid_begun(bid)) {
        return NULL;
    }
    const struct uvzk__contender *lease = uvzk__first_lease(bid->claim);
    bool in_pipeline = (leases->client->tuning & UVZK__TUNE_PIPELINE) != 0 &&
                       uvzk__node_is_in_flight(&lease->node);
    return in_pipeline || uvzk__node_has_place(&lease->node) ? lease : NULL;
}

/* Whether its number will count it, as far as is known, or has. */
static bool counts_by_number(const struct uvzk__contender *lease)
{
    return lease->covered ||
           (!uvzk__node_has_place(&lease->node) && uvzk__watermark_expects(lease->queue));
}

bool uvzk__direct_lease_wants_listing(const struct uvzk__queue *leases)
{
    const struct uvzk__contender *lease = lease_sent(leases);

    return lease != NULL && !counts_by_number(lease) &&
           uvzk__listed_at(&leases->freshness) < lease->create_stamp;
}

/* What its number has counted when it was made waits for nobody, whoever stands beside it: it
 * is enough that it was made. */
static void vouch(const struct uvzk__queue *leases)
{
    struct uvzk__bid *bid = uvzk__leases(leases)->direct;

    if (bid == NULL || uvzk__claim_is_given_up(bid->claim) || !uvzk__bid_complete(bid)) {
        return;
    }
    struct uvzk__contender *lease = uvzk__first_lease(bid->claim);
    if (counted_at(lease) == lease->create_stamp) {
        uvzk__vouch(lease, lease->create_stamp);
    }
}

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *leases = uvzk__flight_asker(rpc);
    bool vacant = reply->status == 0 && reply->name_count == 0;

    uvzk__flight_landed(leases->client, rpc, reply->status, false);
    if (uvzk__is_passing(reply->status)) {
        uvzk__leases_not_looked(leases);
    } else {
        uvzk__leases_looked(leases, vacant);
        vouch(leases);
    }
    uvzk__queue_touch(leases);
}

/* Behind the request that counts the leases. */
void uvzk__direct_lease_look(struct uvzk__queue *leases)
{
    const struct uvzk__lease_directory *directory = uvzk__leases(leases);
    const struct uvzk__contender *lease = lease_sent(leases);

    if (lease == NULL || directory->looking || !uvzk__may_send(leases->client)) {
        return;
    }
    uint64_t counts = counted_at(lease);
    if (counts == 0) {
        counts = counts_by_number(lease) ? lease->create_stamp
                                         : uvzk__asked_at(&leases->freshness);
    }
    if (counts < lease->create_stamp || directory->look_stamp > counts) {
        return; /* the listing is yet to leave; or it has been looked at */
    }
    struct uvzk__rpc *rpc = uvzk__flight_new(leases->client, leases, UVZK__RPC_CHILDREN,
                                             directory->locks_path->text, looked);
    if (rpc != NULL) {
        uvzk__submit(leases->client, rpc);
        uvzk__leases_looking(leases, uvzk__stamp(&leases->client->submissions));
    }
}
