/* Whether a contender's node is known to have existed when the last node went that the
 * contender had to wait for. Another client may delete a waiter's node by hand, and other
 * contenders are then granted past it. So before a grant the node must have been seen
 * after all nodes before it had gone (next_holder.c).
 *
 * Two kinds of deletes are compared with the last sighting. A server executes the
 * requests of a session in the order of submission. So for deletes of this session, the
 * stamp of the sighting is compared with the stamps of the deletes. Replies and events
 * arrive in the order in which things happened. So for deletes by others, the sighting
 * must have arrived after the last report of such a delete (foreign_deletes). */
#ifndef UVZK_LAST_SEEN_H
#define UVZK_LAST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* The part of a directory that last_seen.c keeps. */
struct uvzk__deletions {
    uint64_t delete_stamp;           /* of the last delete that this session sent */
    uint64_t exclusive_delete_stamp; /* of the last one of a writer's node */
    uint32_t foreign_deletes;        /* reports of nodes that others deleted */
};

/* The part of a contender that last_seen.c keeps: its last sighting, and deletes. */
struct uvzk__last_seen {
    uint64_t stamp;           /* of the request that last showed its node */
    uint32_t foreign_deletes; /* of its directory, when that reply arrived */
    uint32_t settle_count;    /* the settling in which the sighting counts */
    /* Of the last delete, by this session, of a node before it, and of a writer's node
     * before it. Only the first waiter has them for sure; see uvzk__delete_sent. */
    uint64_t delete_stamp, exclusive_delete_stamp;
};

/* The reply to the request with this stamp has just shown that the contender's node
 * exists. This counts for the next settling only, and not if a node that others deleted
 * is reported before that. */
void uvzk__last_seen_set(struct uvzk__contender *, uint64_t stamp);
/* Whether there is a sighting that counts for this settling. */
bool uvzk__is_just_seen(const struct uvzk__contender *);
/* For contenders that are granted in order: whether there is a sighting that counts for
 * this settling and is not older than the last delete of a node that the contender had to
 * wait for. */
bool uvzk__is_known_to_exist(const struct uvzk__contender *);

/* A node of the directory has gone that this session did not delete. Sightings that
 * arrived before this report do not count any more, for any contender of the
 * directory. */
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

#endif
