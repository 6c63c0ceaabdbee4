#include "value/node_create.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "engine/acl.h"
#include "engine/submission.h"

bool uvzk__node_create_init(struct uvzk__node_create *create, const char *path,
                            enum uvzk__mode mode)
{
    create->path = path;
    create->mode = mode;
    create->creating_path = uvzk__strdup(path);
    return create->creating_path != NULL;
}

void uvzk__node_create_set_data(struct uvzk__node_create *create, const void *data,
                                size_t length)
{
    create->data = data;
    create->length = length;
}

void uvzk__node_create_free(struct uvzk__node_create *create)
{
    uvzk__free(create->creating_path);
    create->creating_path = NULL;
}

void uvzk__node_create_prepare(struct uvzk__session *session,
                               struct uvzk__node_create *create, struct uvzk__rpc *rpc,
                               size_t length, uvzk__reply_cb replied)
{
    bool ancestor = create->path[length] != '\0';

    memcpy(create->creating_path, create->path, length);
    create->creating_path[length] = '\0';
    uvzk__rpc_prepare(rpc, UVZK__RPC_CREATE, create->creating_path, replied);
    rpc->mode = !ancestor                         ? (uint8_t)create->mode
                : uvzk__makes_containers(session) ? UVZK__CONTAINER
                                                  : UVZK__PERSISTENT;
    /* An ancestor gets no data. */
    rpc->data = ancestor ? "" : create->data;
    rpc->data_length = ancestor ? 0 : create->length;
    rpc->acl = uvzk__acl_of(session, create->creating_path, &create->acl);
}

bool uvzk__node_create_is_last(const struct uvzk__node_create *create)
{
    return create->path[strlen(create->creating_path)] == '\0';
}

size_t uvzk__node_create_next(struct uvzk__session *session,
                              const struct uvzk__node_create *create,
                              const struct uvzk__rpc *rpc, int status)
{
    size_t length = strlen(create->creating_path);
    size_t parent_length = uvzk__path_parent_length(create->creating_path);

    if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* An ancestor exists: the next element of the path. */
        return uvzk__node_create_is_last(create)
                   ? 0
                   : uvzk__path_next_length(create->path, length);
    }
    if (status == UVZK_ENONODE && parent_length > 1) {
        return parent_length; /* the parent is missing */
    }
    if (status == UVZK_EUNIMPLEMENTED && rpc->mode == UVZK__CONTAINER) {
        /* The server is older than 3.5.1: a persistent znode instead. */
        uvzk__no_containers(session);
        return length;
    }
    return 0;
}
