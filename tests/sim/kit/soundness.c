#include "soundness.h"

#include <stdbool.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "proof/prover.h"
#include "value/replica.h"

/* More are looked at in every 64th moment only: looking takes as long as there are many. */
#define MANY 32U
#define SELDOM 64U

struct counts {
    uint32_t contenders, positions, credits, writers, proved, asked, watches;
};

#define EACH(link, head) \
    for (struct uvzk__link *link = (head)->next; link != (head); link = link->next)
#define EACH_OF(link, ring)                                              \
    for (struct uvzk__link *link = uvzk__ring_first(ring); link != NULL; \
         link = uvzk__ring_next((ring), link))

static struct uvzk__contender *in_queue(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------------ a directory */

static const char *contender_broken(const struct uvzk__contender *contender,
                                    enum uvzk__standing standing)
{
    bool has_place = uvzk__node_has_place(&contender->node);

    if (contender->standing != standing) {
        return "a contender is on another list than it should";
    }
    if (has_place != (standing != UVZK__STRANGER)) {
        return "a contender's place is not what its list says";
    }
    if (contender->held != (standing == UVZK__HOLDER) || contender->ended) {
        return "a contender holds, or is over, and its list does not say so";
    }
    if (!contender->durable && contender->witness.held != contender->held) {
        return "what is held is not proved, or what is not is";
    }
    if (contender->on_credit && !contender->held) {
        return "a contender has credit and does not hold";
    }
    return NULL;
}

static const char *list_broken(const struct uvzk__queue *queue,
                               const struct uvzk__ring *ring,
                               enum uvzk__standing standing, struct counts *counts)
{
    const char *broken = NULL;

    EACH_OF(link, ring)
    {
        const struct uvzk__contender *contender = in_queue(link);
        if (contender->queue != queue || link->next->prev != link) {
            return "a list of contenders is torn";
        }
        if (standing == UVZK__MEMBER && uvzk__ring_prev(ring, link) != NULL &&
            uvzk__place_compare(in_queue(link->prev)->node.place, contender->node.place) >
                0) {
            return "members are out of order";
        }
        broken = broken != NULL ? broken : contender_broken(contender, standing);
        counts->contenders++;
        counts->positions += contender->wants_position;
        counts->credits += contender->on_credit;
        counts->writers += contender->held && !contender->shared;
        counts->proved += contender->witness.held;
        counts->asked += uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
                         !contender->witness.held &&
                         !uvzk__list_empty(&contender->witness.link);
        counts->watches +=
            uvzk__guard_is_arming(contender) || uvzk__guard_is_armed(contender);
    }
    return broken;
}

static const char *queue_broken(struct uvzk__queue *queue, struct counts *all)
{
    const struct uvzk__tallies *tallies = &queue->tallies;
    const struct uvzk__freshness *freshness = &queue->freshness;
    struct counts counts = {0};
    const char *broken = list_broken(queue, &queue->holders, UVZK__HOLDER, &counts);

    broken = broken != NULL ? broken
                            : list_broken(queue, &queue->members, UVZK__MEMBER, &counts);
    broken = broken != NULL ? broken
                            : list_broken(queue, &queue->leaving, UVZK__LEAVING, &counts);
    broken = broken != NULL
                 ? broken
                 : list_broken(queue, &queue->strangers, UVZK__STRANGER, &counts);
    if (broken != NULL) {
        return broken;
    }
    if (counts.contenders != tallies->contenders ||
        counts.positions != tallies->positions_wanted ||
        counts.credits != tallies->credits || counts.writers != tallies->writers_held) {
        return "a directory has counted its contenders wrongly";
    }
    if ((uvzk__aside(queue)->predecessor.state == UVZK__PREDECESSOR_NONE) !=
        (uvzk__predecessor_watched(&uvzk__aside(queue)->predecessor) == NULL)) {
        return "a predecessor's watch and its memory are not of one mind";
    }
    if (!uvzk__is_doubted(freshness) &&
        (freshness->state == UVZK__LISTING_WANTED) != uvzk__has_news(freshness)) {
        return "a listing's state is not what its stamps say";
    }
    all->contenders += counts.contenders;
    all->proved += counts.proved;
    all->asked += counts.asked;
    all->watches += counts.watches + uvzk__watermark_watches(queue) +
                    (uvzk__aside(queue)->predecessor.state != UVZK__PREDECESSOR_NONE);
    return NULL;
}

/* --------------------------------------------------------------------- a claim */

static const char *claim_broken(const struct uvzk__claim *claim)
{
    uint32_t contenders = 0, held = 0;

    EACH_OF(link, &claim->contenders)
    {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        if (contender->claim != claim) {
            return "a contender is on the list of another claim";
        }
        contenders++;
        held += contender->held;
    }
    if (claim->contender_count != contenders || claim->held_count != held) {
        return "a claim has counted its contenders wrongly";
    }
    EACH_OF(link, &claim->acquisitions)
    {
        const struct uvzk__acquisition *acquisition =
            UVZK__CONTAINER_OF(link, struct uvzk__acquisition, siblings);
        if (acquisition->claim != claim) {
            return "an acquisition is on the list of another claim";
        }
        if (acquisition->told == UVZK__TOLD_GRANTING && !uvzk__claim_is_held(claim)) {
            return "a grant is to be told of a claim that does not hold";
        }
    }
    return NULL;
}

static const char *lock_broken(const struct uvzk__lock *lock)
{
    const char *broken = NULL;
    uint32_t held = 0;

    for (const struct uvzk__claim *claim = uvzk__lock_first_claim(lock); claim != NULL;
         claim = uvzk__lock_next_claim(lock, claim)) {
        if (claim->lock != lock || claim->state == UVZK__CLAIM_GIVEN_UP) {
            return "a lock lists a claim that is not its own";
        }
        held += uvzk__claim_is_held(claim);
        broken = broken != NULL ? broken : claim_broken(claim);
    }
    if (broken == NULL && held != lock->held_count) {
        broken = "a lock has counted its holds wrongly";
    }
    return broken;
}

/* -------------------------------------------------------------------- a client */

static uint32_t length(struct uvzk__link *head)
{
    uint32_t count = 0;

    EACH(link, head)
    {
        count++;
    }
    return count;
}

/* Those of lookouts are not seen from here. */
static const char *watches_broken(struct uvzk__client *client, uint64_t seen,
                                  bool any_driven)
{
    struct uvzk__replica *replica, *next;
    uint64_t count = uvzk__watch_count(&client->watches);

    HASH_ITER(hh, client->replicas, replica, next)
    {
        seen += replica->watching != UVZK__REPLICA_UNWATCHED;
    }
    return any_driven ? (count < seen ? "there are more watches than were counted" : NULL)
           : count != seen ? "the watches have been counted wrongly"
                           : NULL;
}

static const char *client_broken(struct uvzk__client *client)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;
    struct counts counts = {0};
    const char *broken = NULL;
    bool any_driven = false;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        broken = queue_broken(queue, &counts);
        any_driven = any_driven || queue->kind->discipline == UVZK__DRIVEN;
        if (broken != NULL) {
            return broken;
        }
    }
    if (counts.contenders != client->directories->contender_count ||
        counts.contenders != length(&client->directories->contenders)) {
        return "a client has counted its contenders wrongly";
    }
    if (counts.proved != length(&client->prover->held)) {
        return "the prover's list of holders is not that of the directories";
    }
    if (counts.asked != length(&client->prover->candidates)) {
        return "who waits for a proof is not who stands in the directories";
    }
    EACH(link, &client->claims->locks)
    {
        broken = lock_broken(UVZK__CONTAINER_OF(link, struct uvzk__lock, everyone));
        if (broken != NULL) {
            return broken;
        }
    }
    return watches_broken(client, counts.watches, any_driven);
}

const char *soundness_broken(const uvzk_client_t *client)
{
    const struct uvzk__client *known = client->impl;
    const char *broken = NULL;

    for (uint32_t i = 0; known != NULL && broken == NULL && i < known->sessions->count;
         i++) {
        broken = client_broken(known->sessions->each[i]);
    }
    return broken;
}

const char *soundness_sampled(const uvzk_client_t *client, uint64_t moment)
{
    const struct uvzk__client *known = client->impl;
    bool is_big = known != NULL && known->directories->contender_count > MANY;

    return is_big && moment % SELDOM != 0 ? NULL : soundness_broken(client);
}
