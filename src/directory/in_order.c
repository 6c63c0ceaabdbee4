/* Settles the directories of mutexes and read-write locks (in_order.h). directory.c calls
 * settle_in_order once for each directory in which something has changed. It first grants
 * all contenders that may be granted (next_holder.c), and then sends at most one of these
 * requests: it creates the directory, lists it, or watches the predecessor of the first
 * in line. This file keeps no state. */
#include "directory/in_order.h"

#include <string.h>

#include "base/path.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/listing.h"
#include "directory/next_holder.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/watermark.h"
#include "engine/submission.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* The foreign node that the first in line has to wait for. NULL: there is none, or it is
 * not known yet. */
static const struct uvzk__foreign_node *predecessor_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = uvzk__front_of(queue);

    return front == NULL || !front->predecessors_known ? NULL
                                                       : uvzk__blocker(queue, front);
}

/* Whether a listing must be sent. It must in these cases:
 *
 *   - the predecessors of the next in line are not known;
 *   - a watch on the children is wanted, and the listing arms it;
 *   - the view is stale, and the next in line waits for a foreign node of that view;
 *   - a create is newer than the view, and a contender wants to know its position, or no
 *     contender has a place yet (the pipeline).
 *
 * One listing serves all contenders whose creates were submitted before it. Contenders
 * that come later need no listing until they are next. */
static bool wants_listing(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);
    bool news = uvzk__has_newer_create(&queue->freshness);

    if ((next != NULL && !next->predecessors_known) ||
        (queue->wants_children_watch &&
         uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor) == NULL)) {
        return true;
    }
    if (next != NULL && uvzk__is_stale(&queue->freshness) &&
        uvzk__blocker(queue, next) != NULL) {
        return true;
    }
    return news && (uvzk__positions_wanted(&queue->counts) > 0 ||
                    (next == NULL && !uvzk__ring_empty(&queue->unplaced) &&
                     uvzk__unsearchable_may(queue)));
}

static void send_request(struct uvzk__queue *queue)
{
    const struct uvzk__foreign_node *predecessor;

    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    predecessor = predecessor_of(queue);
    const char *watched =
        uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor);
    /* Whether the watch that exists is the one that is needed now. */
    bool awaited =
        uvzk__predecessor_is_on_children(&uvzk__queue_optional(queue)->predecessor)
            ? queue->wants_children_watch
            : predecessor != NULL && watched != NULL &&
                  strcmp(uvzk__path_name(watched), predecessor->name) == 0;
    if (watched != NULL && !awaited) {
        uvzk__predecessor_unwatch(queue);
    }
    /* Without the directory a listing would show nothing. Without known predecessors no
     * watch can be set. So the requests have this order. */
    if (uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_wants_search(queue) || wants_listing(queue)) {
        uvzk__listing_start(queue);
    } else if (predecessor != NULL &&
               uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor) ==
                   NULL) {
        uvzk__predecessor_watch(queue, predecessor);
    }
}

/* Fails the acquires with UVZK_TRY_ONCE whose contender is known to have to wait: behind
 * a local contender, or behind a foreign node of the view. `anyone` and `writer` say
 * whether any contender, or a writer, is before the one at hand. */
static void end_try_once(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->waiters);
    bool anyone = !uvzk__ring_empty(&queue->holders),
         writer = uvzk__writers_held(&queue->counts) > 0;

    while (link != NULL &&
           queue->session->directories->contender_user->any_try_once(queue->session)) {
        struct uvzk__contender *member = contender_at(link);
        bool waits = uvzk__contender_has_writers_place(member) ? false
                     : uvzk__contender_is_shared(member)       ? writer
                                                               : anyone;
        link = uvzk__ring_next(&queue->waiters, link);
        anyone = true;
        writer = writer || !uvzk__contender_is_shared(member);
        if (waits ||
            (member->predecessors_known && uvzk__blocker(queue, member) != NULL)) {
            queue->session->directories->contender_user->has_to_wait(member);
        }
    }
}

/* Whether no request can be needed: no contender waits or is being created, no watch is
 * set or wanted, and no position is wanted. */
static bool is_quiet(const struct uvzk__queue *queue)
{
    return uvzk__ring_empty(&queue->waiters) && uvzk__ring_empty(&queue->unplaced) &&
           uvzk__positions_wanted(&queue->counts) == 0 && !queue->wants_children_watch &&
           uvzk__predecessor_watched(&uvzk__queue_optional(queue)->predecessor) == NULL;
}

static void settle_in_order(struct uvzk__queue *queue)
{
    /* Several readers may be granted one after the other. */
    while (!uvzk__ring_empty(&queue->waiters) && uvzk__grant_front(queue)) {
    }
    end_try_once(queue);
    /* Before the listing: the watch must be armed before the listing that sets the
     * mark. */
    uvzk__watermark_send_watch(queue);
    if (!is_quiet(queue)) {
        send_request(queue);
    }
}

const struct uvzk__directory_kind uvzk__exclusive = {
    .directory_order = UVZK__EXCLUSIVE,
    .in_order = true,
    .settle = settle_in_order,
};

const struct uvzk__directory_kind uvzk__read_write = {
    .directory_order = UVZK__READ_WRITE,
    .in_order = true,
    .settle = settle_in_order,
};
