/* Who of this client owns which znode. Most znodes have a name that no other recipe can give
 * them. A persistent node, a group member and a driver lock with a fixed name have a path that
 * the user has chosen, and recognize their znode by its session, which is the same for all of
 * the client. So two of them at one path would take each other's znode for their own: the
 * second is refused. There are two exceptions. Locks of one fixed name exclude one another, as
 * those of two clients do. And a persistent node may be opened while another one is closing:
 * it does nothing until that one has ended.
 *
 * An ephemeral znode has no children. So nothing that needs a znode below an owner's ephemeral
 * one is opened, and no such owner where something needs a znode below.
 *
 * An owner is one until nothing of it is left: it may delete its znode as late as that. */
#ifndef UVZK_ZNODE_OWNER_H
#define UVZK_ZNODE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

struct uvzk__session;

enum uvzk__znode_owner_kind {
    UVZK__OWNED_BY_NODE, /* a persistent node, or a group member */
    UVZK__OWNED_BY_LOCK  /* a driver lock with a fixed name */
};

/* Part of the owner. */
struct uvzk__znode_owner {
    UT_hash_handle hh; /* in those of the client, by path; several may have one path */
    uint32_t order;    /* of two at one path, the older one has the lower number */
    uint8_t kind;      /* enum uvzk__znode_owner_kind */
    bool ephemeral;    /* its znode */
    bool closing;
};

/* For who creates or deletes a znode once, as a barrier does: 0, or UV_EEXIST: the znode of
 * this path, namespace included, has an owner. */
int uvzk__znode_owner_check(const struct uvzk__session *, const char *path);

/* Returns true if the znode of this path has an owner. */
bool uvzk__znode_is_owned(const struct uvzk__session *, const char *path);

/* 0, or UVZK_ENOCHILDREN: an ancestor of this path, namespace included, is an owner's ephemeral
 * znode. itself: the path counts too, because children of it are needed. */
int uvzk__znode_owner_check_parents(const struct uvzk__session *, const char *path,
                                    bool itself);
/* The same for a recipe that is opened, at a valid path below the namespace. A recipe
 * that needs znodes there while it is open calls this. */
int uvzk__znode_owner_check_open(struct uvzk__session *, const char *path, bool itself);

/* begin: the path includes the namespace, and must stay valid until the end. Returns 0,
 * UV_ENOMEM, or UV_EEXIST: the znode has another owner; or it is ephemeral, and something of
 * this client needs a znode below. closing: another one may be opened, and
 * waits. end: does nothing if it has not begun, so the struct is zeroed before. */
int uvzk__znode_owner_begin(struct uvzk__session *, struct uvzk__znode_owner *,
                            const char *path, enum uvzk__znode_owner_kind,
                            bool ephemeral);
void uvzk__znode_owner_closing(struct uvzk__znode_owner *);
void uvzk__znode_owner_end(struct uvzk__session *, struct uvzk__znode_owner *);

/* The owner at this path that was opened first. NULL: there is none. */
struct uvzk__znode_owner *uvzk__znode_owner_first(const struct uvzk__session *,
                                                  const char *path);

#endif
