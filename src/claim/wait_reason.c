/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what a contender waits for (wait_reason.h). Claims call it for uvzk_hold_wait_info,
 * for uvzk_client_each_hold, and when an acquire times out. The first of these that
 * applies is the reason: no connection, no directory, no znode, a foreign node, local
 * contenders, unknown predecessors, local znodes that are being deleted, a missing
 * proof. */
#include "claim/wait_reason.h"

#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/predecessor.h"
#include "directory/queue.h"

/* ------------------------------------------------------------ before it has a place */

/* When the contender was requested. Without a connection, not before the connection was
 * lost. */
static uint64_t wait_reason_since(const struct uvzk__contender *contender)
{
    uint64_t lost = uvzk__disconnected_since(uvzk__session_of(contender));

    return contender->first_attempt_ms > lost ? contender->first_attempt_ms : lost;
}

bool uvzk__contender_place_wait_reason(const struct uvzk__contender *contender,
                                       struct uvzk__wait_reason *reason)
{
    enum uvzk__node_state state = contender->node.state;

    *reason = (struct uvzk__wait_reason){.since_ms = wait_reason_since(contender)};
    if (uvzk__node_has_place(&contender->node)) {
        reason->node_path = contender->path;
    }
    if (!uvzk__is_connected(uvzk__session_of(contender))) {
        reason->kind = UVZK_WAITS_FOR_CONNECTION;
    } else if (state == UVZK__NODE_PARENTS) {
        reason->kind = UVZK_WAITS_FOR_DIRECTORY;
    } else if (!uvzk__node_has_place(&contender->node)) {
        reason->kind = UVZK_WAITS_FOR_ZNODE; /* no other list but unplaced contains it */
    } else {
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ who is before it */

/* Local contenders before a contender. */
struct ours_ahead {
    uint64_t count;
    bool blocks; /* the contender has to wait for one of them; a reader not for readers */
};

static void wait_reason_count(struct ours_ahead *before,
                              const struct uvzk__contender *contender,
                              const struct uvzk__contender *other)
{
    before->count++;
    before->blocks |= !contender->kind->shared || !other->kind->shared;
}

static struct ours_ahead ours_before(const struct uvzk__contender *contender, size_t most)
{
    const struct uvzk__queue *queue = contender->queue;
    const struct uvzk__contender *each = uvzk__prev_in(&queue->waiters, contender);
    struct ours_ahead before = {0, false};

    for (; each != NULL && before.count < most;
         each = uvzk__prev_in(&queue->waiters, each)) {
        wait_reason_count(&before, contender, each);
    }
    for (each = uvzk__first_in(&queue->holders); each != NULL && before.count < most;
         each = uvzk__next_in(&queue->holders, each)) {
        wait_reason_count(&before, contender, each);
    }
    return before;
}

/* Contenders before this one that have released, or given up, and whose znodes are still
 * being deleted. 0 if the contender waits for none of them. */
static uint64_t deleting_before(const struct uvzk__contender *contender, size_t most)
{
    const struct uvzk__ring *deleting = &contender->queue->deleting;
    struct ours_ahead before = {0, false};

    for (const struct uvzk__contender *each = uvzk__first_in(deleting);
         each != NULL && before.count < most; each = uvzk__next_in(deleting, each)) {
        if (uvzk__place_compare(each->node.place, contender->node.place) >= 0) {
            break;
        }
        wait_reason_count(&before, contender, each);
    }
    return before.blocks ? before.count : 0;
}

void uvzk__contender_wait_reason(const struct uvzk__contender *contender, size_t most,
                                 struct uvzk__wait_reason *reason)
{
    const struct uvzk__queue *queue = contender->queue;
    const struct uvzk__foreign_node *blocker;
    struct ours_ahead ours;

    if (uvzk__contender_place_wait_reason(contender, reason)) {
        return;
    }
    blocker = uvzk__blocker(queue, contender);
    ours = ours_before(contender, most);
    reason->ahead = ours.count + uvzk__foreign_nodes_before(queue, contender);
    if (blocker != NULL) {
        reason->kind = UVZK_WAITS_FOR_OTHERS;
        reason->directory = queue->path->text;
        reason->name = blocker->name;
        reason->traceparent = uvzk__predecessor_traceparent(queue, blocker->name);
    } else if (ours.blocks && !contender->kind->has_writers_place) {
        reason->kind = UVZK_WAITS_FOR_OURS;
    } else if (!contender->predecessors_known) {
        reason->kind = UVZK_WAITS_FOR_PLACE;
        reason->ahead = 0;
    } else {
        reason->ahead = deleting_before(contender, most);
        reason->kind = reason->ahead > 0 ? UVZK_WAITS_FOR_OURS : UVZK_WAITS_FOR_PROOF;
    }
}
