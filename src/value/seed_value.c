/* Keeps the seed until the znode exists or the server refuses it, and sends the creates
 * (seed_value.h). */
#include "value/seed_value.h"

#include "base/memory.h"
#include "base/outcome.h"
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

/* Creates the znode with its seed, or an ancestor. */
static void seed_value_create(struct uvzk__node_cache *node_cache)
{
    struct uvzk__seed_value *seed = &node_cache->seed;
    struct uvzk__reading *reading = &node_cache->reading;

    if (uvzk__reading_may_ask(reading)) {
        uvzk__node_create_set_data(&seed->create, seed->data, seed->length);
        uvzk__node_create_prepare(reading->session, &seed->create, &reading->rpc,
                                  uvzk__reading_replied);
        uvzk__reading_send(reading);
    } else {
        /* It starts again with a read when sending is possible, even if a watch is set. */
        uvzk__reading_want(reading);
    }
}

void uvzk__seed_value_write(struct uvzk__node_cache *node_cache)
{
    uvzk__node_create_begin(&node_cache->seed.create);
    seed_value_create(node_cache);
}

int uvzk__seed_value_answered(struct uvzk__node_cache *node_cache, int status)
{
    struct uvzk__seed_value *seed = &node_cache->seed;
    struct uvzk__reading *reading = &node_cache->reading;

    if (uvzk__node_create_next(reading->session, &seed->create, &reading->rpc, status)) {
        seed_value_create(node_cache);
        return 0;
    }
    if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* The read takes the znode's data, whichever client has created it. */
        uvzk__seed_value_drop(node_cache);
        uvzk__reading_want(reading);
        return 0;
    }
    if (!uvzk__is_transient(status)) {
        /* A refused seed is not tried again. The refusal is reported for as long as the
         * znode is missing. */
        uvzk__seed_value_drop(node_cache);
        seed->refusal = status;
    }
    return status;
}
