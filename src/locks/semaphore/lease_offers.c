/* Offers released leases and hands them over (lease_offers.h). An offer is a claim that
 * has been given up and still has its leases; its link is in the directory's list
 * `offers`. semaphore.c makes offers; leases.c takes them and withdraws the rest each
 * time the lease directory is settled. */
#include "locks/semaphore/lease_offers.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "locks/mutex.h"
#include "locks/semaphore/leases.h"

static struct uvzk__claim *offer_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__claim, link);
}

static bool next_is_ours(const struct uvzk__queue *queue)
{
    return uvzk__next_is_ours(queue->session, &uvzk__exclusive,
                              uvzk__leases(queue)->locks_path->text);
}

/* The first offer whose leases all exist and have the data that the claim wants, or
 * NULL. */
static struct uvzk__claim *offer_for(struct uvzk__lease_request *request)
{
    struct uvzk__link *head = &uvzk__leases(request->leases)->offers;

    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        struct uvzk__claim *offer = offer_at(link);
        if (uvzk__lease_request_all_stand(uvzk__lease_request_of(offer)) &&
            uvzk__claim_same_data(offer, request->claim)) {
            return offer;
        }
    }
    return NULL;
}

void uvzk__leases_take_offers(struct uvzk__lease_request *request)
{
    struct uvzk__claim *offer;
    uint32_t have = uvzk__lease_request_lease_count(request);

    while (have < request->wanted && (offer = offer_for(request)) != NULL) {
        struct uvzk__contender *lease = uvzk__first_lease(offer);
        uvzk__claim_detach(lease); /* frees the offer with its last lease */
        uvzk__claim_attach(request->claim, lease);
        /* If another client deletes the ticket, the claim ends. With a new ticket at the
         * tail it would wait for contenders that wait for the leases it has. */
        if (request->ticket != NULL) {
            uvzk__ticket_forbid_recreate(request->ticket);
        }
        uvzk__lease_request_take_over(request, uvzk__ticket_begin_use(request));
        have++;
    }
}

/* Leases are offered only if all of them exist, and a local claim has the ticket or is
 * next for it. An unreadable directory (a check got UVZK_ENOAUTH) makes no offers,
 * because the ticket's delete could not check the leases. */
bool uvzk__leases_offer(struct uvzk__claim *claim)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(claim);
    struct uvzk__queue *queue = request->leases;

    if (!uvzk__tuned(claim->session, UVZK__TUNE_LEASE_HANDOVER) ||
        request->ticket != NULL || queue->unreadable || claim->contender_count == 0 ||
        claim->contender_count != uvzk__lease_request_lease_count(request) ||
        !uvzk__lease_request_all_stand(request) ||
        (uvzk__leases(queue)->ticket.holder == NULL && !next_is_ours(queue))) {
        return false;
    }
    for (struct uvzk__contender *lease = uvzk__first_lease(claim); lease != NULL;
         lease = uvzk__next_lease(lease)) {
        if (uvzk__contender_holds(lease)) {
            uvzk__contender_ungrant(lease);
        }
    }
    uvzk__list_append(&uvzk__leases(queue)->offers, &claim->link);
    uvzk__queue_settle_later(queue);
    return true;
}

/* A ticket holder that still lacks leases has just taken the offers that it can use,
 * unless a batch is in flight. */
static bool offers_are_awaited(const struct uvzk__queue *queue)
{
    const struct uvzk__lease_request *holder = uvzk__leases(queue)->ticket.holder;
    bool served = holder == NULL || uvzk__lease_request_complete(holder);
    bool batch_pending = uvzk__leases(queue)->batches.in_flight != NULL;

    return (holder != NULL && !uvzk__ticket_others_counted(queue)) ||
           (served && next_is_ours(queue)) ||
           ((served || batch_pending) && uvzk__ticket_has_next_sharer(queue));
}

void uvzk__leases_withdraw_offers(struct uvzk__queue *queue)
{
    struct uvzk__link offers, *link;

    if (uvzk__list_empty(&uvzk__leases(queue)->offers)) {
        return;
    }
    bool awaited = offers_are_awaited(queue);
    uvzk__list_move(&uvzk__leases(queue)->offers, &offers);
    while ((link = uvzk__list_take(&offers)) != NULL) {
        if (awaited &&
            uvzk__lease_request_all_stand(uvzk__lease_request_of(offer_at(link)))) {
            uvzk__list_append(&uvzk__leases(queue)->offers, link);
        } else {
            uvzk__claim_withdraw(offer_at(link));
        }
    }
}
