/* SPDX-License-Identifier: Apache-2.0 */
/* Settles the directories of mutexes and read-write locks (in_order.h). settle.c calls
 * uvzk__settle_in_order once for each directory in which something has changed. It first
 * grants all contenders that may be granted, and then sends at most one of these requests:
 * it creates the directory, lists it, or watches the predecessor of the first in line.
 * delete_batch.c asks for the next holder, whose node it checks. This file keeps no state.
 *
 * Two questions are kept apart. The first is who is next: the first waiter, unless a
 * local holder or a foreign node blocks it. The second is whether that waiter's own node
 * existed when the last node went that it had to wait for. A waiter's node may be deleted
 * by hand, and then other clients are granted past it. Without the second check, a grant
 * here could overlap with one of theirs (docs/decisions/directory.md, "Known to
 * exist"). */
#include "directory/settle/in_order.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/mirror.h"
#include "directory/own_watch.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/settle/listing.h"
#include "directory/settle/other_kinds_check.h"
#include "directory/watermark.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "proof/validity.h"

/* ------------------------------------------------------------------ who is next */

struct uvzk__contender *uvzk__next_in_line(const struct uvzk__queue *queue)
{
    return uvzk__first_in(&queue->waiters);
}

/* A reader waits for writers, a writer for all holders. A downgraded reader does not
 * wait: it has its writer's number, and that writer holds or has just released. */
static bool waits_for_holders(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (contender->kind->has_writers_place) {
        return false;
    }
    return contender->kind->shared ? queue->counts.writers_held > 0
                                   : !uvzk__ring_empty(&queue->holders);
}

/* A downgraded reader has the place of its writer, sequence number and czxid. So its
 * writer counts as before it, although their places are equal. */
static bool deleting_before(struct uvzk__link *link, const void *place)
{
    const struct uvzk__contender *contender = place;
    int order =
        uvzk__place_compare(uvzk__contender_at(link)->node.place, contender->node.place);

    return order < 0 || (order == 0 && contender->kind->has_writers_place);
}

/* The last node that is being deleted before the contender, or NULL. */
static const struct uvzk__contender *
last_deleting_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *deleting = &contender->queue->deleting;
    struct uvzk__link *behind =
        uvzk__ring_lower_bound(deleting, deleting_before, contender);

    return uvzk__contender_at(behind == NULL ? uvzk__ring_last(deleting)
                                             : uvzk__ring_prev(deleting, behind));
}

/* The local nodes that are being deleted before a contender and that it has to wait
 * for. */
struct remains {
    bool any;
    /* One of them is a writer that keeps others out. Every contender behind its node
     * waits for it, in all clients. */
    bool held_writer;
};

/* [P1] A released node keeps others out only if its contender held, and each delete that
 * was sent since its early grant checks it. A waiter that gave up does not count: its node
 * may have been deleted by hand. The same is true of one that was granted early, once the
 * node before it may have gone without a check (freshness.h). A reader's node does not
 * stop foreign readers. If the delete is under way, or its reply was lost, the node may be
 * gone already. */
static bool keeps_others_out(const struct uvzk__contender *left)
{
    return left->has_held && uvzk__is_checked_by_deletes(left) && !left->kind->shared &&
           !left->node.in_flight && !left->node.delete_unknown;
}

/* The search starts at the nearest node and goes backwards. The contender that released
 * last is nearest, and its delete is usually not sent yet, so most searches end at
 * once. */
static struct remains pending_deletes_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *deleting = &contender->queue->deleting;
    struct remains pending_deletes = {false, false};

    if (uvzk__ring_empty(deleting)) {
        return pending_deletes;
    }
    for (const struct uvzk__contender *left = last_deleting_before(contender);
         left != NULL && !pending_deletes.held_writer;
         left = uvzk__prev_in(deleting, left)) {
        if (!left->kind->shared || !contender->kind->shared) {
            pending_deletes.any = true;
            pending_deletes.held_writer = keeps_others_out(left);
        }
    }
    return pending_deletes;
}

bool uvzk__is_behind_deletes(const struct uvzk__contender *contender)
{
    return !contender->queue->kind->counted && pending_deletes_before(contender).any;
}

/* The first waiter, if it waits for no local contender; otherwise NULL. A foreign node may
 * still be before it. Without the local handover, the next in line waits for the deletes
 * too. */
static struct uvzk__contender *front_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    if (next == NULL || waits_for_holders(next) ||
        (!uvzk__tuned(queue->session, UVZK__TUNE_LOCAL_HANDOVER) &&
         pending_deletes_before(next).any)) {
        return NULL;
    }
    return next;
}

static bool is_unblocked(const struct uvzk__contender *next)
{
    return next != NULL && next->node.state == UVZK__NODE_STANDING &&
           next->predecessors_known && uvzk__blocker(next->queue, next) == NULL;
}

struct uvzk__contender *uvzk__next_holder(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    return !uvzk__is_driver_defined(queue->kind) && is_unblocked(next) &&
                   !waits_for_holders(next)
               ? next
               : NULL;
}

bool uvzk__next_is_ours(struct uvzk__session *session,
                        const struct uvzk__directory_kind *kind, const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(session, kind, path);

    return queue != NULL && is_unblocked(uvzk__next_in_line(queue));
}

/* ---------------------------------------------------------- whether it may be granted */

enum grant_check { GRANT_NOW, GRANT_EARLY, NEED_OWN_WATCH, NEED_PROOF, NEED_DELETE };

/* [P1] A contender is granted only if its znode is known to exist: an operator may have
 * deleted it, and the servers may have granted another one. Whether the front's node is
 * known to have existed when the last node went that it had to wait for. If not, the
 * result names the request that will show it. */
static enum grant_check check_grant(struct uvzk__queue *queue,
                                    struct uvzk__contender *front,
                                    struct remains pending_deletes)
{
    if (front->kind->has_writers_place && queue->counts.writers_held > 0) {
        return GRANT_NOW; /* created under the writer's hold, which still lasts */
    }
    if (pending_deletes.held_writer &&
        queue->counts.early_grants < UVZK__EARLY_GRANTS_MAX) {
        return GRANT_EARLY; /* the delete of the writer's node checks the front's node */
    }
    if (pending_deletes.any) {
        return NEED_DELETE;
    }
    if (uvzk__is_known_to_exist(front) || uvzk__is_mirrored(queue)) {
        return GRANT_NOW;
    }
    if (uvzk__own_watch_is_armed(front)) {
        return uvzk__own_watch_shows_node(front) ? GRANT_NOW : NEED_PROOF;
    }
    /* Readers that become first together share one proof request, so a proof is cheaper
     * for them than one own watch each. */
    return front->kind->shared || !uvzk__own_watch_is_allowed(front) ? NEED_PROOF
                                                                     : NEED_OWN_WATCH;
}

/* One proof request names all readers up to the next writer, local or foreign. A reader
 * that arrives later is named in the next request. The front may have ended, and may be
 * freed, when this returns: uvzk__contender_request_proof ends it if no proof is
 * possible. */
static void request_proof(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct uvzk__contender *member = uvzk__next_in(&queue->waiters, front);
    bool is_first =
        front->kind->shared && !uvzk__prover_is_requested(&front->proof_subject);

    if (!uvzk__contender_request_proof(front) || !is_first) {
        return;
    }
    int32_t end = uvzk__foreign_nodes_first_writer(queue);
    for (; member != NULL; member = uvzk__next_in(&queue->waiters, member)) {
        if (!member->kind->shared || !member->predecessors_known ||
            member->node.place.sequence >= end) {
            return;
        }
        if (member->node.state == UVZK__NODE_STANDING &&
            !uvzk__prover_is_requested(&member->proof_subject)) {
            uvzk__prover_request(uvzk__session_of(member), &member->proof_subject);
        }
    }
}

/* No other client can have held since the listing that first showed no foreign node
 * before this contender. leases.c reads that stamp, and only of the directory of the
 * tickets. */
static void in_order_grant(struct uvzk__contender *front, bool early)
{
    if (front->kind->admits) {
        front->queue->held_stamp = front->unblocked_stamp != 0
                                       ? front->unblocked_stamp
                                       : uvzk__session_of(front)->submissions.stamp;
    }
    front->has_held = true;
    if (early) {
        uvzk__checked_by(front, uvzk__session_of(front)->submissions.stamp);
    } else {
        uvzk__stood_first(front);
    }
    uvzk__mirror_granted(front);
    if (!front->kind->admits) { /* a ticket's claim is checked by its leases */
        uvzk__other_kinds_granted(front->queue);
    }
    uvzk__contender_grant(front, early);
}

static bool grant_if_allowed(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct remains pending_deletes = pending_deletes_before(front);

    switch (check_grant(queue, front, pending_deletes)) {
    case GRANT_NOW:
        in_order_grant(front, false);
        return true;
    case GRANT_EARLY:
        in_order_grant(front, true);
        return true;
    case NEED_OWN_WATCH:
        uvzk__own_watch_arm(front);
        break;
    case NEED_PROOF:
        request_proof(queue, front);
        break;
    case NEED_DELETE:
        break; /* the reply to the delete settles the directory again */
    }
    return false;
}

/* [P1] No writer is granted while the create of a downgraded reader has no reply: that
 * reader gets the number of its writer, whose node may be gone by now, and is then before
 * every writer that waits. Returns true if there is such a create. */
static bool downgrade_pending(struct uvzk__queue *queue)
{
    const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);

    while (each != NULL && !(each->kind->has_writers_place && each->node.wanted)) {
        each = uvzk__next_in(&queue->unplaced, each);
    }
    return each != NULL;
}

/* The second nearest foreign node before the front: when it goes, the front prepares, so
 * that it is granted without a request when the nearest one goes
 * (docs/decisions/directory.md, "Preparation"). NULL: there is none, or the front does not
 * prepare. */
static const struct uvzk__foreign_node *second_of(const struct uvzk__queue *queue,
                                                  const struct uvzk__contender *front)
{
    return uvzk__tuned(queue->session, UVZK__TUNE_PREPARE)
               ? uvzk__second_blocker(queue, front)
               : NULL;
}

/* Returns true if the second nearest foreign node has just gone, and the view still shows
 * others before the nearest one, which have probably gone too. The watch of the nearest
 * and the own watch are then armed in the same turn as the listing that shows whether
 * they have. */
static bool is_preparing(const struct uvzk__queue *queue,
                         const struct uvzk__contender *front)
{
    const struct uvzk__foreign_node *other =
        queue->freshness.state == UVZK__LISTING_STALE ? second_of(queue, front) : NULL;
    int32_t gone = uvzk__queue_optional(queue)->predecessor.sequence;

    return other != NULL && other->sequence < gone &&
           gone < uvzk__blocker(queue, front)->sequence;
}

/* The foreign node that the front watches. NULL: it waits for none. */
static const struct uvzk__foreign_node *node_to_watch(const struct uvzk__queue *queue,
                                                      const struct uvzk__contender *front,
                                                      bool preparing)
{
    const struct uvzk__foreign_node *second = preparing ? NULL : second_of(queue, front);

    return second == NULL ? uvzk__blocker(queue, front) : second;
}

/* If the front waits for a single foreign node, only the own watch shows that the front's
 * node still exists when that foreign node goes. This is also the case when the front
 * prepares. If it waits for several, or if the view is stale, a listing follows anyway
 * and shows the front's node too. A mirror reports the end of the node as an own watch
 * does. */
static bool wants_own_watch(const struct uvzk__queue *queue,
                            const struct uvzk__contender *front)
{
    bool alone = uvzk__foreign_nodes_single_blocker(queue, front) &&
                 queue->freshness.state != UVZK__LISTING_STALE;

    return !uvzk__is_mirrored(queue) && (alone || is_preparing(queue, front));
}

/* [P1] The next in line is granted only if its znode exists, its predecessors are known,
 * none of them blocks it, no contender of another kind came before it, the session is
 * proved, and no downgraded reader may come before it. Returns true if it was granted.
 * Otherwise requests what is missing (in_order.h) and returns false. The contender may have
 * ended, and may be freed, when this returns. */
static bool grant_front(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = front_of(queue);

    if (front == NULL || !front->predecessors_known ||
        front->node.state != UVZK__NODE_STANDING) {
        return false;
    }
    if (uvzk__other_kinds(queue) != NULL && !uvzk__other_kinds_let(front)) {
        return false; /* the reply that shows it settles the directory again */
    }
    if (uvzk__blocker(queue, front) != NULL) {
        uvzk__mirror_consider(front);
        if (wants_own_watch(queue, front)) {
            uvzk__own_watch_arm(front);
        }
    } else if (!uvzk__may_be_granted(queue->session)) {
        request_proof(queue, front);
    } else if (!queue->kind->has_readers || front->kind->shared ||
               !downgrade_pending(queue)) {
        return grant_if_allowed(queue, front);
    }
    return false;
}

/* ---------------------------------------------------------------- the next request */

/* Returns true if a listing must be sent. It must in these cases:
 *
 *   - the predecessors of the next in line are not known;
 *   - a watch on the children is wanted, and the listing arms it;
 *   - contenders of other kinds are looked for again while one holds (other_kinds.h);
 *   - the view is stale, or older than the watch of a mirror, and the next in line waits
 *     for a foreign node of that view;
 *   - a create is newer than the view, and a contender wants to know its position, or no
 *     contender has a place yet (the pipeline).
 *
 * One listing serves all contenders whose creates were submitted before it. Contenders
 * that come later need no listing until they are next. */
static bool wants_listing(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);
    bool news = uvzk__has_newer_create(queue);

    if ((next != NULL && !next->predecessors_known) ||
        uvzk__needs_children_watch(queue) || uvzk__other_kinds_due(queue)) {
        return true;
    }
    if (next != NULL && uvzk__blocker(queue, next) != NULL &&
        (queue->freshness.state == UVZK__LISTING_STALE ||
         uvzk__mirror_needs_listing(queue))) {
        return true;
    }
    return news && (queue->counts.positions_wanted > 0 ||
                    (next == NULL && !uvzk__ring_empty(&queue->unplaced) &&
                     uvzk__unsearchable_may(queue)));
}

/* Removes the watch that exists, unless it is on this node, or on the children and
 * wanted. */
static void drop_other_watch(struct uvzk__queue *queue,
                             const struct uvzk__foreign_node *needed)
{
    const char *watched = uvzk__queue_optional(queue)->predecessor.path;

    if (watched == NULL) {
        return;
    }
    bool awaited =
        uvzk__predecessor_is_on_children(&uvzk__queue_optional(queue)->predecessor)
            ? queue->wants_children_watch
            : needed != NULL && strcmp(uvzk__path_name(watched), needed->name) == 0;
    if (!awaited) {
        uvzk__predecessor_unwatch(queue);
    }
}

/* The get that arms the watch may end all waiters, or begin a pause. */
static void in_order_watch(struct uvzk__queue *queue,
                           const struct uvzk__foreign_node *needed)
{
    if (needed != NULL && uvzk__queue_optional(queue)->predecessor.path == NULL) {
        uvzk__predecessor_watch(queue, needed);
    }
}

static void send_request(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = front_of(queue);

    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    bool known = front != NULL && front->predecessors_known;
    bool watches = known && !uvzk__is_mirrored(queue);
    bool preparing = watches && is_preparing(queue, front);
    const struct uvzk__foreign_node *needed =
        watches ? node_to_watch(queue, front, preparing) : NULL;
    drop_other_watch(queue, needed);
    /* Without the directory a listing would show nothing. Without known predecessors no
     * watch can be set. So the requests have this order. */
    if (uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (preparing) {
        in_order_watch(queue, needed);
        if (uvzk__queue_may_list_behind_get(queue)) {
            uvzk__listing_start(queue);
        }
    } else if (uvzk__queue_wants_search(queue) || wants_listing(queue)) {
        uvzk__listing_start(queue);
    } else {
        in_order_watch(queue, needed);
    }
}

/* Fails the acquires with UVZK_TRY_ONCE whose contender is known to have to wait: behind
 * a local contender, or behind a foreign node of the view. `anyone` and `writer` say
 * whether any contender, or a writer, is before the one at hand. */
static void end_try_once(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__first_in(&queue->waiters);
    bool anyone = !uvzk__ring_empty(&queue->holders),
         writer = queue->counts.writers_held > 0;

    while (next != NULL &&
           queue->session->directories->contender_user->any_try_once(queue->session)) {
        struct uvzk__contender *member = next;
        bool waits = member->kind->has_writers_place ? false
                     : member->kind->shared          ? writer
                                                     : anyone;
        next = uvzk__next_in(&queue->waiters, member);
        anyone = true;
        writer = writer || !member->kind->shared;
        if (waits ||
            (member->predecessors_known && uvzk__blocker(queue, member) != NULL)) {
            uvzk__user_of(member)->has_to_wait(member);
        }
    }
}

/* Returns true if no request can be needed: no contender waits or is being created, no
 * watch is set or wanted, and no position is wanted. */
static bool is_quiet(const struct uvzk__queue *queue)
{
    return uvzk__ring_empty(&queue->waiters) && uvzk__ring_empty(&queue->unplaced) &&
           queue->counts.positions_wanted == 0 && !queue->wants_children_watch &&
           !uvzk__other_kinds_due(queue) &&
           uvzk__queue_optional(queue)->predecessor.path == NULL;
}

void uvzk__settle_in_order(struct uvzk__queue *queue)
{
    if (uvzk__other_kinds(queue) != NULL) {
        uvzk__other_kinds_settle(queue);
    }
    /* Several readers may be granted one after the other. */
    while (!uvzk__ring_empty(&queue->waiters) && grant_front(queue)) {
    }
    end_try_once(queue);
    /* Before the listing: the watch must be armed before the listing that sets the
     * mark. */
    uvzk__watermark_send_watch(queue);
    if (!is_quiet(queue)) {
        send_request(queue);
    }
}
