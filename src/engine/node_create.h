/* SPDX-License-Identifier: Apache-2.0 */
/* The create of a znode whose parents may be missing (Curator's
 * creatingParentContainersIfNeeded): several creates, one after the other. The owner sends
 * each of them in its own request, first that of the znode itself. If the parent is
 * missing, the parent is created next, and then each znode below it down to the znode
 * itself. Ancestors are containers, which the server removes when they are empty, or
 * persistent znodes if the server has no containers (before ZooKeeper 3.5.1). */
#ifndef UVZK_NODE_CREATE_H
#define UVZK_NODE_CREATE_H

#include <stdbool.h>

#include "engine/session.h"

struct uvzk__node_create {
    const char *path; /* of the znode, namespace included; borrowed */
    const void *data; /* of the znode, borrowed; ancestors get none */
    size_t length;
    enum uvzk__mode mode; /* of the znode */
    /* What the next request, or the one under way, creates: the znode or an ancestor. NULL:
     * missing parents are not created. */
    char *creating_path;
    struct uvzk__acl acl; /* of that znode (acl.h) */
};

/* Makes the path of a znode with a random name below this directory: a UUID, as Curator
 * writes it. A create of it that is repeated, and finds the znode, has found its own. The
 * caller frees the path. Returns 0, UV_ENOMEM or UV_EIO. */
int uvzk__random_path(struct uvzk__session *, const char *directory, char **path);

/* mode: of the znode. The path must stay valid for as long as the struct is used. Returns
 * false if out of memory; then nothing has to be freed. */
bool uvzk__node_create_init(struct uvzk__node_create *, const char *path,
                            enum uvzk__mode mode);
/* The same, but missing parents are not created, and nothing has to be freed. */
void uvzk__node_create_init_alone(struct uvzk__node_create *, const char *path,
                                  enum uvzk__mode mode);
/* Sets the data that the znode gets from now on. It must stay valid until the reply. */
void uvzk__node_create_set_data(struct uvzk__node_create *, const void *data,
                                size_t length);
void uvzk__node_create_free(struct uvzk__node_create *);

/* The next request creates the znode itself, as after the init. */
void uvzk__node_create_begin(struct uvzk__node_create *);

/* Prepares the next request. */
void uvzk__node_create_prepare(struct uvzk__session *, struct uvzk__node_create *,
                               struct uvzk__rpc *, uvzk__reply_cb replied);

/* That request was answered with this status. Returns true if another request is needed,
 * which is prepared in the same way. Otherwise the znode itself exists, created by this
 * request or by another client, or the create has failed. */
bool uvzk__node_create_next(struct uvzk__session *, struct uvzk__node_create *,
                            const struct uvzk__rpc *, int status);

/* Returns true if the request under way, or the last one, creates the znode itself. */
bool uvzk__node_create_is_last(const struct uvzk__node_create *);

/* For an owner that keeps the requests itself (directory/parents.c). rpc: a create of the
 * znode with this path or of an ancestor, answered with this status. Returns the length
 * of the path to create next; 0: none. */
size_t uvzk__node_create_next_length(struct uvzk__session *, const char *path,
                                     const struct uvzk__rpc *rpc, int status);
/* Turns a create into that of an ancestor. */
void uvzk__node_create_as_ancestor(struct uvzk__session *, struct uvzk__rpc *,
                                   struct uvzk__acl *storage);

#endif
