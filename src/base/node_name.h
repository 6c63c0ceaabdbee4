/* SPDX-License-Identifier: Apache-2.0 */
/* Names of contenders' znodes, as Curator writes them:
 *   _c_<uuid>-<name prefix><sequence>
 *   for example _c_64fc66ae-773f-4d77-9695-eba698b095f7-lock-0000000000
 * <uuid> is a random version 4 UUID in lower case (Curator's ProtectedUtils). <name
 * prefix> depends on the recipe ("lock-"). <sequence> is appended by the server: %010d of
 * a signed 32-bit counter. Pure functions. */
#ifndef UVZK_NODE_NAME_H
#define UVZK_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UVZK__UUID_BYTES 16
#define UVZK__UUID_TEXT 36                   /* characters, without the NUL */
#define UVZK__UUID_AT 3                      /* offset in a name, after "_c_" */
#define UVZK__PROTECTION_LENGTH (3 + 36 + 1) /* "_c_" uuid "-" */
#define UVZK__NAME_PREFIX_MAX 16
/* "_c_" uuid "-" name prefix and a NUL: the name in a create request. */
#define UVZK__PROTECTED_NAME_SIZE (UVZK__PROTECTION_LENGTH + UVZK__NAME_PREFIX_MAX + 1)

/* "-2147483648" and the NUL. */
#define UVZK__SEQUENCE_SIZE 12

/* The name prefixes of Curator's locks. */
#define UVZK__MUTEX_PREFIX "lock-"
#define UVZK__LATCH_PREFIX "latch-"
#define UVZK__READER_PREFIX "__READ__"
#define UVZK__WRITER_PREFIX "__WRIT__"
#define UVZK__LEASE_PREFIX "lease-"

/* The two znodes below the path of a semaphore (InterProcessSemaphoreV2). */
#define UVZK__TICKETS_NAME "locks"
#define UVZK__LEASES_NAME "leases"

/* Turns 16 random bytes into a UUID of version 4 and variant 1, in place. */
void uvzk__uuid_from_random(uint8_t uuid[UVZK__UUID_BYTES]);

/* Writes "_c_<uuid>-<name prefix>" and a NUL. Returns the length without the NUL. A name
 * prefix of more than UVZK__NAME_PREFIX_MAX characters is cut. */
size_t uvzk__protected_name(char out[UVZK__PROTECTED_NAME_SIZE],
                            const uint8_t uuid[UVZK__UUID_BYTES],
                            const char *name_prefix);

/* Writes a sequence number as the server does, as %010d, and a NUL. */
void uvzk__sequence_write(char out[UVZK__SEQUENCE_SIZE], int32_t sequence);
/* Parses a text that consists of exactly that. False: it does not. */
bool uvzk__sequence_parse(const char *text, int32_t *sequence);

/* The parsed name of a child. All zeros if it is not a contender's. */
struct uvzk__node_name {
    bool is_contender; /* the name follows the grammar and has this name prefix */
    bool has_uuid;     /* a UUID of 36 characters, not go-zookeeper's 32 digits */
    uint8_t uuid[UVZK__UUID_BYTES]; /* set if has_uuid */
    int32_t sequence;               /* negative if the server's counter has overflowed */
};

/* Parses a child's name. The grammar: "_c_"; a UUID of 36 characters, or 32 hex digits
 * (go-zookeeper); "-"; the name prefix; the sequence number as the server prints it,
 * which is ten digits, or '-' and nine or ten digits. Hex digits may be in upper or lower
 * case. A name whose sequence number does not fit into int32_t is not a contender's. */
void uvzk__node_name_parse(struct uvzk__node_name *out, const char *name,
                           const char *name_prefix);

/* A name prefix (Curator's lock name). shared: the names with it are readers'. */
struct uvzk__name_prefix {
    const char *text;
    bool shared;
};

/* The same for a name with one of these prefixes; an entry whose text is NULL ends them.
 * prefixes NULL: no name is a contender's. *shared: that of the prefix. */
void uvzk__node_name_parse_any(struct uvzk__node_name *out, const char *name,
                               const struct uvzk__name_prefix *prefixes, bool *shared);

/* The kinds of locks that have names of their own. Locks of one kind at one path exclude
 * one another; locks of two kinds do not. */
enum uvzk__name_kind {
    UVZK__NAMES_OTHER, /* no contender's, or of a lock driver */
    UVZK__NAMES_MUTEX, /* also a LeaderSelector's */
    UVZK__NAMES_LATCH,
    UVZK__NAMES_RWLOCK,
    UVZK__NAMES_SEMAPHORE
};

/* The kind of lock whose contender has this name; *sequence: the name's number, unless
 * the result is UVZK__NAMES_OTHER. The second function: the kind of a name prefix. The
 * third: what messages call it. */
enum uvzk__name_kind uvzk__name_kind(const char *name, int32_t *sequence);
enum uvzk__name_kind uvzk__name_kind_of_prefix(const char *name_prefix);
const char *uvzk__name_kind_text(enum uvzk__name_kind);

#endif
