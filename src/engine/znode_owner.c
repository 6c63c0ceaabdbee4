#include "engine/znode_owner.h"

#include <string.h>

#include "base/list.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/session.h"

static struct uvzk__znode_owner **owners_of(const struct uvzk__session *session)
{
    return &session->client->znode_owners;
}

/* One of those at this path; NULL: there is none. */
static struct uvzk__znode_owner *find(const struct uvzk__session *session,
                                      const char *path)
{
    struct uvzk__znode_owner *owner;

    HASH_FIND_STR(*owners_of(session), path, owner);
    return owner;
}

/* Another one at its path, until each was returned; NULL: there is no other one. The table
 * has those of one path in one chain, in no order. */
static struct uvzk__znode_owner *find_next(const struct uvzk__znode_owner *owner)
{
    const UT_hash_handle *own = &owner->hh, *next = own->hh_next;

    while (next != NULL && (next->keylen != own->keylen ||
                            memcmp(next->key, own->key, own->keylen) != 0)) {
        next = next->hh_next;
    }
    return next == NULL
               ? NULL
               : UVZK__CONTAINER_OF((uintptr_t)next, struct uvzk__znode_owner, hh);
}

static int refuse(const struct uvzk__znode_owner *owner)
{
    return uvzk__refuse(UV_EEXIST,
                        owner->kind == UVZK__OWNED_BY_LOCK
                            ? "this client has a lock whose driver gives its znode that "
                              "path; close the lock first"
                            : "this client has a persistent node or a group member of "
                              "that path already; close it first");
}

int uvzk__znode_owner_check(const struct uvzk__session *session, const char *path)
{
    const struct uvzk__znode_owner *owner = find(session, path);

    return owner == NULL ? 0 : refuse(owner);
}

/* Returns true if another one of this kind may be there. */
static bool may_be_shared(const struct uvzk__znode_owner *owner,
                          enum uvzk__znode_owner_kind kind)
{
    return owner->kind == kind && (kind == UVZK__OWNED_BY_LOCK || owner->closing);
}

/* ------------------------------------------------------------ ancestors and children */

/* One at the first `length` bytes of the path that has an ephemeral znode. NULL: none. */
static const struct uvzk__znode_owner *find_ephemeral(const struct uvzk__session *session,
                                                      const char *path, size_t length)
{
    const struct uvzk__znode_owner *owner;

    HASH_FIND(hh, *owners_of(session), path, length, owner);
    while (owner != NULL && !owner->ephemeral) {
        owner = find_next(owner);
    }
    return owner;
}

int uvzk__znode_owner_check_parents(const struct uvzk__session *session, const char *path,
                                    bool itself)
{
    const struct uvzk__znode_owner *owner = NULL;
    size_t length = *owners_of(session) == NULL ? 0
                    : itself                    ? strlen(path)
                                                : uvzk__path_parent_length(path);

    while (length > 0 && (owner = find_ephemeral(session, path, length)) == NULL) {
        do {
            length--;
        } while (path[length] != '/');
    }
    return uvzk__refuse_if(
        UVZK_ENOCHILDREN,
        owner == NULL ? NULL
        : owner->kind == UVZK__OWNED_BY_LOCK
            ? "that path is at or below the znode of a lock of this client, to which the "
              "lock's driver gives a fixed name; that znode is ephemeral, so it has no "
              "children"
            : "that path is at or below the znode of a group member or of an ephemeral "
              "persistent node of this client; that znode has no children");
}

static uint32_t depth_of(const char *path)
{
    uint32_t depth = 0;

    while ((path = strchr(path, '/')) != NULL) {
        path++;
        depth++;
    }
    return depth;
}

int uvzk__znode_owner_check_open(struct uvzk__session *session, const char *path,
                                 bool itself)
{
    const char *ns = uvzk__namespace_of(session);
    uint32_t depth = depth_of(ns) + depth_of(path) + (itself ? 1 : 0);
    char full[UVZK__PATH_MAX + 1];

    if (depth > session->client->deepest) {
        session->client->deepest = depth;
    }
    if (*owners_of(session) == NULL) {
        return 0;
    }
    (void)uvzk__path_join_into(full, ns, path);
    return uvzk__znode_owner_check_parents(session, full, itself);
}

/* Returns true if something of this client needs a znode below this path. All of it is
 * looked at, but not if nothing is that deep: many locks with fixed names are usually at
 * one depth. */
static bool is_parent(const struct uvzk__session *session, const char *path)
{
    if (depth_of(path) >= session->client->deepest) {
        return false;
    }
    for (uint32_t i = 0; i < uvzk__session_count(session); i++) {
        const struct uvzk__session *each = uvzk__session_at(session, i);
        if (each->turn_hooks->needs_below(each, path)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------ the owners */

bool uvzk__znode_is_owned(const struct uvzk__session *session, const char *path)
{
    return find(session, path) != NULL;
}

int uvzk__znode_owner_begin(struct uvzk__session *session,
                            struct uvzk__znode_owner *owner, const char *path,
                            enum uvzk__znode_owner_kind kind, bool ephemeral)
{
    owner->order = 0;
    for (const struct uvzk__znode_owner *other = find(session, path); other != NULL;
         other = find_next(other)) {
        if (!may_be_shared(other, kind)) {
            return refuse(other);
        }
        if (other->order >= owner->order) {
            owner->order = other->order + 1;
        }
    }
    if (ephemeral && is_parent(session, path)) {
        return uvzk__refuse(UV_EEXIST,
                            "a lock, an election, a double barrier or a shared value of "
                            "this client needs znodes below that path, and an ephemeral "
                            "znode can have no children");
    }
    owner->kind = (uint8_t)kind;
    owner->ephemeral = ephemeral;
    owner->closing = false;
    HASH_ADD_KEYPTR(hh, *owners_of(session), path, strlen(path), owner);
    return owner->hh.tbl == NULL ? UV_ENOMEM : 0;
}

void uvzk__znode_owner_closing(struct uvzk__znode_owner *owner)
{
    owner->closing = true;
}

void uvzk__znode_owner_end(struct uvzk__session *session, struct uvzk__znode_owner *owner)
{
    if (owner->hh.tbl != NULL) {
        HASH_DEL(*owners_of(session), owner);
        owner->hh.tbl = NULL;
    }
}

struct uvzk__znode_owner *uvzk__znode_owner_first(const struct uvzk__session *session,
                                                  const char *path)
{
    struct uvzk__znode_owner *first = find(session, path);

    for (struct uvzk__znode_owner *other = first; other != NULL;
         other = find_next(other)) {
        first = other->order < first->order ? other : first;
    }
    return first;
}
