/* The create of a znode whose parents may be missing (Curator's
 * creatingParentContainersIfNeeded): several creates, one after the other. The owner sends
 * each of them in its own request, first that of the znode itself. If the parent is
 * missing, that is created next, then the way back down to the znode. */
#ifndef UVZK_NODE_CREATE_H
#define UVZK_NODE_CREATE_H

#include <stdbool.h>

#include "engine/session.h"

struct uvzk__node_create {
    const char *path; /* of the znode, namespace included; borrowed */
    const void *data; /* of the znode, borrowed; ancestors get none */
    size_t length;
    enum uvzk__mode mode; /* of the znode */
    char
        *creating_path; /* what the request under way creates: the znode or an ancestor */
    struct uvzk__acl acl; /* of that znode (acl.h) */
};

/* mode: of the znode. The path must stay valid for as long as the struct is used. Returns false
 * if out of memory; then nothing has to be freed. */
bool uvzk__node_create_init(struct uvzk__node_create *, const char *path,
                            enum uvzk__mode mode);
/* What the znode gets from now on; valid until the reply. */
void uvzk__node_create_set_data(struct uvzk__node_create *, const void *data,
                                size_t length);
void uvzk__node_create_free(struct uvzk__node_create *);

/* Prepares the request as the create of the znode at the first `length` bytes of the path:
 * the znode itself, or an ancestor. */
void uvzk__node_create_prepare(struct uvzk__session *, struct uvzk__node_create *,
                               struct uvzk__rpc *, size_t length, uvzk__reply_cb replied);

/* That request was answered with this status. Returns the length of the path that is to be
 * created next. 0: nothing is, because the znode itself exists, created by this request or
 * by another client, or because the create has failed. */
size_t uvzk__node_create_next(struct uvzk__session *, const struct uvzk__node_create *,
                              const struct uvzk__rpc *, int status);

/* Whether the request under way, or the last one, creates the znode itself. */
bool uvzk__node_create_is_last(const struct uvzk__node_create *);

#endif
