#include "value/seed_value.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "engine/acl.h"
#include "engine/submission.h"
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
    node_cache->read_again = true;
}

void uvzk__seed_value_drop(struct uvzk__node_cache *node_cache)
{
    uvzk__free(node_cache->seed.data);
    node_cache->seed.data = NULL;
}

void uvzk__seed_value_create(struct uvzk__node_cache *node_cache, size_t length,
                             uvzk__reply_cb replied)
{
    struct uvzk__session *session = node_cache->session;
    struct uvzk__seed_value *seed = &node_cache->seed;
    bool ancestor = node_cache->path[length] != '\0';

    memcpy(seed->creating_path, node_cache->path, length);
    seed->creating_path[length] = '\0';
    uvzk__rpc_prepare(&node_cache->rpc, UVZK__RPC_CREATE, seed->creating_path, replied);
    node_cache->rpc.mode =
        ancestor && uvzk__makes_containers(session) ? UVZK__CONTAINER : UVZK__PERSISTENT;
    /* An ancestor gets no data. */
    node_cache->rpc.data = ancestor ? "" : seed->data;
    node_cache->rpc.data_length = ancestor ? 0 : seed->length;
    node_cache->rpc.acl = uvzk__acl_of(session, seed->creating_path, &seed->acl);
}

size_t uvzk__seed_value_next(struct uvzk__node_cache *node_cache, int status)
{
    const char *created = node_cache->seed.creating_path;
    size_t length = strlen(created);
    size_t parent_length = uvzk__path_parent_length(created);

    if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* An ancestor exists: the next element of the path. */
        return node_cache->path[length] == '\0'
                   ? 0
                   : uvzk__path_next_length(node_cache->path, length);
    }
    if (status == UVZK_ENONODE && parent_length > 1) {
        return parent_length; /* the parent is missing */
    }
    if (status == UVZK_EUNIMPLEMENTED && node_cache->rpc.mode == UVZK__CONTAINER) {
        /* The server is older than 3.5.1: a persistent znode instead. */
        uvzk__no_containers(node_cache->session);
        return length;
    }
    return 0;
}
