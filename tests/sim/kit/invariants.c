/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the structures of a client between two events: each list's links, and each
 * counter against a new count. The world of the simulated tests calls it after every
 * event.
 *
 * The one idea: every structure counts its members as they come and go, and this file
 * counts them again by walking the lists. The functions return the first violation as
 * text, or NULL. */
#include "invariants.h"

#include <stdbool.h>

#include "barrier/barriers.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "election/election.h"
#include "engine/reading.h"
#include "proof/prover.h"

/* A client with more contenders than MANY is checked only at every 64th moment, because a
 * check takes time in proportion to their number. */
#define MANY 32U
#define SELDOM 64U

/* Counted over the contenders of one directory, then added up over a session. `asked`:
 * those that wait for a proof. `watches`: paths that are watched or being watched. */
struct counts {
    uint32_t contenders, positions, early_grants, writers, proved, asked, watches;
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

/* -------------------------------------------------------------------- directory */

/* list: the one which contains the contender. */
static const char *contender_broken(const struct uvzk__contender *contender,
                                    enum uvzk__contender_list list)
{
    if (contender->list != list) {
        return "a contender is on another list than it remembers";
    }
    if (uvzk__node_has_place(&contender->node) != (list != UVZK__ON_UNPLACED) ||
        (contender->node.state == UVZK__NODE_DELETING) != (list == UVZK__ON_DELETING) ||
        uvzk__contender_holds(contender) != (list == UVZK__ON_HOLDERS)) {
        return "a contender's znode or hold is not what its list says";
    }
    if (contender->node.wanted == uvzk__contender_is_given_up(contender)) {
        return "a contender is given up and wanted, or neither";
    }
    if (!contender->persistent &&
        contender->proof_subject.held != uvzk__contender_holds(contender)) {
        return "what is held is not proved, or what is not is";
    }
    if (uvzk__own_watch_is_arming(contender) && contender->refs == 0) {
        return "the request for an own watch does not keep its contender";
    }
    return NULL;
}

static const char *list_broken(const struct uvzk__queue *queue,
                               const struct uvzk__ring *ring,
                               enum uvzk__contender_list list, struct counts *counts)
{
    const char *broken = NULL;

    EACH_OF(link, ring)
    {
        const struct uvzk__contender *contender = in_queue(link);
        if (contender->queue != queue || link->next->prev != link) {
            return "a list of contenders is torn";
        }
        if (list == UVZK__ON_WAITERS && uvzk__ring_prev(ring, link) != NULL &&
            uvzk__place_compare(in_queue(link->prev)->node.place, contender->node.place) >
                0) {
            return "members are out of order";
        }
        broken = broken != NULL ? broken : contender_broken(contender, list);
        counts->contenders++;
        counts->positions += contender->wants_position;
        counts->early_grants += contender->state == UVZK__CONTENDER_GRANTED_EARLY;
        counts->writers += uvzk__contender_holds(contender) && !contender->kind->shared;
        counts->proved += contender->proof_subject.held;
        counts->asked += contender->node.state == UVZK__NODE_STANDING &&
                         !contender->proof_subject.held &&
                         !uvzk__list_empty(&contender->proof_subject.link);
        counts->watches +=
            uvzk__own_watch_is_arming(contender) || uvzk__own_watch_is_armed(contender);
    }
    return broken;
}

static const char *queue_broken(struct uvzk__queue *queue, struct counts *all)
{
    const struct uvzk__contender_counts *counts = &queue->counts;
    const struct uvzk__freshness *freshness = &queue->freshness;
    struct counts found = {0};
    const char *broken = list_broken(queue, &queue->holders, UVZK__ON_HOLDERS, &found);

    broken = broken != NULL
                 ? broken
                 : list_broken(queue, &queue->waiters, UVZK__ON_WAITERS, &found);
    broken = broken != NULL
                 ? broken
                 : list_broken(queue, &queue->deleting, UVZK__ON_DELETING, &found);
    broken = broken != NULL
                 ? broken
                 : list_broken(queue, &queue->unplaced, UVZK__ON_UNPLACED, &found);
    if (broken != NULL) {
        return broken;
    }
    if (found.contenders != counts->contenders ||
        found.positions != counts->positions_wanted ||
        found.early_grants != counts->early_grants ||
        found.writers != counts->writers_held) {
        return "a directory has counted its contenders wrongly";
    }
    /* A stale view wants a listing anyway, so the stamps decide only if it is not
     * stale. */
    if (queue->freshness.state != UVZK__LISTING_STALE &&
        (freshness->state == UVZK__LISTING_WANTED) != uvzk__has_newer_create(queue)) {
        return "a listing's state is not what its stamps say";
    }
    const struct uvzk__mark *mark = uvzk__mark_of(queue);
    if (mark != NULL && mark->sequence != UVZK__MARK_NOT_KNOWN &&
        !uvzk__watermark_is_armed(mark)) {
        return "a mark is known, and its watch is not armed";
    }
    all->contenders += found.contenders;
    all->proved += found.proved;
    all->asked += found.asked;
    all->watches += found.watches + uvzk__watermark_watches(queue) +
                    (uvzk__queue_optional(queue)->predecessor.path != NULL);
    return NULL;
}

/* ----------------------------------------------------------------------- claim */

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
        held += uvzk__contender_holds(contender);
    }
    if (claim->contender_count != contenders || claim->held_count != held) {
        return "a claim has counted its contenders wrongly";
    }
    EACH_OF(link, &claim->acquisitions)
    {
        const struct uvzk__acquisition *acquisition =
            UVZK__CONTAINER_OF(link, struct uvzk__acquisition, in_claim);
        if (acquisition->claim != claim) {
            return "an acquisition is on the list of another claim";
        }
        if (acquisition->state == UVZK__ACQUISITION_GRANTING &&
            !uvzk__claim_is_held(claim)) {
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

/* ---------------------------------------------------------------------- client */

static uint32_t length(struct uvzk__link *head)
{
    uint32_t count = 0;

    EACH(link, head)
    {
        count++;
    }
    return count;
}

/* How many paths the watchers are on, those of data and of children apart. */
static uint64_t watched_paths(const struct uvzk__watchers *watchers)
{
    uint64_t paths = 0;
    uint32_t heads = watchers->heads == NULL ? 1 : watchers->head_count;

    for (uint32_t i = 0; i < heads; i++) {
        const struct uvzk__watcher *head =
            watchers->heads == NULL ? watchers->sole : watchers->heads[i];

        for (const struct uvzk__watcher *at = head; at != NULL; at = at->next) {
            const struct uvzk__watcher *other = head;
            while (other != at &&
                   (other->kind != at->kind || strcmp(other->path, at->path) != 0)) {
                other = other->next;
            }
            paths += other == at;
        }
    }
    return paths;
}

static bool is_set(const struct uvzk__renewed_watcher *renewed)
{
    return uvzk__watcher_is_set(&renewed->watcher);
}

/* How many of the readings have a watch set. */
static uint64_t readings_watched(struct uvzk__reading *readings)
{
    struct uvzk__reading *reading, *next;
    uint64_t watched = 0;

    HASH_ITER(hh, readings, reading, next)
    {
        watched += is_set(&reading->renewed);
    }
    return watched;
}

static bool more_watchers;

void invariants_expect_more_watchers(void)
{
    more_watchers = true;
}

/* seen: the watchers of the directories. The node watches of driver-defined directories are
 * not counted here, so with such directories there may be more. */
static const char *watches_broken(struct uvzk__session *session, uint64_t seen,
                                  bool any_driver_defined)
{
    uint64_t count = session->watchers.count;

    seen += readings_watched(session->node_caches);
    seen += readings_watched(session->watched_children);
    seen += readings_watched(session->elections->leader_caches);
    seen += readings_watched(session->barriers->watched);

    if (any_driver_defined || more_watchers ? count < seen : count != seen) {
        return "the table of watchers is not what its owners say";
    }
    return uvzk__watch_count(&session->watches) != watched_paths(&session->watchers)
               ? "the watches have been counted wrongly"
               : NULL;
}

static const char *session_broken(struct uvzk__session *session)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;
    struct counts counts = {0};
    bool any_driver_defined = false;
    const char *broken = NULL;

    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        any_driver_defined = any_driver_defined || uvzk__is_driver_defined(queue->kind);
        broken = queue_broken(queue, &counts);
        if (broken != NULL) {
            return broken;
        }
    }
    if (counts.contenders != session->directories->contender_count ||
        counts.contenders != length(&session->directories->contenders)) {
        return "a client has counted its contenders wrongly";
    }
    if (counts.proved != length(&session->prover->held)) {
        return "the prover's list of holders is not that of the directories";
    }
    if (counts.asked != length(&session->prover->candidates)) {
        return "who waits for a proof is not who stands in the directories";
    }
    EACH(link, &session->claims->locks)
    {
        broken = lock_broken(UVZK__CONTAINER_OF(link, struct uvzk__lock, in_session));
        if (broken != NULL) {
            return broken;
        }
    }
    return watches_broken(session, counts.watches, any_driver_defined);
}

const char *invariants_broken(const uvzk_client_t *client)
{
    const struct uvzk__session *known = client->impl;
    const char *broken = NULL;

    /* client->impl is one of the sessions; it knows all of them. NULL: the client is
     * closed. */
    for (uint32_t i = 0; known != NULL && broken == NULL && i < known->client->count;
         i++) {
        broken = session_broken(known->client->sessions[i]);
    }
    return broken;
}

const char *invariants_sampled(const uvzk_client_t *client, uint64_t moment)
{
    const struct uvzk__session *known = client->impl;
    bool is_big = known != NULL && known->directories->contender_count > MANY;

    return is_big && moment % SELDOM != 0 ? NULL : invariants_broken(client);
}
