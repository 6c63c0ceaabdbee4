/* The value with which a node cache creates its znode if the znode is missing (Curator's
 * seedValue). The creates are requests of the node cache's reading. */
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

/* The znode is missing: begins to create it with the seed. */
void uvzk__seed_value_write(struct uvzk__node_cache *);
/* A create was answered with this status. Returns 0 if the next one is under way, or if the
 * znode exists, which wants a reading then; else why it could not be written. */
int uvzk__seed_value_answered(struct uvzk__node_cache *, int status);

#endif
