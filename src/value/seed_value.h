/* The value with which a node cache creates its znode if the znode is missing (Curator's
 * seedValue). The node cache sends the necessary creates (SEEDING). */
#ifndef UVZK_SEED_VALUE_H
#define UVZK_SEED_VALUE_H

#include "engine/node_create.h"
#include "engine/session.h"

struct uvzk__node_cache;

/* Part of a node cache. */
struct uvzk__seed_value {
    void *data; /* the data for a missing znode; NULL: nothing is left to write */
    size_t length;
    struct uvzk__node_create create; /* of the znode */
    int refusal;                     /* why the seed could not be written; 0 */
};

/* Takes ownership of a seed, which is written if the znode is found to be missing. While
 * one seed is waiting to be written, further ones are freed. */
void uvzk__seed_value_set(struct uvzk__node_cache *, void *data, size_t length);

/* Returns true if there is a seed to write. Returns false if another recipe of this
 * client owns the znode, because a seed would block that recipe forever
 * (znode_owner.h). */
bool uvzk__seed_value_is_wanted(struct uvzk__node_cache *);

/* Nothing is left to write. */
void uvzk__seed_value_drop(struct uvzk__node_cache *);

#endif
