/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the freshness of each directory's view, and for each contender its last sighting
 * and the last deletes before it (freshness.h). Stamps only grow, so the greatest one is
 * enough. This file calls no other file of the room. */
#include "directory/freshness.h"

#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/turn.h"

/* 52 bits are enough for a million requests a second for a hundred years, and 24 bits for
 * the names of a listing. */
#define NEWEST_MAX ((UINT64_C(1) << 56) - 1)
#define ASKED_MAX ((UINT64_C(1) << 52) - 1)

/* ------------------------------------------------------------------------- the view */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__LISTING_, CURRENT, WANTED, STALE),
    UVZK__STATE(UVZK__LISTING_, WANTED, CURRENT, STALE),
    UVZK__STATE(UVZK__LISTING_, STALE, CURRENT, WANTED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__queue *queue = object;

    return queue->freshness.state == UVZK__LISTING_STALE ||
           (queue->freshness.state == UVZK__LISTING_WANTED) ==
               uvzk__has_newer_create(queue);
}

const struct uvzk__machine uvzk__listing_machine =
    UVZK__MACHINE("listing", table, struct uvzk__queue, freshness.state, invariant_holds);

/* Moves to WANTED or CURRENT. Not for a STALE view that no listing has renewed. */
static void follow_stamps(struct uvzk__queue *queue)
{
    uvzk__move_or_stay(queue->session, &uvzk__listing_machine, queue,
                       uvzk__has_newer_create(queue) ? UVZK__LISTING_WANTED
                                                     : UVZK__LISTING_CURRENT);
}

void uvzk__freshness_want_listing(struct uvzk__queue *queue, uint64_t stamp)
{
    queue->freshness.newest_create_stamp = stamp & NEWEST_MAX;
    /* A STALE view wants a listing already. */
    if (queue->freshness.state != UVZK__LISTING_STALE) {
        follow_stamps(queue);
    }
}

void uvzk__freshness_want_no_listing(struct uvzk__queue *queue)
{
    queue->freshness.newest_create_stamp = queue->freshness.view_stamp;
    follow_stamps(queue);
}

void uvzk__freshness_set_stale(struct uvzk__queue *queue)
{
    uvzk__move_or_stay(queue->session, &uvzk__listing_machine, queue,
                       UVZK__LISTING_STALE);
}

void uvzk__freshness_listing_sent(struct uvzk__queue *queue)
{
    queue->freshness.listing_stamp = queue->session->submissions.stamp & ASKED_MAX;
}

void uvzk__freshness_listing_answered(struct uvzk__queue *queue)
{
    queue->freshness.view_stamp = queue->freshness.listing_stamp;
    if (queue->freshness.state != UVZK__LISTING_STALE) {
        follow_stamps(queue);
    }
}

void uvzk__freshness_view_updated(struct uvzk__queue *queue, size_t children)
{
    queue->freshness.view_stamp = queue->freshness.listing_stamp;
    queue->freshness.children_high = children >> 12 & 0xfffU;
    queue->freshness.children_low = children & 0xfffU;
    follow_stamps(queue);
}

/* ------------------------------------------------------------ sightings and deletes */

void uvzk__last_seen_set(struct uvzk__contender *contender, uint64_t stamp)
{
    const struct uvzk__queue *queue = contender->queue;

    contender->last_seen.settle_count = queue->session->directories->settle_count + 1;
    contender->last_seen.stamp = stamp;
    contender->last_seen.foreign_deletes = queue->deletions.foreign_deletes;
    uvzk__wake(queue->session); /* the sighting counts in one settling only */
}

bool uvzk__is_just_seen(const struct uvzk__contender *contender)
{
    return contender->last_seen.settle_count ==
           contender->queue->session->directories->settle_count;
}

bool uvzk__is_seen_on_connection(const struct uvzk__contender *contender)
{
    const struct uvzk__session *session = contender->queue->session;

    return uvzk__is_of_this_connection(session, contender->last_seen.stamp) ||
           uvzk__is_of_this_connection(session, contender->create_stamp);
}

/* A reader does not wait for readers, so its sighting is compared with the deletes of
 * writers' nodes only. */
bool uvzk__is_known_to_exist(const struct uvzk__contender *front)
{
    const struct uvzk__last_seen *seen = &front->last_seen;

    return uvzk__is_just_seen(front) &&
           seen->foreign_deletes == front->queue->deletions.foreign_deletes &&
           seen->stamp >=
               (front->kind->shared ? seen->exclusive_delete_stamp : seen->delete_stamp);
}

void uvzk__checked_by(struct uvzk__contender *contender, uint64_t stamp)
{
    contender->last_seen.checked_stamp = stamp;
}

void uvzk__stood_first(struct uvzk__contender *contender)
{
    contender->last_seen.checked_stamp = UINT64_MAX;
}

/* The last delete of the directory may be of a node behind this one. It then still
 * counts: the next contender waits for one reply. */
bool uvzk__is_checked_by_deletes(const struct uvzk__contender *contender)
{
    return contender->last_seen.checked_stamp >= contender->queue->deletions.delete_stamp;
}

void uvzk__foreign_node_gone(struct uvzk__queue *queue)
{
    queue->deletions.foreign_deletes++;
}

static void raise_delete_stamps(struct uvzk__contender *contender, uint64_t last,
                                uint64_t last_exclusive)
{
    struct uvzk__last_seen *last_seen = &contender->last_seen;

    if (last_seen->delete_stamp < last) {
        last_seen->delete_stamp = last;
    }
    if (last_seen->exclusive_delete_stamp < last_exclusive) {
        last_seen->exclusive_delete_stamp = last_exclusive;
    }
}

void uvzk__delete_sent(const struct uvzk__contender *deleting,
                       struct uvzk__contender *behind, uint64_t stamp)
{
    struct uvzk__deletions *deletions = &deleting->queue->deletions;

    deletions->delete_stamp = stamp;
    if (!deleting->kind->shared) {
        deletions->exclusive_delete_stamp = stamp;
    }
    if (behind != NULL) {
        raise_delete_stamps(behind, stamp, deleting->kind->shared ? 0 : stamp);
    }
}

void uvzk__deletes_inherited(struct uvzk__contender *behind,
                             const struct uvzk__contender *deleting)
{
    raise_delete_stamps(behind, deleting->last_seen.delete_stamp,
                        deleting->last_seen.exclusive_delete_stamp);
}

void uvzk__deletes_so_far(struct uvzk__contender *contender)
{
    const struct uvzk__deletions *deletions = &contender->queue->deletions;

    raise_delete_stamps(contender, deletions->delete_stamp,
                        deletions->exclusive_delete_stamp);
}
