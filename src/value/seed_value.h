/* The value with which a node cache creates its znode if the znode is missing (Curator's
 * seedValue), and the creates that this takes: of the znode, and of ancestors that are
 * missing too. The node cache sends them one after the other (SEEDING). */
#ifndef UVZK_SEED_VALUE_H
#define UVZK_SEED_VALUE_H

#include "engine/session.h"
#include "value/node_create.h"

struct uvzk__node_cache;

/* Part of a node cache. */
struct uvzk__seed_value {
    void *data; /* what a missing znode is to get; NULL: nothing is left to write */
    size_t length;
    struct uvzk__node_create create; /* of the znode, or of an ancestor */
    int refusal;                     /* why the seed could not be written; 0 */
};

/* Takes ownership of a seed, which is written if the znode is found to be missing. While
 * one seed is waiting to be written, further ones are freed. */
void uvzk__seed_value_set(struct uvzk__node_cache *, void *data, size_t length);

/* Whether there is a seed to write. Not where another recipe of this client owns the znode:
 * a lock's znode would be taken for ever (znode_owner.h). */
bool uvzk__seed_value_is_wanted(struct uvzk__node_cache *);

/* Nothing is left to write. */
void uvzk__seed_value_drop(struct uvzk__node_cache *);

/* Prepares the node cache's request as the create of the znode at the first `length`
 * bytes of its path: the znode itself, or an ancestor. */
void uvzk__seed_value_create(struct uvzk__node_cache *, size_t length,
                             uvzk__reply_cb replied);

/* That create was answered with this status. Returns the length of the path that is to be
 * created next. 0: nothing is (node_create.h). */
size_t uvzk__seed_value_next(struct uvzk__node_cache *, int status);

#endif
