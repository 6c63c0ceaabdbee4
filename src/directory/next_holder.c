#include "directory/next_holder.h"

#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/last_seen.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/turn.h"
#include "proof/prover.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------------ who is next */

static bool waits_for_holders(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (uvzk__contender_downgraded(contender)) {
        return false;
    }
    return contender->shared ? uvzk__writers_held(&queue->counts) > 0
                             : !uvzk__ring_empty(&queue->holders);
}

static bool deleting_before(struct uvzk__link *link, const void *place)
{
    const struct uvzk__contender *contender = place;
    int order = uvzk__place_compare(uvzk__node_place(&contender_at(link)->node),
                                    uvzk__node_place(&contender->node));

    return order < 0 || (order == 0 && uvzk__contender_downgraded(contender));
}

/* NULL: nobody does. */
static struct uvzk__link *last_deleting_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *deleting = &contender->queue->deleting;
    struct uvzk__link *behind =
        uvzk__ring_lower_bound(deleting, deleting_before, contender);

    return behind == NULL ? uvzk__ring_last(deleting) : uvzk__ring_prev(deleting, behind);
}

/* What is left of ours before this one, and has to go first. */
struct remains {
    bool any;
    bool held_writer; /* held, and stands: everybody behind waits for it */
};

/* Whoever let go last is asked first: a writer's delete seldom is on its way yet. */
static struct remains pending_deletes_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *deleting = &contender->queue->deleting;
    struct remains pending_deletes = {false, false};

    for (struct uvzk__link *link = last_deleting_before(contender);
         link != NULL && !pending_deletes.held_writer;
         link = uvzk__ring_prev(deleting, link)) {
        const struct uvzk__contender *left = contender_at(link);
        if (!left->shared || !contender->shared) {
            pending_deletes.any = true;
            pending_deletes.held_writer = left->has_held && !left->shared &&
                                          !uvzk__node_is_in_flight(&left->node) &&
                                          !uvzk__node_delete_is_unknown(&left->node);
        }
    }
    return pending_deletes;
}

/* The next in line, if it waits for nobody of ours; else NULL. */
struct uvzk__contender *uvzk__front_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    if (next == NULL || waits_for_holders(next) ||
        (!(queue->session->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
         pending_deletes_before(next).any)) {
        return NULL;
    }
    return next;
}

static bool is_unblocked(const struct uvzk__contender *next)
{
    return next != NULL && uvzk__node_state(&next->node) == UVZK__NODE_STANDING &&
           next->predecessors_known && uvzk__blocker(next->queue, next) == NULL;
}

struct uvzk__contender *uvzk__next_holder(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    return queue->kind->directory_order != UVZK__DRIVER_DEFINED && is_unblocked(next) &&
                   !waits_for_holders(next)
               ? next
               : NULL;
}

bool uvzk__next_is_ours(struct uvzk__session *session,
                        enum uvzk__directory_order directory_order, const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(session, directory_order, path);

    return queue != NULL && is_unblocked(uvzk__next_in_line(queue));
}

/* ------------------------------------------------------------ whether it may be granted */

enum grant_check { GRANT_NOW, GRANT_EARLY, NEED_OWN_WATCH, NEED_PROOF, NEED_DELETE };

/* Whether the front's node is known to have stood when the last node that it had to
 * wait for went; if not, what will tell. */
static enum grant_check check_grant(struct uvzk__queue *queue,
                                    struct uvzk__contender *front,
                                    struct remains pending_deletes)
{
    if (uvzk__contender_downgraded(front) && uvzk__writers_held(&queue->counts) > 0) {
        return GRANT_NOW; /* created while its writer held, which holds on */
    }
    if (pending_deletes.held_writer &&
        uvzk__early_grants(&queue->counts) < UVZK__EARLY_GRANTS_MAX) {
        return GRANT_EARLY; /* that writer goes only with a check of the front */
    }
    if (pending_deletes.any) {
        return NEED_DELETE;
    }
    if (uvzk__is_known_to_exist(front)) {
        return GRANT_NOW;
    }
    if (uvzk__own_watch_is_armed(front)) {
        return uvzk__own_watch_shows_node(front) ? GRANT_NOW : NEED_PROOF;
    }
    return front->shared || !uvzk__own_watch_is_allowed(front) ? NEED_PROOF
                                                               : NEED_OWN_WATCH;
}

/* One proof serves all readers up to the next writer, ours or foreign; whoever comes later
 * has the next one. The front may be gone afterwards. */
static void request_proof(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct uvzk__link *link = uvzk__ring_next(&queue->waiters, &front->in_queue);
    bool is_first = front->shared && !uvzk__prover_is_requested(&front->proof_subject);

    if (!uvzk__contender_request_proof(front) || !is_first) {
        return;
    }
    int32_t end = uvzk__foreign_nodes_first_writer(queue);
    for (; link != NULL; link = uvzk__ring_next(&queue->waiters, link)) {
        struct uvzk__contender *member = contender_at(link);
        if (!member->shared || !member->predecessors_known ||
            uvzk__node_place(&member->node).sequence >= end) {
            return;
        }
        if (uvzk__node_state(&member->node) == UVZK__NODE_STANDING &&
            !uvzk__prover_is_requested(&member->proof_subject)) {
            uvzk__prover_request(uvzk__session_of(member), &member->proof_subject);
        }
    }
}

/* Nobody else can have held since the listing that showed nobody else before this one;
 * which is asked of tickets only (leases.h). */
static void grant(struct uvzk__contender *front)
{
    if (front->ticket) {
        uvzk__queue_set_held_stamp(
            front->queue, front->unblocked_stamp != 0
                              ? front->unblocked_stamp
                              : uvzk__stamp(&uvzk__session_of(front)->submissions));
    }
    uvzk__contender_set_has_held(front);
    uvzk__contender_grant(front);
}

static bool grant_if_allowed(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct remains pending_deletes = pending_deletes_before(front);

    switch (check_grant(queue, front, pending_deletes)) {
    case GRANT_NOW:
        grant(front);
        return true;
    case GRANT_EARLY:
        uvzk__contender_set_granted_early(front);
        grant(front);
        return true;
    case NEED_OWN_WATCH:
        uvzk__own_watch_arm(front);
        break;
    case NEED_PROOF:
        request_proof(queue, front);
        break;
    case NEED_DELETE:
        break; /* its reply settles the queue again */
    }
    return false;
}

/* Whether somebody is about to read on in the place of a writer that may be gone. */
static bool downgrade_pending(struct uvzk__queue *queue)
{
    struct uvzk__link *link;

    for (link = uvzk__ring_first(&queue->unplaced); link != NULL;
         link = uvzk__ring_next(&queue->unplaced, link)) {
        if (uvzk__contender_downgraded(contender_at(link)) &&
            uvzk__node_is_wanted(&contender_at(link)->node)) {
            return true;
        }
    }
    return false;
}

/* Behind one alone its own watch vouches when that one goes. Behind more a listing
 * will tell whether all have gone, and vouches too. A ticket's is armed in any case:
 * leases that are found after an outage count while it has kept its place. */
static bool wants_own_watch(const struct uvzk__queue *queue,
                            const struct uvzk__contender *front)
{
    return front->ticket || (uvzk__foreign_nodes_single_blocker(queue, front) &&
                             !uvzk__is_stale(&queue->freshness));
}

bool uvzk__grant_front(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = uvzk__front_of(queue);

    if (front == NULL || !front->predecessors_known ||
        uvzk__node_state(&front->node) != UVZK__NODE_STANDING) {
        return false;
    }
    if (uvzk__blocker(queue, front) != NULL) {
        if (wants_own_watch(queue, front)) {
            uvzk__own_watch_arm(front);
        }
    } else if (!uvzk__prover_grants(queue->session)) {
        request_proof(queue, front);
    } else if (front->shared || !downgrade_pending(queue)) {
        return grant_if_allowed(queue, front);
    }
    return false;
}
