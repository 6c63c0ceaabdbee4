#include "recipes/lease_offers.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/succession.h"
#include "recipes/shared_ticket.h"

static struct uvzk__claim *offer_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__claim, link);
}

static bool next_is_ours(const struct uvzk__queue *queue)
{
    return uvzk__next_is_ours(queue->client, UVZK__EXCLUSIVE,
                              uvzk__leases(queue)->locks_path->text);
}

static struct uvzk__claim *offer_for(struct uvzk__bid *bid)
{
    struct uvzk__link *head = &uvzk__leases(bid->leases)->offers;

    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        struct uvzk__claim *offer = offer_at(link);
        if (uvzk__bid_all_stand(uvzk__bid_of(offer)) &&
            uvzk__claim_same_data(offer, bid->claim)) {
            return offer;
        }
    }
    return NULL;
}

void uvzk__leases_take_offers(struct uvzk__bid *bid)
{
    struct uvzk__claim *offer;
    uint32_t have = uvzk__bid_leases(bid);

    while (have < bid->wanted && (offer = offer_for(bid)) != NULL) {
        struct uvzk__contender *lease = uvzk__first_lease(offer);
        uvzk__claim_detach(lease); /* the last one takes the offer along */
        uvzk__claim_attach(bid->claim, lease);
        if (bid->ticket != NULL) { /* without it others would wait for what we have */
            uvzk__contender_is_never_made_anew(bid->ticket);
        }
        uvzk__bid_handed_on(bid);
        have++;
    }
}

bool uvzk__leases_offer(struct uvzk__claim *claim)
{
    struct uvzk__bid *bid = uvzk__bid_of(claim);
    struct uvzk__queue *queue = bid->leases;

    if (!(claim->client->tuning & UVZK__TUNE_LEASE_HANDOVER) || bid->ticket != NULL ||
        bid->surplus || !uvzk__bid_is_counted(bid) || queue->unreadable ||
        claim->contender_count == 0 || claim->contender_count != uvzk__bid_leases(bid) ||
        !uvzk__bid_all_stand(bid) ||
        (uvzk__leases(queue)->taker == NULL && !next_is_ours(queue))) {
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (lease->held) {
            uvzk__contender_ungrant(lease);
        }
    }
    uvzk__list_append(&uvzk__leases(queue)->offers, &claim->link);
    uvzk__queue_touch(queue);
    return true;
}

void uvzk__leases_withdraw_offers(struct uvzk__queue *queue, bool asking)
{
    struct uvzk__link offers, *link;

    if (uvzk__list_empty(&uvzk__leases(queue)->offers)) {
        return;
    }
    bool served = uvzk__leases(queue)->taker == NULL ||
                  uvzk__bid_complete(uvzk__leases(queue)->taker);
    bool making = uvzk__leases(queue)->making != NULL;
    bool awaited = asking || (served && next_is_ours(queue)) ||
                   ((served || making) && uvzk__ticket_serves_on(queue));
    uvzk__list_move(&uvzk__leases(queue)->offers, &offers);
    while ((link = uvzk__list_take(&offers)) != NULL) {
        if (awaited && uvzk__bid_all_stand(uvzk__bid_of(offer_at(link)))) {
            uvzk__list_append(&uvzk__leases(queue)->offers, link);
        } else {
            uvzk__claim_withdraw(offer_at(link));
        }
    }
}
