/* Whether a contender's node is known to have stood when the last node went that it
 * had to wait for: somebody may delete a waiter's node by hand, and others are then
 * granted past it. Requests are executed in the order in which they were submitted, so
 * stamps compare what has been seen with what we have done; and what we are told comes
 * in the order in which it happened, so what others have done is compared by when we
 * heard of it. */
#ifndef UVZK_LAST_SEEN_H
#define UVZK_LAST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* Of a directory: which nodes have gone. */
struct uvzk__deletions {
    uint64_t delete_stamp;           /* the last delete of a node of ours */
    uint64_t exclusive_delete_stamp; /* the last one that readers had to wait for, too */
    uint32_t foreign_deletes;        /* told of nodes that went by no delete of ours */
};

/* Of a contender: when it was seen, and what has gone since. */
struct uvzk__last_seen {
    uint64_t stamp;           /* of the request that has last shown its node */
    uint32_t foreign_deletes; /* of its directory, at that moment */
    uint32_t settle_count;    /* in which that counts */
    /* Of our own deletes of nodes before it, as far as they matter to it. */
    uint64_t delete_stamp, exclusive_delete_stamp;
};

/* The request with this stamp has just shown that its node stands; good for the
 * next settling, unless we hear before it that somebody else's node has gone. */
void uvzk__last_seen_set(struct uvzk__contender *, uint64_t stamp);
/* Whether it has been seen so for this settling; and, of those that wait in order,
 * since the last node went that it had to wait for. */
bool uvzk__is_just_seen(const struct uvzk__contender *);
bool uvzk__is_known_to_exist(const struct uvzk__contender *);

/* Somebody's node has gone, and not by a delete of ours: what the server had shown before
 * it told us so vouches for nobody. */
void uvzk__foreign_node_gone(struct uvzk__queue *);

/* The request with this stamp is going to delete the node of one of ours. Only the next one
 * behind it is told, NULL if nobody is: the others are when they come to stand in its place
 * (uvzk__deletes_inherited). Who has no place yet, and may be behind it, asks the directory
 * when it has (uvzk__deletes_so_far). */
void uvzk__delete_sent(const struct uvzk__contender *deleting,
                       struct uvzk__contender *behind, uint64_t stamp);
void uvzk__deletes_inherited(struct uvzk__contender *behind,
                             const struct uvzk__contender *deleting);
void uvzk__deletes_so_far(struct uvzk__contender *);

#endif
