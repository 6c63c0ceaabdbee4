/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which create is next: the znode, a missing parent, or the way back down
 * (node_create.h). The owners send the requests and pass in the replies. */
#include "engine/node_create.h"

#include <string.h>

#include "base/memory.h"
#include "base/node_name.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/acl.h"
#include "engine/submission.h"

int uvzk__random_path(struct uvzk__session *session, const char *directory, char **path)
{
    char name[UVZK__PROTECTED_NAME_SIZE];
    uint8_t uuid[UVZK__UUID_BYTES];

    *path = NULL;
    if (uvzk__random(session, uuid, sizeof(uuid)) != 0) {
        return uvzk__refuse(UV_EIO, "the system has no random bytes for a znode's name");
    }
    uvzk__uuid_from_random(uuid);
    (void)uvzk__protected_name(name, uuid, "");
    name[UVZK__UUID_AT + UVZK__UUID_TEXT] = '\0';
    *path = uvzk__path_join(directory, name + UVZK__UUID_AT);
    return *path == NULL ? UV_ENOMEM : 0;
}

void uvzk__node_create_init_alone(struct uvzk__node_create *create, const char *path,
                                  enum uvzk__mode mode)
{
    create->path = path;
    create->mode = mode;
}

bool uvzk__node_create_init(struct uvzk__node_create *create, const char *path,
                            enum uvzk__mode mode)
{
    uvzk__node_create_init_alone(create, path, mode);
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

static void go_to(struct uvzk__node_create *create, size_t length)
{
    memcpy(create->creating_path, create->path, length);
    create->creating_path[length] = '\0';
}

void uvzk__node_create_begin(struct uvzk__node_create *create)
{
    if (create->creating_path != NULL) {
        go_to(create, strlen(create->path));
    }
}

bool uvzk__node_create_is_last(const struct uvzk__node_create *create)
{
    return create->creating_path == NULL ||
           create->path[strlen(create->creating_path)] == '\0';
}

void uvzk__node_create_as_ancestor(struct uvzk__session *session, struct uvzk__rpc *rpc,
                                   struct uvzk__acl *storage)
{
    rpc->mode = session->containers ? UVZK__CONTAINER : UVZK__PERSISTENT;
    rpc->data = "";
    rpc->acl = uvzk__acl_of(session, rpc->path, storage);
}

void uvzk__node_create_prepare(struct uvzk__session *session,
                               struct uvzk__node_create *create, struct uvzk__rpc *rpc,
                               uvzk__reply_cb replied)
{
    if (!uvzk__node_create_is_last(create)) {
        uvzk__rpc_prepare(rpc, UVZK__RPC_CREATE, create->creating_path, replied);
        uvzk__node_create_as_ancestor(session, rpc, &create->acl);
        return;
    }
    uvzk__rpc_prepare(rpc, UVZK__RPC_CREATE, create->path, replied);
    rpc->mode = (uint8_t)create->mode;
    rpc->data = create->data;
    rpc->data_length = create->length;
    rpc->acl = uvzk__acl_of(session, create->path, &create->acl);
}

size_t uvzk__node_create_next_length(struct uvzk__session *session, const char *path,
                                     const struct uvzk__rpc *rpc, int status)
{
    size_t length = strlen(rpc->path);
    size_t parent_length = uvzk__path_parent_length(rpc->path);

    if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* An ancestor exists: the next element of the path. */
        return path[length] == '\0' ? 0 : uvzk__path_next_length(path, length);
    }
    if (status == UVZK_ENONODE && parent_length > 1) {
        return parent_length; /* the parent is missing */
    }
    if (status == UVZK_EUNIMPLEMENTED && rpc->mode == UVZK__CONTAINER) {
        /* The server is older than 3.5.1: a persistent znode instead. */
        session->containers = false;
        return length;
    }
    return 0;
}

bool uvzk__node_create_next(struct uvzk__session *session,
                            struct uvzk__node_create *create, const struct uvzk__rpc *rpc,
                            int status)
{
    size_t next = create->creating_path == NULL
                      ? 0
                      : uvzk__node_create_next_length(session, create->path, rpc, status);

    if (next != 0) {
        go_to(create, next);
    }
    return next != 0;
}
