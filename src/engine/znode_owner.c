/* SPDX-License-Identifier: Apache-2.0 */
/* A table of owners by path for each client (znode_owner.h). The init functions ask it
 * before they open something; it does not change who owns a znode at the servers. */
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
static struct uvzk__znode_owner *znode_owner_find(const struct uvzk__session *session,
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

/* -------------------------------------------------------------------------- one path */

#define BIT(kind) (1U << (unsigned)UVZK__OWNED_BY_##kind)

/* The owners because of which an owner of this kind is refused. The data of a persistent
 * node may be a number, and a value accepts any data. */
static const uint8_t excluded[UVZK__OWNER_KINDS] = {
    [UVZK__OWNED_BY_NODE] = BIT(NODE) | BIT(LOCK),
    [UVZK__OWNED_BY_LOCK] =
        BIT(NODE) | BIT(NUMBER) | BIT(BARRIER) | BIT(VALUE) | BIT(COUNT),
    [UVZK__OWNED_BY_NUMBER] = BIT(NODE) | BIT(LOCK) | BIT(BARRIER) | BIT(COUNT),
    [UVZK__OWNED_BY_BARRIER] =
        BIT(NODE) | BIT(LOCK) | BIT(NUMBER) | BIT(VALUE) | BIT(COUNT),
    [UVZK__OWNED_BY_COUNT] = BIT(LOCK) | BIT(NUMBER) | BIT(BARRIER),
};

static const char *const sentences[UVZK__OWNER_KINDS] = {
    [UVZK__OWNED_BY_NODE] = "this client has a persistent node or a group member of that "
                            "path already; close it first",
    [UVZK__OWNED_BY_LOCK] =
        "this client has a lock whose driver gives its znode that path; "
        "close the lock first",
    [UVZK__OWNED_BY_NUMBER] = "this client has changed an atomic long of that path; use "
                              "another path",
    [UVZK__OWNED_BY_BARRIER] = "this client has set a barrier of that path; use another "
                               "path",
    [UVZK__OWNED_BY_VALUE] =
        "this client has a shared value of that path; close it first, "
        "or use another path",
    [UVZK__OWNED_BY_COUNT] =
        "this client has a shared count of that path; close it first, "
        "or use another path",
};

/* The bits of the owners at this path, which begin and end. Without those that are closing,
 * if so. */
static unsigned begun_at(const struct uvzk__session *session, const char *path,
                         bool without_closing)
{
    unsigned bits = 0;

    for (const struct uvzk__znode_owner *owner = znode_owner_find(session, path);
         owner != NULL; owner = find_next(owner)) {
        bits |= owner->closing && without_closing ? 0 : 1U << owner->kind;
    }
    return bits;
}

/* The same, and the bits of the values at this path. */
static unsigned owners_at(const struct uvzk__session *session, const char *path,
                          bool without_closing)
{
    const struct uvzk__session *home = uvzk__home_of(session, path);

    return begun_at(session, path, without_closing) |
           home->turn_hooks->values_at(home, path);
}

static int refuse_owners(unsigned bits)
{
    unsigned kind = 0;

    while (kind < UVZK__OWNER_KINDS && (bits & 1U << kind) == 0) {
        kind++;
    }
    return uvzk__refuse_if(UV_EEXIST, kind == UVZK__OWNER_KINDS ? NULL : sentences[kind]);
}

/* For an owner of this kind. Only a persistent node waits for one that is closing. */
static int check_path(const struct uvzk__session *session, const char *path,
                      enum uvzk__znode_owner_kind kind)
{
    return refuse_owners(owners_at(session, path, kind == UVZK__OWNED_BY_NODE) &
                         excluded[kind]);
}

int uvzk__znode_owner_check(const struct uvzk__session *session, const char *path)
{
    return refuse_owners(begun_at(session, path, false) & (BIT(NODE) | BIT(LOCK)));
}

bool uvzk__znode_is_owned(const struct uvzk__session *session, const char *path)
{
    return (begun_at(session, path, false) & (BIT(NODE) | BIT(LOCK))) != 0;
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

/* 0, or UVZK_ENOCHILDREN: an ancestor of this path is an owner's ephemeral znode. itself: the
 * path counts too, because children of it are needed. */
static int check_parents(const struct uvzk__session *session, const char *path,
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

/* A znode at this depth is needed. */
static void znode_owner_deepen(const struct uvzk__session *session, uint32_t depth)
{
    if (depth > session->client->deepest) {
        session->client->deepest = depth;
    }
}

/* Returns true if something of this client needs a znode below this path. Checks
 * everything, but only if something is that deep: many locks with fixed names are usually
 * at one depth. */
static bool is_parent(const struct uvzk__session *session, const char *path)
{
    if (depth_of(path) >= session->client->deepest) {
        return false;
    }
    for (uint32_t i = 0; i < session->client->count; i++) {
        const struct uvzk__session *each = session->client->sessions[i];
        if (each->turn_hooks->needs_below(each, path)) {
            return true;
        }
    }
    const struct uvzk__znode_owner *owner = *owners_of(session);
    while (owner != NULL && !uvzk__path_is_below(owner->hh.key, path, false)) {
        owner = owner->hh.next;
    }
    return owner != NULL;
}

/* A count makes its znode, so whatever needs it as a parent comes later, as does another
 * count. */
static int check_number(const struct uvzk__session *session, const char *path)
{
    unsigned bits = owners_at(session, path, false);
    int status = refuse_owners(bits & excluded[UVZK__OWNED_BY_COUNT]);

    if (status != 0 || (bits & BIT(COUNT)) != 0) {
        return status;
    }
    return uvzk__refuse_if(
        UV_EEXIST, is_parent(session, path)
                       ? "this client has something at or below that path already, "
                         "which makes that znode without a number; open the count "
                         "first, because it makes the znode"
                       : NULL);
}

int uvzk__znode_owner_check_open(struct uvzk__session *session, const char *path,
                                 enum uvzk__znode_need need)
{
    const char *ns = uvzk__namespace_of(session);
    bool children = need == UVZK__NEEDS_CHILDREN, number = need == UVZK__NEEDS_NUMBER;
    char full[UVZK__PATH_MAX + 1];
    int status = 0;

    znode_owner_deepen(session, depth_of(ns) + depth_of(path) + (children ? 1 : 0));
    if (number || *owners_of(session) != NULL) {
        (void)uvzk__path_join_into(full, ns, path);
        status = check_parents(session, full, children);
    }
    return status == 0 && number ? check_number(session, full) : status;
}

int uvzk__znode_owner_check_delete(const struct uvzk__session *session, const char *path)
{
    int status = check_path(session, path, UVZK__OWNED_BY_BARRIER);

    return status != 0 ? status
                       : uvzk__refuse_if(UVZK_ENOTEMPTY,
                                         is_parent(session, path)
                                             ? "something of this client needs znodes "
                                               "below that path; close it first"
                                             : NULL);
}

/* ------------------------------------------------------------------------ the owners */

/* Greater than those of the nodes at this path. */
static uint32_t next_order(const struct uvzk__session *session, const char *path)
{
    uint32_t order = 0;

    for (const struct uvzk__znode_owner *other = znode_owner_find(session, path);
         other != NULL; other = find_next(other)) {
        if (other->order >= order) {
            order = other->order + 1;
        }
    }
    return order;
}

/* Checks that nothing needs children of a znode that can have none. */
static int check_children(const struct uvzk__session *session, const char *path,
                          enum uvzk__znode_owner_kind kind, bool ephemeral)
{
    bool barrier = kind == UVZK__OWNED_BY_BARRIER;

    if (!(ephemeral || barrier) || !is_parent(session, path)) {
        return 0;
    }
    return uvzk__refuse(
        UV_EEXIST, barrier ? "something of this client needs znodes below that path, so "
                             "the barrier could not be removed; close it first"
                           : "something of this client needs znodes below that path, "
                             "and an ephemeral znode can have no children");
}

int uvzk__znode_owner_begin(struct uvzk__session *session,
                            struct uvzk__znode_owner *owner, const char *path,
                            enum uvzk__znode_owner_kind kind, bool ephemeral)
{
    bool begun = owner->hh.tbl != NULL;
    int status = check_path(session, path, kind);

    /* An owner that has begun keeps its ancestors from having an ephemeral znode. */
    if (status == 0 && !begun) {
        status = check_parents(session, path, false);
    }
    if (status == 0) {
        status = check_children(session, path, kind, ephemeral);
    }
    if (status != 0 || begun) {
        return status;
    }
    znode_owner_deepen(session, depth_of(path));
    owner->order = next_order(session, path);
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
    struct uvzk__znode_owner *first = NULL;

    for (struct uvzk__znode_owner *other = znode_owner_find(session, path); other != NULL;
         other = find_next(other)) {
        if (other->kind == UVZK__OWNED_BY_NODE &&
            (first == NULL || other->order < first->order)) {
            first = other;
        }
    }
    return first;
}
