/* SPDX-License-Identifier: Apache-2.0 */
/* The ACL of a new znode: the client's own ACL (options.acl), or the ACL that acl_cb
 * returns for the path (Curator's ACLProvider). */
#ifndef UVZK_ACL_H
#define UVZK_ACL_H

#include "engine/session.h"

/* Reads "SCHEME:ID:PERMISSIONS,...", as ZooKeeper's command line writes it, in place: the
 * entries refer to the text. There is room for uvzk__acl_count_in(text) entries. Returns
 * NULL, or a sentence. */
const char *uvzk__acl_read(char *text, uvzk_acl_t *entries, size_t *count);
/* Returns how many entries the text has at most. */
size_t uvzk__acl_count_in(const char *text);

/* Returns 0, or UV_EINVAL: an entry is invalid, or the entries together take more bytes
 * than a request has room for. */
int uvzk__acl_check(const uvzk_acl_t *entries, size_t count);

/* Returns the ACL for the znode with this path. Without acl_cb, or if acl_cb returns
 * NULL, the result is the client's own ACL. Otherwise it is `storage`, which must stay
 * valid until the reply. If acl_cb returns an invalid ACL, the result is an empty ACL.
 * Servers refuse an empty ACL, so the call that needs the znode ends with
 * UVZK_EINVALIDACL. */
const struct uvzk__acl *uvzk__acl_of(struct uvzk__session *, const char *path,
                                     struct uvzk__acl *storage);

/* ------------------------------------------------------------ for this room alone */

/* Returns how many bytes the entries of the ACL take in a request. */
size_t uvzk__acl_bytes(const struct uvzk__acl *);

#endif
