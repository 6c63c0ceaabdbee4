/* Names of contenders' znodes, as Curator writes them:
 *   _c_<uuid>-<token><seq10>      e.g. _c_64fc66ae-773f-4d77-9695-eba698b095f7-lock-0000000000
 * <uuid> is a random version 4 UUID in lower case (ProtectedUtils), <token> is
 * the recipe's ("lock-"), <seq10> the server's %010d of a signed 32-bit counter.
 * Pure: values in, values out. */
#ifndef UVZK_NODE_NAME_H
#define UVZK_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UVZK__UUID_BYTES 16
#define UVZK__UUID_TEXT 36                   /* characters, no NUL */
#define UVZK__UUID_AT 3                      /* in a name, behind "_c_" */
#define UVZK__PROTECTION_LENGTH (3 + 36 + 1) /* "_c_" uuid "-" */
#define UVZK__NAME_PREFIX_MAX 16
/* "_c_" uuid "-" token, NUL: what is sent in the create. */
#define UVZK__PROTECTED_NAME_SIZE (UVZK__PROTECTION_LENGTH + UVZK__NAME_PREFIX_MAX + 1)

/* Turns 16 random bytes into a version 4, variant 1 UUID, in place. */
void uvzk__uuid_from_random(uint8_t uuid[UVZK__UUID_BYTES]);

/* Writes "_c_<uuid>-<token>" and a NUL. Returns the length without it. */
size_t uvzk__protected_name(char out[UVZK__PROTECTED_NAME_SIZE],
                            const uint8_t uuid[UVZK__UUID_BYTES],
                            const char *name_prefix);

/* A child's name taken apart. */
struct uvzk__node_name {
    bool is_contender; /* follows the grammar, with this token */
    bool has_uuid;     /* a 36-character UUID (not go-zookeeper's 32 digits) */
    uint8_t uuid[UVZK__UUID_BYTES]; /* of has_uuid */
    int32_t sequence;               /* signed: the counter may have wrapped */
};

/* Grammar: "_c_", then a 36-character UUID or 32 hex digits (go-zookeeper),
 * "-", the token, then exactly ten digits, or '-' and ten digits. Hex digits in
 * either case. A sequence that does not fit int32 is no contender's. */
void uvzk__node_name_parse(struct uvzk__node_name *out, const char *name,
                           const char *name_prefix);

#endif
