/* Keeps the seed until the znode exists or the server refuses it (seed_value.h).
 * node_cache.c sends the creates. */
#include "value/seed_value.h"

#include "base/memory.h"
#include "engine/znode_owner.h"
#include "value/node_cache.h"

void uvzk__seed_value_set(struct uvzk__node_cache *node_cache, void *data, size_t length)
{
    struct uvzk__seed_value *seed = &node_cache->seed;

    /* The seed that came first is still waiting to be written. */
    if (seed->data != NULL) {
        uvzk__free(data);
        return;
    }
    seed->data = data;
    seed->length = length;
    /* A new seed may be accepted although an earlier one was refused. */
    seed->refusal = 0;
    uvzk__reading_want(&node_cache->reading);
}

bool uvzk__seed_value_is_wanted(struct uvzk__node_cache *node_cache)
{
    if (uvzk__znode_is_owned(node_cache->reading.session, node_cache->reading.path)) {
        uvzk__seed_value_drop(node_cache);
    }
    return node_cache->seed.data != NULL;
}

void uvzk__seed_value_drop(struct uvzk__node_cache *node_cache)
{
    uvzk__free(node_cache->seed.data);
    node_cache->seed.data = NULL;
}
