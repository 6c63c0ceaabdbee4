/* The ACL of a znode that is to be made: the client's own, or what its acl_cb says of
 * the path. */
#ifndef UVZK_ACL_H
#define UVZK_ACL_H

#include "engine/session.h"

/* 0, or UV_EINVAL: an entry that is none, or more than a request has room for. */
int uvzk__acl_check(const uvzk_acl_t *entries, size_t count);

/* Bytes of a request. */
size_t uvzk__acl_bytes(const struct uvzk__acl *);

/* For the znode of this path. What is returned is `storage`, which must stay until the
 * reply, or the client's own. What acl_cb says and is no ACL becomes an empty one, which
 * servers refuse: UVZK_EINVALIDACL for whoever needs the znode. */
const struct uvzk__acl *uvzk__acl_of(struct uvzk__session *, const char *path,
                                     struct uvzk__acl *storage);

#endif
