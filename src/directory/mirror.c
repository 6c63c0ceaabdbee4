/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which directories are mirrored, and takes what the persistent watch of a mirror
 * reports into the view (mirror.h). in_order.c asks for a mirror; watermark.c keeps its
 * watch and its mark.
 *
 * The idea: events and replies come in the order in which things happened. When the reply
 * to a create arrives, the mirror has received the event of every node that was created
 * before, unless the client may not READ it; then a number is missing. When the mirror
 * cannot explain an event, it forgets its mark, and a listing is sent as without a
 * mirror. */
#include "directory/mirror.h"

#include "base/expected_sequences.h"
#include "base/node_name.h"
#include "base/place.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "directory/watermark.h"
#include "engine/turn.h"
#include "engine/watch.h"

/* The foreign nodes are counted by sessions again whenever their number has doubled, from
 * this number on. */
#define COUNTED_AGAIN_MIN 16U

static bool is_mirror(const struct uvzk__mark *mark)
{
    return mark != NULL && mark->mirrors;
}

bool uvzk__mirror_keeps_all(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return is_mirror(mark) && uvzk__watermark_is_armed(mark);
}

bool uvzk__is_mirrored(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return is_mirror(mark) && uvzk__watermark_is_silent(mark) &&
           queue->freshness.view_stamp > mark->armed_stamp;
}

bool uvzk__mirror_needs_listing(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return is_mirror(mark) && uvzk__watermark_watches(queue) &&
           queue->freshness.view_stamp <= mark->armed_stamp;
}

bool uvzk__needs_children_watch(const struct uvzk__queue *queue)
{
    return queue->wants_children_watch &&
           uvzk__queue_optional(queue)->predecessor.path == NULL &&
           !is_mirror(uvzk__mark_of(queue));
}

/* ------------------------------------------------------------------------- its events */

/* A node with this number was created. Returns whether the view has all nodes up to it, or
 * will have when this one is added. Otherwise the mark is unknown until the next listing:
 * the events of the numbers between were withheld, or the numbers are those of children
 * that are no contenders, or this is the first event since a listing that did not show
 * the latest number, because that node had gone. */
static bool take_number(struct uvzk__queue *queue, int32_t number, bool others)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    mark->heard_others = mark->heard_others || others;
    if (mark->sequence == UVZK__MARK_NOT_KNOWN || !uvzk__is_mirrored(queue)) {
        return false;
    }
    mark->sequence = number == mark->sequence + 1 ? number : UVZK__MARK_NOT_KNOWN;
    return mark->sequence != UVZK__MARK_NOT_KNOWN;
}

/* More sessions have come than a mirror is for. */
static bool are_too_many(const struct uvzk__queue *queue)
{
    uint32_t count = uvzk__queue_optional(queue)->foreign_nodes.count;

    return count >= COUNTED_AGAIN_MIN && (count & (count - 1)) == 0 &&
           !uvzk__foreign_nodes_are_of_few(queue);
}

/* From now on, only a listing shows what is before a new contender. */
static void mirror_forget(struct uvzk__queue *queue)
{
    uvzk__watermark_end(queue);
    uvzk__freshness_set_stale(queue);
}

static void foreign_created(struct uvzk__queue *queue, const char *name,
                            const struct uvzk__node_name *parsed, bool shared)
{
    if (take_number(queue, parsed->sequence, true) &&
        (!uvzk__foreign_nodes_append(queue, parsed->sequence, shared, name) ||
         are_too_many(queue))) {
        mirror_forget(queue);
    }
}

/* All nodes before it are in the view, so its predecessors are known before the reply to
 * its create comes. For one that wants to know its position, a listing is still sent. */
static void own_created(struct uvzk__queue *queue, struct uvzk__contender *contender,
                        int32_t number)
{
    struct uvzk__mark *mark = uvzk__mark_of(queue);

    mark->used_ms = uvzk__now(queue->session);
    if (take_number(queue, number, false) && !contender->wants_position) {
        uvzk__contender_set_predecessors_known(contender);
        mark->listings_saved++;
    }
}

/* A contender whose create was never sent in an earlier session has a name of that session.
 * So the contenders are searched first. A child that is no contender has no number that is
 * known here, and makes the next one seem to follow a gap. */
static void mirror_created(struct uvzk__queue *queue, const char *name)
{
    struct uvzk__contender *contender = uvzk__unplaced_named(queue, name);
    struct uvzk__node_name parsed;
    bool shared;

    uvzk__node_name_parse_any(&parsed, name, queue->kind->name_prefixes, &shared);
    if (!parsed.is_contender || uvzk__sequence_exhausted(parsed.sequence)) {
        return;
    }
    if (contender != NULL) {
        own_created(queue, contender, parsed.sequence);
    } else if (parsed.has_uuid &&
               uvzk__directories_is_own_uuid(queue->session->directories,
                                             name + UVZK__UUID_AT)) {
        mirror_forget(queue); /* an orphan, which the next listing finds */
    } else {
        foreign_created(queue, name, &parsed, shared);
    }
}

/* [P1] A contender whose node was deleted by hand is not granted. For one whose node this
 * session is deleting, the event is not news. */
static void own_deleted(struct uvzk__queue *queue, const char *name)
{
    struct uvzk__contender *contender = uvzk__placed_named(queue, name);

    if (contender != NULL) {
        uvzk__contender_not_shown(contender);
    }
}

/* The foreign nodes are searched first, because they are in an array. */
static void mirror_deleted(struct uvzk__queue *queue, const char *name)
{
    if (!uvzk__foreign_nodes_remove(queue, name)) {
        own_deleted(queue, name);
        return;
    }
    uvzk__foreign_node_gone(queue);
    uvzk__foreign_nodes_released(queue);
}

/* The directory itself goes only when no node is in it, and the next one counts from
 * 0. */
static void mirror_heard(struct uvzk__watch *watch, enum uvzk__watch_event event,
                         const char *child)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(watch, struct uvzk__mark, watcher.watch)->queue;

    if (event == UVZK__WATCH_CHANGED) {
        return;
    }
    if (child == NULL) {
        uvzk__watermark_end(queue);
    } else if (event == UVZK__WATCH_CREATED) {
        mirror_created(queue, child);
    } else {
        mirror_deleted(queue, child);
    }
    uvzk__queue_settle_later(queue);
}

/* ------------------------------------------------------------------------- beginning */

/* The view before the mirror has only the nodes before the first in line, of which most
 * have gone. So only the listing after the mirror's watch shows how many sessions are
 * there. */
void uvzk__mirror_listed(struct uvzk__queue *queue)
{
    if (uvzk__mirror_keeps_all(queue) && !uvzk__foreign_nodes_are_of_few(queue)) {
        uvzk__queue_remember(queue, UVZK__REMEMBERED_CROWDED);
        uvzk__watermark_end(queue);
    }
}

/* Where there are readers, a downgraded one has no number of its own, and writers list in
 * any case. */
static bool may_be_mirrored(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    return uvzk__tuned(queue->session, UVZK__TUNE_MIRROR) && queue->kind->in_order &&
           !queue->kind->has_readers && !uvzk__other_kinds_shown(queue) &&
           !queue->session->directories->no_persistent_watches;
}

/* A mark of the other kind ends first. If the request for its watch is in flight, the mirror
 * begins later. */
static void mirror_begin(struct uvzk__queue *queue)
{
    uvzk__watermark_end(queue);
    if (uvzk__mark_of(queue) != NULL || !uvzk__watch_budget_is_ample(queue->session)) {
        return;
    }
    uvzk__watermark_begin(queue);
    struct uvzk__mark *mark = uvzk__mark_of(queue);
    if (mark != NULL) {
        mark->mirrors = true;
        mark->watcher.watch.child_cb = mirror_heard;
    }
}

/* Returns true if the watch of the mirror is about to be renewed while a foreign node
 * blocks. */
static bool is_due(const struct uvzk__queue *queue)
{
    const struct uvzk__mark *mark = uvzk__mark_of(queue);

    return is_mirror(mark) && uvzk__watermark_wants_watch(mark) && queue->blocked_long;
}

/* The get that has armed the watch of the predecessor has shown that it is no orphan of
 * another session of this client. */
void uvzk__mirror_consider(const struct uvzk__contender *front)
{
    struct uvzk__queue *queue = front->queue;

    queue->waits_for_others = true;
    if (is_due(queue)) {
        uvzk__divergence_ask(queue, uvzk__blocker(queue, front)->name);
        uvzk__predecessor_check_leases(queue);
    }
    if (may_be_mirrored(front) && uvzk__predecessor_is_armed(queue) &&
        !is_mirror(uvzk__mark_of(queue)) &&
        uvzk__queue_remembers(queue, UVZK__REMEMBERED_CONTENDED) &&
        !uvzk__queue_remembers(queue, UVZK__REMEMBERED_CROWDED) &&
        uvzk__foreign_nodes_are_of_few(queue)) {
        mirror_begin(queue);
    }
}

void uvzk__mirror_granted(const struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    if (queue->waits_for_others && may_be_mirrored(contender) &&
        !uvzk__queue_remembers(queue, UVZK__REMEMBERED_CONTENDED)) {
        uvzk__queue_remember(queue, UVZK__REMEMBERED_CONTENDED);
    }
    queue->waits_for_others = false;
}
