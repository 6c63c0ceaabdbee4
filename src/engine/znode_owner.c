#include "engine/znode_owner.h"

#include <string.h>

#include "base/list.h"
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

/* Whether another one of this kind may be there. */
static bool may_be_shared(const struct uvzk__znode_owner *owner,
                          enum uvzk__znode_owner_kind kind)
{
    return owner->kind == kind && (kind == UVZK__OWNED_BY_LOCK || owner->closing);
}

bool uvzk__znode_is_owned(const struct uvzk__session *session, const char *path)
{
    return find(session, path) != NULL;
}

int uvzk__znode_owner_begin(struct uvzk__session *session,
                            struct uvzk__znode_owner *owner, const char *path,
                            enum uvzk__znode_owner_kind kind)
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
    owner->kind = (uint8_t)kind;
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
