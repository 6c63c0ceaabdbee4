#include "engine/znode_owner.h"

#include <string.h>

#include "base/refusal.h"
#include "engine/session.h"

static struct uvzk__znode_owner **owners_of(const struct uvzk__session *session)
{
    return &session->client->znode_owners;
}

/* One of those at this path; NULL: there is none. */
static const struct uvzk__znode_owner *find(const struct uvzk__session *session,
                                            const char *path)
{
    struct uvzk__znode_owner *owner;

    HASH_FIND_STR(*owners_of(session), path, owner);
    return owner;
}

int uvzk__znode_owner_check(const struct uvzk__session *session, const char *path,
                            enum uvzk__znode_owner_kind kind)
{
    const struct uvzk__znode_owner *owner = find(session, path);

    if (owner == NULL || owner->kind == kind) {
        return 0;
    }
    return uvzk__refuse(UV_EEXIST,
                        owner->kind == UVZK__OWNED_BY_LOCK
                            ? "this client has a lock whose driver gives its znode that "
                              "path; close the lock first"
                            : "this client has a persistent node or a group member of "
                              "that path already; close it first");
}

bool uvzk__znode_is_owned(const struct uvzk__session *session, const char *path)
{
    return find(session, path) != NULL;
}

int uvzk__znode_owner_begin(struct uvzk__session *session,
                            struct uvzk__znode_owner *owner, const char *path,
                            enum uvzk__znode_owner_kind kind)
{
    owner->kind = (uint8_t)kind;
    HASH_ADD_KEYPTR(hh, *owners_of(session), path, strlen(path), owner);
    return owner->hh.tbl == NULL ? UV_ENOMEM : 0;
}

void uvzk__znode_owner_end(struct uvzk__session *session, struct uvzk__znode_owner *owner)
{
    if (owner->hh.tbl != NULL) {
        HASH_DEL(*owners_of(session), owner);
        owner->hh.tbl = NULL;
    }
}
