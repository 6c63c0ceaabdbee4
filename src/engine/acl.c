/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks ACLs, computes their length on the wire, and chooses the ACL of a new znode
 * (acl.h). */
#include "engine/acl.h"

#include <string.h>

#include "base/refusal.h"

/* perms and the lengths of the two strings, 4 bytes each. */
#define ENTRY_BYTES 12U
/* A request with such an ACL and UVZK__DATA_MAX bytes of data is still below the servers'
 * jute.maxbuffer. */
#define BYTES_MAX 40000U

/* The shortest one that a server is configured for: SHA-1, in base64. */
#define HASH_MIN 28U

/* ---------------------------------------------------------------------------- identities */

/* These return a sentence; NULL: servers may accept the identity. They refuse what no
 * server accepts, and what no client can ever be. */

static const char *fault_of_world(const char *id)
{
    return strcmp(id, "anyone") == 0 ? NULL
                                     : "options.acl: the id of world is \"anyone\"";
}

static const char *fault_of_auth(const char *id)
{
    return id[0] == '\0'
               ? NULL
               : "options.acl: auth stands for the client's own identities, and "
                 "has no id";
}

/* A password in place of its hash would be an identity that nobody has. */
static const char *fault_of_digest(const char *id)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *hash = strchr(id, ':');
    size_t letters = hash == NULL ? 0 : strspn(hash + 1, base64);
    size_t length = hash == NULL ? 0 : letters + strspn(hash + 1 + letters, "=");

    return hash != NULL && hash != id && length >= HASH_MIN && length % 4 == 0 &&
                   length - letters <= 2 && hash[1 + length] == '\0'
               ? NULL
               : "options.acl: the id of digest is NAME:HASH, and the hash is the base64 "
                 "of the SHA-1 of NAME:PASSWORD";
}

static const char *fault_of_ip(const char *id)
{
    return strpbrk(id, ".:") != NULL &&
                   id[strspn(id, "0123456789abcdefABCDEF.:/")] == '\0'
               ? NULL
               : "options.acl: the id of ip is an address, or an address and /BITS";
}

static const char *fault_of_sasl(const char *id)
{
    return id[0] != '\0' ? NULL
                         : "options.acl: the id of sasl is the principal as the servers "
                           "see it";
}

/* Servers compare the text. */
static const char *fault_of_x509(const char *id)
{
    return strchr(id, '=') != NULL && strstr(id, ", ") == NULL
               ? NULL
               : "options.acl: the id of x509 is the certificate's subject as RFC 2253 "
                 "writes it, without a blank after a comma: CN=app,O=Example";
}

/* Servers may have further schemes. */
static const char *fault_of_other(const char *id)
{
    (void)id;
    return NULL;
}

static const char *fault_of_identity(const char *scheme, const char *id)
{
    static const struct {
        const char *scheme;
        const char *(*fault)(const char *id);
    } known[] = {{"world", fault_of_world},   {"auth", fault_of_auth},
                 {"digest", fault_of_digest}, {"ip", fault_of_ip},
                 {"sasl", fault_of_sasl},     {"x509", fault_of_x509}};
    const char *(*fault)(const char *id) = fault_of_other;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].scheme, scheme) == 0) {
            fault = known[i].fault;
        }
    }
    return fault(id);
}

/* ------------------------------------------------------------------------------- a text */

static uint32_t perm_of(char letter)
{
    switch (letter) {
    case 'c':
        return UVZK_PERM_CREATE;
    case 'd':
        return UVZK_PERM_DELETE;
    case 'r':
        return UVZK_PERM_READ;
    case 'w':
        return UVZK_PERM_WRITE;
    case 'a':
        return UVZK_PERM_ADMIN;
    default:
        return 0;
    }
}

/* Reads letters until a comma or the end. Returns the end, or NULL: there is another
 * letter, or none at all. */
static char *read_perms(char *text, uint32_t *perms)
{
    *perms = 0;
    while (perm_of(*text) != 0) {
        *perms |= perm_of(*text++);
    }
    return *perms != 0 && (*text == ',' || *text == '\0') ? text : NULL;
}

/* An id may have colons and commas in it: it ends where permissions follow it. Returns the
 * end of the entry, or NULL. */
static char *read_entry(char *text, uvzk_acl_t *entry)
{
    char *id = strchr(text, ':');
    char *end = NULL;

    for (char *colon = id; colon != NULL && end == NULL; colon = strchr(colon + 1, ':')) {
        end = colon == id ? NULL : read_perms(colon + 1, &entry->perms);
        if (end != NULL) {
            *colon = '\0';
        }
    }
    if (end == NULL || id == text) {
        return NULL;
    }
    *id = '\0';
    entry->scheme = text;
    entry->id = id + 1;
    return end;
}

size_t uvzk__acl_count_in(const char *text)
{
    size_t count = 1;

    for (const char *comma = strchr(text, ','); comma != NULL;
         comma = strchr(comma + 1, ',')) {
        count++;
    }
    return count;
}

const char *uvzk__acl_read(char *text, uvzk_acl_t *entries, size_t *count)
{
    const char *fault = NULL;
    char *end = text;

    *count = 0;
    while (fault == NULL && end != NULL) {
        uvzk_acl_t *entry = &entries[(*count)++];
        end = read_entry(text, entry);
        if (end == NULL) {
            return "options.acl: not anyone, ours or ours-anyone-reads, and not a list "
                   "of SCHEME:ID:PERMISSIONS, where PERMISSIONS are some of the letters "
                   "cdrwa";
        }
        fault = fault_of_identity(entry->scheme, entry->id);
        text = end + 1;
        end = *end == ',' ? end : NULL;
    }
    return fault;
}

/* ---------------------------------------------------------------------------------------- */

static const char *fault_of_entry(const uvzk_acl_t *entry)
{
    if (entry->scheme == NULL || entry->scheme[0] == '\0' || entry->id == NULL ||
        entry->perms == 0 || entry->perms > UVZK_PERM_ALL) {
        return "options.acl: an entry has no scheme, no id or no permissions";
    }
    return fault_of_identity(entry->scheme, entry->id);
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
        const char *fault = fault_of_entry(&entries[i]);
        if (fault != NULL) {
            return uvzk__refuse(UV_EINVAL, fault);
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
