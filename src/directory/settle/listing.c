/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one getChildren, and turns the names of its reply into the view of the directory
 * (listing.h), unless the kind of the directory has its own function for that. in_order.c,
 * leases.c and driver_lock.c decide when a listing is needed.
 *
 * The idea: first everything that needs memory is done, in a struct scan: parse the
 * names, match them with the local contenders, copy the foreign nodes that are kept. Only
 * then is the view changed, by steps that cannot fail. The scan sorts both sides, so a
 * listing of thousands of names costs n log n. Three passes go over the names: one parses
 * and matches them, one copies the foreign nodes, and one tells the local contenders what
 * the listing has shown.
 *
 * The listing is fresh enough to show that a znode does not exist: its barrier's reply
 * came before it, so it shows the effect of every create that was sent before it. */
#include "directory/settle/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/node_name.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/divergence.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/mirror.h"
#include "directory/predecessor.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"

/* After one listing, uvzk asks about at most this many foreign leases, and this many
 * possible orphans. */
#define BLOCKERS_CHECKED_MAX 128U
#define ORPHANS_CHECKED_MAX 8U

/* A name of the listing that is a contender's. */
struct sighting {
    struct uvzk__node_name parsed;
    bool shared;                       /* a reader's node */
    const char *name;                  /* borrowed from the listing */
    struct uvzk__contender *contender; /* the local contender; NULL: a foreign node */
};

/* The data of one update, complete before the view is changed. */
struct scan {
    struct sighting *sightings; /* by sequence number */
    size_t sighting_count;
    uint64_t foreign_contenders;
    uint64_t foreign_children;        /* names that are no contender's */
    struct uvzk__contender **placed;  /* holders, waiters and deleting, by place */
    struct uvzk__contender **unknown; /* unplaced contenders in UNKNOWN, by UUID */
    size_t placed_count, unknown_count;
    struct uvzk__foreign_node *foreign_nodes; /* owned until the view takes them */
    size_t foreign_node_count;
    /* Names with this session's UUID prefix that are no local contender's of this
     * directory. */
    size_t possible_orphans;
    /* The greatest number of a local contender, of any contender for a mirror; -1: there
     * is none. */
    int32_t last;
    bool others_behind; /* the listing shows foreign nodes behind that number */
    struct uvzk__listed_kinds kinds;
};

static int by_sequence(const void *left, const void *right)
{
    int32_t a = ((const struct sighting *)left)->parsed.sequence;
    int32_t b = ((const struct sighting *)right)->parsed.sequence;

    return (a > b) - (a < b);
}

static int contenders_by_place(const void *left, const void *right)
{
    const struct uvzk__contender *a = *(struct uvzk__contender *const *)left;
    const struct uvzk__contender *b = *(struct uvzk__contender *const *)right;

    return uvzk__place_compare(a->node.place, b->node.place);
}

static int contenders_by_uuid(const void *left, const void *right)
{
    const struct uvzk__contender *a = *(struct uvzk__contender *const *)left;
    const struct uvzk__contender *b = *(struct uvzk__contender *const *)right;

    return memcmp(uvzk__contender_uuid(a), uvzk__contender_uuid(b), UVZK__UUID_TEXT);
}

/* Writes the contenders of a ring into `into`, and returns how many there are. */
static size_t view_collect(const struct uvzk__ring *ring, struct uvzk__contender **into)
{
    size_t count = 0;

    for (struct uvzk__contender *contender = uvzk__first_in(ring); contender != NULL;
         contender = uvzk__next_in(ring, contender)) {
        into[count++] = contender;
    }
    return count;
}

/* Like collect, but only contenders whose nodes are UNKNOWN. into NULL: only counts. */
static size_t collect_unknown(const struct uvzk__queue *queue,
                              struct uvzk__contender **into)
{
    size_t count = 0;

    for (struct uvzk__contender *contender = uvzk__first_in(&queue->unplaced);
         contender != NULL; contender = uvzk__next_in(&queue->unplaced, contender)) {
        if (contender->node.state == UVZK__NODE_UNKNOWN) {
            if (into != NULL) {
                into[count] = contender;
            }
            count++;
        }
    }
    return count;
}

/* An empty array is not NULL, so that NULL means out of memory. */
static void *room_for(size_t count, size_t size)
{
    return uvzk__calloc(count == 0 ? 1 : count, size);
}

/* Contenders that are searched for are rare. */
static int collect_ours(struct uvzk__queue *queue, struct scan *scan)
{
    struct uvzk__contender **into;

    scan->placed =
        room_for(uvzk__ring_length(&queue->holders) + uvzk__ring_length(&queue->waiters) +
                     uvzk__ring_length(&queue->deleting),
                 sizeof(struct uvzk__contender *));
    if (scan->placed == NULL) {
        return UV_ENOMEM;
    }
    into = scan->placed;
    into += view_collect(&queue->holders, into);
    into += view_collect(&queue->waiters, into);
    into += view_collect(&queue->deleting, into);
    scan->placed_count = (size_t)(into - scan->placed);
    qsort(scan->placed, scan->placed_count, sizeof(struct uvzk__contender *),
          contenders_by_place);
    if (queue->counts.asking == 0) {
        return 0;
    }
    scan->unknown_count = collect_unknown(queue, NULL);
    scan->unknown = room_for(scan->unknown_count, sizeof(struct uvzk__contender *));
    if (scan->unknown == NULL) {
        return UV_ENOMEM;
    }
    (void)collect_unknown(queue, scan->unknown);
    qsort(scan->unknown, scan->unknown_count, sizeof(struct uvzk__contender *),
          contenders_by_uuid);
    return 0;
}

/* Equal numbers, from a counter that does not advance (ZOOKEEPER-4706), are told apart by
 * UUID. */
static struct uvzk__contender *
placed_at(const struct scan *scan, const struct uvzk__node_name *parsed, const char *uuid)
{
    size_t low = 0, high = scan->placed_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->placed[middle]->node.place.sequence < parsed->sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < scan->placed_count &&
           scan->placed[low]->node.place.sequence == parsed->sequence;
         low++) {
        if (memcmp(uvzk__contender_uuid(scan->placed[low]), uuid, UVZK__UUID_TEXT) == 0) {
            return scan->placed[low];
        }
    }
    return NULL;
}

static struct uvzk__contender *unknown_of(const struct scan *scan, const char *uuid)
{
    size_t low = 0, high = scan->unknown_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order =
            memcmp(uvzk__contender_uuid(scan->unknown[middle]), uuid, UVZK__UUID_TEXT);
        if (order == 0) {
            return scan->unknown[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* The local contender that this name belongs to, or NULL. A contender in UNKNOWN has no
 * number yet and is found by its UUID alone. UUIDs are compared as text, because servers
 * return names as they were sent. */
static struct uvzk__contender *local_of(const struct scan *scan,
                                        const struct sighting *sighting)
{
    const struct uvzk__node_name *parsed = &sighting->parsed;
    struct uvzk__contender *contender = NULL;

    if (parsed->is_contender && parsed->has_uuid) {
        const char *uuid = sighting->name + UVZK__UUID_AT;
        contender = placed_at(scan, parsed, uuid);
        if (contender == NULL) {
            contender = unknown_of(scan, uuid);
        }
    }
    return contender;
}

/* A node whose number is beyond the limit (place.h) does not contend: such numbers give
 * no order. Leases are only counted, so their numbers do not matter. */
static bool view_contends(const struct uvzk__queue *queue,
                          const struct uvzk__node_name *parsed)
{
    return parsed->is_contender &&
           (queue->kind->counted || !uvzk__sequence_exhausted(parsed->sequence));
}

/* Returns true if the name has this session's UUID prefix, but is no local contender's of
 * this directory. */
static bool may_be_orphan(const struct uvzk__queue *queue,
                          const struct sighting *sighting)
{
    return sighting->contender == NULL && sighting->parsed.has_uuid &&
           uvzk__directories_is_own_uuid(queue->session->directories,
                                         sighting->name + UVZK__UUID_AT);
}

static int parse_names(struct uvzk__queue *queue, struct scan *scan,
                       const char *const *names, size_t count)
{
    scan->sightings = room_for(count, sizeof(struct sighting));
    if (scan->sightings == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct sighting *sighting = &scan->sightings[scan->sighting_count];
        uvzk__node_name_parse_any(&sighting->parsed, names[i], queue->kind->name_prefixes,
                                  &sighting->shared);
        sighting->name = names[i];
        sighting->contender = local_of(scan, sighting);
        if (uvzk__foreign_nodes_is_denied(queue, names[i])) {
            continue;
        }
        if (sighting->contender != NULL) {
            sighting->contender->listed_stamp = queue->freshness.listing_stamp;
        } else if (view_contends(queue, &sighting->parsed)) {
            scan->foreign_contenders++;
            scan->possible_orphans += may_be_orphan(queue, sighting);
        } else {
            scan->foreign_children++;
            uvzk__listed_kinds_add(&scan->kinds, queue, names[i]);
            continue;
        }
        scan->sighting_count++;
    }
    qsort(scan->sightings, scan->sighting_count, sizeof(struct sighting), by_sequence);
    return 0;
}

/* Copies the foreign nodes before the last local contender. Nodes behind it are not kept:
 * they can never be before a contender that exists now. A mirror keeps them, because
 * later contenders learn from it which nodes are before them. */
static int keep_foreign_nodes(const struct uvzk__queue *queue, struct scan *scan)
{
    size_t end = scan->sighting_count;

    while (end > 0 && scan->sightings[end - 1].contender == NULL) {
        end--;
    }
    scan->last = end > 0 ? scan->sightings[end - 1].parsed.sequence : -1;
    while (end > 0 && end < scan->sighting_count &&
           scan->sightings[end].parsed.sequence ==
               scan->sightings[end - 1].parsed.sequence) {
        end++; /* an equal number: that node may have been created first */
    }
    scan->others_behind = end < scan->sighting_count;
    if (uvzk__mirror_keeps_all(queue)) {
        end = scan->sighting_count;
        scan->others_behind = false;
        scan->last = end > 0 ? scan->sightings[end - 1].parsed.sequence : -1;
    }
    scan->foreign_nodes = room_for(end, sizeof(struct uvzk__foreign_node));
    if (scan->foreign_nodes == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < end; i++) {
        if (scan->sightings[i].contender != NULL) {
            continue;
        }
        struct uvzk__foreign_node *foreign_node =
            &scan->foreign_nodes[scan->foreign_node_count];
        foreign_node->sequence = scan->sightings[i].parsed.sequence;
        foreign_node->shared = scan->sightings[i].shared;
        foreign_node->name = uvzk__strdup(scan->sightings[i].name);
        if (foreign_node->name == NULL) {
            return UV_ENOMEM;
        }
        scan->foreign_node_count++;
    }
    return 0;
}

/* Allocates the optional part of the directory if the view will contain anything of other
 * clients, and takes over what the listing shows of other kinds. */
static int need_room(struct uvzk__queue *queue, const struct scan *scan)
{
    bool any =
        scan->foreign_node_count > 0 || scan->others_behind || scan->foreign_children > 0;

    return !any || uvzk__queue_need_optional(queue)
               ? uvzk__other_kinds_listed(queue, &scan->kinds)
               : UV_ENOMEM;
}

/* Leases are only counted. In other directories their number is 0. */
static void apply_listing(struct uvzk__queue *queue, struct scan *scan)
{
    uvzk__foreign_nodes_set(queue, scan->foreign_nodes, scan->foreign_node_count,
                            queue->kind->counted ? scan->foreign_contenders : 0);
    scan->foreign_nodes = NULL;
    uvzk__foreign_nodes_set_behind(queue, scan->others_behind);
    uvzk__foreign_children(queue, scan->foreign_children);
    uvzk__freshness_view_updated(queue,
                                 scan->sighting_count + (size_t)scan->foreign_children);
    if (uvzk__other_kinds_shown(queue)) {
        uvzk__watermark_end(queue);
    }
    uvzk__watermark_listed(queue, scan->last, scan->others_behind);
    uvzk__mirror_listed(queue);
}

/* After a contender has been blocked for a session timeout, asks whether the nodes in its
 * way really exist (divergence.h): the first of all in a directory in order, and the 128
 * oldest foreign leases in a lease directory. */
static void check_blockers(struct uvzk__queue *queue, const struct scan *scan)
{
    size_t most = queue->kind->in_order ? 1 : BLOCKERS_CHECKED_MAX;

    for (size_t i = 0; most > 0 && i < scan->sighting_count; i++) {
        if (scan->sightings[i].contender == NULL) {
            uvzk__divergence_ask(queue, scan->sightings[i].name);
            most--;
        }
    }
    uvzk__queue_set_blocked_long(queue, false);
}

/* Asks about possible orphans anywhere in the listing, even after other nodes. */
static void check_possible_orphans(struct uvzk__queue *queue, const struct scan *scan)
{
    size_t most = scan->possible_orphans < ORPHANS_CHECKED_MAX ? scan->possible_orphans
                                                               : ORPHANS_CHECKED_MAX;

    for (size_t i = 0; most > 0 && i < scan->sighting_count; i++) {
        if (may_be_orphan(queue, &scan->sightings[i])) {
            most--;
            if (!uvzk__orphan_is_known(queue, scan->sightings[i].name)) {
                uvzk__divergence_ask(queue, scan->sightings[i].name);
            }
        }
    }
}

/* A node whose create was answered is gone if the listing does not show it and was sent
 * after the create. In DELETING that does not matter. */
static void resolve_missing(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->placed_count; i++) {
        struct uvzk__contender *contender = scan->placed[i];
        if (contender->node.wanted &&
            contender->create_stamp < queue->freshness.listing_stamp &&
            contender->listed_stamp != queue->freshness.listing_stamp) {
            uvzk__contender_not_shown(contender);
        }
    }
}

/* The listing shows the nodes of local contenders, and all nodes before each of them. In
 * UNKNOWN the node has a place now.
 *
 * It must run after resolve_missing: each node that is reported missing there raises
 * foreign_deletes, and a sighting counts only if it is not older than the last of these
 * reports (freshness.h). And it must run after apply_listing, because uvzk__blocker reads
 * the foreign nodes. Each state is read again, because an earlier step may have changed
 * it. */
static void tell_shown(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->sighting_count; i++) {
        struct uvzk__contender *contender = scan->sightings[i].contender;
        if (contender == NULL) {
            continue;
        }
        contender->predecessors_known = true;
        if (uvzk__node_has_place(&contender->node) &&
            uvzk__blocker(queue, contender) == NULL) {
            uvzk__contender_set_unblocked(contender, queue->freshness.listing_stamp);
        }
        uvzk__last_seen_set(contender, queue->freshness.listing_stamp);
        if (contender->node.state == UVZK__NODE_UNKNOWN) {
            uvzk__contender_found(contender, scan->sightings[i].parsed.sequence);
        }
    }
}

/* Contenders in UNKNOWN that the listing does not show were never created (listing.h), if
 * their create was sent before the listing. */
static void resolve_absent(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->unknown_count; i++) {
        if (scan->unknown[i]->listed_stamp != queue->freshness.listing_stamp &&
            scan->unknown[i]->create_stamp < queue->freshness.listing_stamp) {
            uvzk__contender_absent(scan->unknown[i]);
        }
    }
}

/* ahead 0: the contender does not have to wait, and no position is reported. */
static void notify_position(struct uvzk__contender *contender, uint64_t ahead)
{
    uvzk__contender_want_no_position(contender);
    if (ahead > 0) {
        uvzk__user_of(contender)->queued(contender, ahead);
    }
}

/* A reader that has only readers before it does not wait. */
static void notify_positions(struct uvzk__queue *queue)
{
    uint64_t members = uvzk__ring_length(&queue->holders);
    bool writer = queue->counts.writers_held > 0;

    for (struct uvzk__contender *contender = uvzk__first_in(&queue->waiters);
         queue->counts.positions_wanted > 0 && contender != NULL;
         contender = uvzk__next_in(&queue->waiters, contender)) {
        if (contender->wants_position && contender->predecessors_known) {
            bool waits = !contender->kind->shared || writer ||
                         uvzk__blocker(queue, contender) != NULL;
            notify_position(contender,
                            waits ? members + uvzk__foreign_nodes_before(queue, contender)
                                  : 0);
        }
        writer = writer || !contender->kind->shared;
        members++;
    }
}

/* Replaces the directory's foreign nodes by those of the listing that are before the last
 * local contender. Marks the local contenders that the listing shows: their predecessors
 * are known. Reports contenders whose node is missing in the listing, and resolves those
 * whose create had an unknown outcome. names: borrowed; without a directory, NULL and 0.
 * Returns 0, or UV_ENOMEM, which changes nothing. Contenders may end, and may be
 * freed. */
static int update_view(struct uvzk__queue *queue, const char *const *names, size_t count)
{
    struct scan scan;
    int status;

    memset(&scan, 0, sizeof(scan));
    status = collect_ours(queue, &scan);
    if (status == 0) {
        status = parse_names(queue, &scan, names, count);
    }
    if (status == 0) {
        status = keep_foreign_nodes(queue, &scan);
    }
    if (status == 0) {
        status = need_room(queue, &scan);
    }
    if (status == 0) {
        apply_listing(queue, &scan);
        if (queue->blocked_long) {
            check_blockers(queue, &scan);
        }
        if (scan.possible_orphans > 0) {
            check_possible_orphans(queue, &scan);
        }
        resolve_missing(queue, &scan);
        tell_shown(queue, &scan);
        resolve_absent(queue, &scan);
        notify_positions(queue);
    }
    uvzk__free(scan.sightings);
    uvzk__free(scan.placed);
    uvzk__free(scan.unknown);
    if (scan.foreign_nodes != NULL) {
        uvzk__foreign_nodes_free(scan.foreign_nodes, scan.foreign_node_count);
    }
    return status;
}

/* ---------------------------------------------------------------- the request */

/* The directory cannot be listed, or its children cannot be watched. In a lease directory
 * the claims that wait for leases end. Where a ticket is kept, the arrival of another
 * contender cannot be seen, so one is assumed to be there, and the ticket will be given
 * up. */
static void not_seen(struct uvzk__queue *queue, int status)
{
    if (queue->kind->refused != NULL) {
        queue->kind->refused(queue, status);
    } else if (queue->wants_children_watch && uvzk__queue_need_optional(queue)) {
        uvzk__foreign_nodes_set_behind(queue, true);
        uvzk__queue_want_children_watch(queue, false);
    }
}

static void list_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__queue *queue = uvzk__inflight_requester(rpc);
    bool watching = rpc->watch != NULL;
    int status = reply->status;

    uvzk__move(queue->session, &uvzk__queue_machine, queue, UVZK__QUEUE_IDLE);
    uvzk__inflight_done(queue->session, rpc, status, false);
    if (status != 0 && watching) {
        uvzk__predecessor_watch_gone(queue); /* the request has not armed it */
    } else if (watching) {
        uvzk__predecessor_armed(queue);
    }
    if (status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        uvzk__watermark_end(queue); /* its watch has not reported that */
    }
    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__unsearchable_no_more(queue);
    }
    /* A driver-defined directory has no view. */
    if (queue->kind->listed != NULL) {
        queue->kind->listed(queue, reply);
        return;
    }
    if (status == 0) {
        status = update_view(queue, reply->names, reply->name_count);
    } else if (status == UVZK_ENONODE) {
        /* No directory: no node exists in it. */
        status = update_view(queue, NULL, 0);
    }
    if (status != 0 && !uvzk__queue_is_transient(queue, status)) {
        uvzk__end_waiters(queue, status);
        uvzk__end_unplaced(queue, UVZK__NODE_UNKNOWN, status);
        not_seen(queue, status);
        uvzk__queue_set_blocked_long(queue, false); /* who is in the way is not shown */
        uvzk__queue_back_off(queue);
        uvzk__unsearchable(queue); /* nodes that may exist are searched for later */
    }
    uvzk__queue_settle_later(queue);
}

/* Makes the listing arm a watch on the children. Without memory the listing is sent
 * without a watch, and the directory tries again after a pause. */
static void watch_children(struct uvzk__queue *queue, struct uvzk__rpc *rpc)
{
    int status = uvzk__predecessor_watch_children(queue, rpc);

    if (status == UV_ENOMEM) {
        uvzk__queue_back_off(queue);
    } else if (status != 0) {
        not_seen(queue, status);
    }
}

void uvzk__listing_start(struct uvzk__queue *queue)
{
    struct uvzk__session *session = queue->session;
    struct uvzk__rpc *rpc = uvzk__inflight_new(session, queue, UVZK__RPC_CHILDREN,
                                               queue->path->text, list_replied);

    if (rpc == NULL) {
        return;
    }
    if (uvzk__needs_children_watch(queue)) {
        watch_children(queue, rpc);
    }
    uvzk__queue_listing_sent(queue);
    uvzk__submit(session, rpc);
    uvzk__freshness_listing_sent(queue);
}
