/* SPDX-License-Identifier: Apache-2.0 */
/* How fresh the readings of a directory are: whether its view needs another listing, and
 * whether a contender's node is known to exist. Points in time are stamps of requests,
 * which grow in the order of submission.
 *
 * The view of a directory:
 *
 *               a create is newer
 *   CURRENT ------------------------> WANTED
 *    ^   | ^                           |  | ^
 *    |   | `---- a listing shows it ---'  | | a listing that is
 *    |   |                                | | older than a create
 *    |   `-- a node may have gone ----.   | |
 *    |                                v   v |
 *    `------ a listing arrives ------- STALE
 *
 * The state does not say whether a listing is in flight. While one is, the state of the
 * directory's request is LISTING (queue.h).
 *
 * A contender's node: is it known that it existed when the last node that the contender
 * had to wait for was deleted? Another client may delete a waiter's node by hand, and
 * other contenders are then granted past it. So before a grant the node must have been
 * seen after all nodes before it had gone (in_order.c).
 *
 * Two kinds of deletes are compared with the last sighting. A server executes the
 * requests of a session in the order of submission. So for deletes of this session, the
 * stamp of the sighting is compared with the stamps of the deletes. Replies and events
 * arrive in the order in which things happened. So for deletes by others, the sighting
 * must have arrived after the last report of such a delete (foreign_deletes). */
#ifndef UVZK_FRESHNESS_H
#define UVZK_FRESHNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"

struct uvzk__contender;
struct uvzk__queue;

enum uvzk__listing {
    UVZK__LISTING_CURRENT, /* next: WANTED STALE */
    UVZK__LISTING_WANTED,  /* next: CURRENT STALE */
    UVZK__LISTING_STALE    /* next: CURRENT WANTED */
};

extern const struct uvzk__machine uvzk__listing_machine;

/* The part of a directory that freshness.c keeps, in 24 bytes. */
struct uvzk__freshness {
    uint64_t newest_create_stamp : 56; /* of the latest create that needs a listing */
    uint8_t state;                     /* enum uvzk__listing */
    uint64_t listing_stamp : 52;       /* of the last listing that was submitted */
    uint64_t children_high : 12;       /* how many children the view's listing had */
    uint64_t view_stamp : 52;          /* of the last listing that the view contains */
    uint64_t children_low : 12;        /* the low bits of children_high */
};

/* A node of the view may have gone: the next listing shows which nodes are left. */
void uvzk__freshness_set_stale(struct uvzk__queue *);

/* A listing has just been submitted. It has been answered, in a directory without a view
 * (driver_lock.c). The view has been updated from it; children: how many it had. */
void uvzk__freshness_listing_sent(struct uvzk__queue *);
void uvzk__freshness_listing_answered(struct uvzk__queue *);
void uvzk__freshness_view_updated(struct uvzk__queue *, size_t children);

/* The part of a directory that freshness.c keeps. */
struct uvzk__deletions {
    uint64_t delete_stamp;           /* of the last delete that this session sent */
    uint64_t exclusive_delete_stamp; /* of the last one of a writer's node */
    uint32_t foreign_deletes;        /* reports of nodes that others deleted */
};

/* The part of a contender that freshness.c keeps: its last sighting, and deletes. */
struct uvzk__last_seen {
    uint64_t stamp;           /* of the request that last showed its node */
    uint32_t foreign_deletes; /* of its directory, when that reply arrived */
    uint32_t settle_count;    /* the settling in which the sighting counts */
    /* Of the last delete, by this session, of a node before it, and of a writer's node
     * before it. Only the first waiter certainly has them; see uvzk__delete_sent. */
    uint64_t delete_stamp, exclusive_delete_stamp;
    /* Once it is granted: of the last delete that checks its node, or of the early grant.
     * UINT64_MAX: its node is known to have stood first (uvzk__stood_first). */
    uint64_t checked_stamp;
};

/* The reply to the request with this stamp has just shown that the contender's node
 * exists. This counts for the next settling only, and not if a node that others deleted
 * is reported before that. */
void uvzk__last_seen_set(struct uvzk__contender *, uint64_t stamp);
/* Returns true if there is a sighting that counts for this settling. */
bool uvzk__is_just_seen(const struct uvzk__contender *);
/* Returns true if a request of the present connection has created the contender's node or
 * has shown it. */
bool uvzk__is_seen_on_connection(const struct uvzk__contender *);

/* ------------------------------------------------------------ for this room alone */

/* The create with this stamp needs a listing that is submitted after it. The second
 * function: no create needs a listing now. */
void uvzk__freshness_want_listing(struct uvzk__queue *, uint64_t stamp);
void uvzk__freshness_want_no_listing(struct uvzk__queue *);

/* A node of the directory has gone that this session did not delete. Sightings that
 * arrived before this report no longer count, for any contender of the directory. */
void uvzk__foreign_node_gone(struct uvzk__queue *);

/* The request with this stamp, which is submitted next, deletes the node of a local
 * contender. behind: the next waiter behind that node; NULL: none. Only this waiter gets
 * the stamp now, so a delete costs the same however many contenders wait. When a waiter
 * leaves, the next waiter behind it inherits its stamps (uvzk__deletes_inherited). A
 * contender that had no place at the time of the delete may be behind the node: when it
 * gets a place, it takes the last stamps of the directory (uvzk__deletes_so_far). */
void uvzk__delete_sent(const struct uvzk__contender *deleting,
                       struct uvzk__contender *behind, uint64_t stamp);
void uvzk__deletes_inherited(struct uvzk__contender *behind,
                             const struct uvzk__contender *deleting);
void uvzk__deletes_so_far(struct uvzk__contender *);

/* For contenders that are granted in order: returns true if there is a sighting that
 * counts for this settling and is not older than the last delete of a node that the
 * contender had to wait for. */
bool uvzk__is_known_to_exist(const struct uvzk__contender *);

/* The first two functions record, and the third returns, whether the node of a contender
 * that was granted keeps others out until its own delete. At an early grant its node is
 * still a waiter's, and may have been deleted by hand. If the node before it is then
 * deleted without a check, others are let in. The node therefore counts as long as each
 * delete that this session has sent in the directory since the grant checks it. This is
 * fresh enough: if such a delete is carried out, the node existed in its transaction; if
 * it is not, the node that it would have deleted still exists.
 *
 * uvzk__checked_by: the contender is granted early after the request with this stamp, or
 * the delete with this stamp, which is submitted next, checks its node.
 * uvzk__stood_first: the node existed when no other node was before it. From then on it
 * is a holder's node. */
void uvzk__checked_by(struct uvzk__contender *, uint64_t stamp);
void uvzk__stood_first(struct uvzk__contender *);
bool uvzk__is_checked_by_deletes(const struct uvzk__contender *);

#endif
