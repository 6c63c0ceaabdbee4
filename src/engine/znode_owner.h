/* SPDX-License-Identifier: Apache-2.0 */
/* Who of this client owns which znode. Most znodes have a name that no other recipe can give
 * them. Others have a path that the user has chosen. An owner of such a znode is refused
 * if the client has another owner at the path that cannot share it:
 *
 * - A persistent node, a group member and a driver lock with a fixed name recognize their znode
 *   by its session, which is the same for all of the client. So two of them at one path would
 *   take each other's znode for their own. There are two exceptions. Locks of one fixed name
 *   exclude one another, as those of two clients do. And a persistent node may be opened while
 *   another one is closing: it does nothing until that one has ended.
 * - An atomic long owns its znode from the first call that changes it, and a barrier from the
 *   first one that sets it. Each has its own data, and a barrier deletes the znode.
 * - A shared value and a shared count own their znode too. They are not in the table, because
 *   each node cache knows its values (turn.h).
 *
 * An ephemeral znode has no children. So a recipe that needs a znode below an owner's
 * ephemeral one is refused, and so is such an owner if a recipe needs a znode below. A
 * znode with children cannot be deleted, so no barrier is set or removed there. A recipe
 * that needs a znode below also creates the znode itself, without a number in it, so a
 * shared count must be opened first.
 *
 * An owner stays an owner until its last request has ended, because it may still delete
 * its znode. */
#ifndef UVZK_ZNODE_OWNER_H
#define UVZK_ZNODE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

struct uvzk__session;

enum uvzk__znode_owner_kind {
    UVZK__OWNED_BY_NODE,    /* a persistent node, or a group member */
    UVZK__OWNED_BY_LOCK,    /* a driver lock with a fixed name */
    UVZK__OWNED_BY_NUMBER,  /* an atomic long */
    UVZK__OWNED_BY_BARRIER, /* not a double one */
    UVZK__OWNED_BY_VALUE,   /* never in the table */
    UVZK__OWNED_BY_COUNT,   /* likewise */
    UVZK__OWNER_KINDS
};

/* What a recipe needs that is opened. */
enum uvzk__znode_need {
    UVZK__NEEDS_ZNODE,    /* at its path */
    UVZK__NEEDS_CHILDREN, /* of the znode at its path */
    UVZK__NEEDS_NUMBER    /* in the znode at its path: a shared count */
};

/* Part of the owner. */
struct uvzk__znode_owner {
    UT_hash_handle hh; /* in those of the client, by path; several may have one path */
    uint32_t order;    /* of two nodes at one path, the older one has the lower number */
    uint8_t kind;      /* enum uvzk__znode_owner_kind */
    bool ephemeral;    /* its znode */
    bool closing;
};

/* Returns true if a persistent node, a group member or a lock owns the znode of this path,
 * namespace included. check: then UV_EEXIST, for a recipe that creates it once. */
bool uvzk__znode_is_owned(const struct uvzk__session *, const char *path);
int uvzk__znode_owner_check(const struct uvzk__session *, const char *path);

/* For a recipe that is opened at a valid path below the namespace, and needs znodes there
 * for as long as it is open. Returns 0, or UVZK_ENOCHILDREN: an owner's ephemeral znode
 * is above, or, if children are needed, at the path. With UVZK__NEEDS_NUMBER also
 * UV_EEXIST: the znode has an owner that writes other data, or a recipe of this client
 * has created it as a parent. */
int uvzk__znode_owner_check_open(struct uvzk__session *, const char *path,
                                 enum uvzk__znode_need);

/* Before a barrier's znode is deleted: 0, or UV_EEXIST: it has another owner; or
 * UVZK_ENOTEMPTY: a recipe of this client needs a znode below. */
int uvzk__znode_owner_check_delete(const struct uvzk__session *, const char *path);

/* begin: the path includes the namespace, and must stay valid until the end. Returns 0,
 * UV_ENOMEM, UVZK_ENOCHILDREN: an ancestor is an owner's ephemeral znode; or UV_EEXIST: the
 * znode has another owner; or it is ephemeral or a barrier's, and a recipe of this client
 * needs a znode below. An owner that has begun may begin again, with the same checks.
 * closing: another one may be opened, and waits. end: does nothing if it has not begun,
 * so the struct is zeroed before. */
int uvzk__znode_owner_begin(struct uvzk__session *, struct uvzk__znode_owner *,
                            const char *path, enum uvzk__znode_owner_kind,
                            bool ephemeral);
void uvzk__znode_owner_closing(struct uvzk__znode_owner *);
void uvzk__znode_owner_end(struct uvzk__session *, struct uvzk__znode_owner *);

/* The persistent node or group member at this path that was opened first. NULL: none. */
struct uvzk__znode_owner *uvzk__znode_owner_first(const struct uvzk__session *,
                                                  const char *path);

#endif
