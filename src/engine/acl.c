/* Checks ACLs, computes their length on the wire, and chooses the ACL of a new znode
 * (acl.h). */
#include "engine/acl.h"

#include <string.h>

#include "base/refusal.h"

/* perms and the lengths of the two strings, 4 bytes each. */
#define ENTRY_BYTES 12U
/* A request with such an ACL and UVZK__DATA_MAX bytes of data is still below the servers'
 * jute.maxbuffer. */
#define BYTES_MAX 40000U

static bool is_valid_entry(const uvzk_acl_t *entry)
{
    return entry->scheme != NULL && entry->id != NULL && entry->perms != 0 &&
           entry->perms <= UVZK_PERM_ALL;
}

static size_t entry_bytes(const uvzk_acl_t *entry)
{
    return ENTRY_BYTES + strlen(entry->scheme) + strlen(entry->id);
}

int uvzk__acl_check(const uvzk_acl_t *entries, size_t count)
{
    size_t bytes = 0;

    if (count > 0 && entries == NULL) {
        return uvzk__refuse(UV_EINVAL, "options.acl is NULL, acl_count is not 0");
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_valid_entry(&entries[i])) {
            return uvzk__refuse(
                UV_EINVAL,
                "options.acl: an entry has no scheme, no id or no permissions");
        }
        bytes += entry_bytes(&entries[i]);
        if (bytes > BYTES_MAX) {
            return uvzk__refuse(UV_EINVAL, "options.acl: more than 40000 bytes");
        }
    }
    return 0;
}

size_t uvzk__acl_bytes(const struct uvzk__acl *acl)
{
    size_t bytes = 0;

    for (size_t i = 0; i < acl->count; i++) {
        bytes += entry_bytes(&acl->entries[i]);
    }
    return bytes;
}

const struct uvzk__acl *uvzk__acl_of(struct uvzk__session *session, const char *path,
                                     struct uvzk__acl *storage)
{
    size_t count = 0;

    if (session->acl_cb == NULL) {
        return &session->acl;
    }
    storage->entries = session->acl_cb(session->handle, path, &count);
    if (storage->entries == NULL) {
        return &session->acl;
    }
    storage->count = uvzk__acl_check(storage->entries, count) == 0 ? count : 0;
    return storage;
}
