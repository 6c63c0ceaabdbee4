/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and parses the names of contenders' znodes: prefix, UUID, recipe's name,
 * sequence number (node_name.h). Pure functions. */
#include "base/node_name.h"

#include <string.h>

#define PROTECTION "_c_"
#define PROTECTION_SIZE (sizeof(PROTECTION) - 1)
#define SEQUENCE_DIGITS 10

/* Returns true if the text of a UUID has a '-' before this byte. */
static bool has_hyphen_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uvzk__uuid_from_random(uint8_t uuid[UVZK__UUID_BYTES])
{
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* version 4 */
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80); /* variant 1 */
}

size_t uvzk__protected_name(char out[UVZK__PROTECTED_NAME_SIZE],
                            const uint8_t uuid[UVZK__UUID_BYTES], const char *name_prefix)
{
    static const char digits[] = "0123456789abcdef";
    char *end = out;
    memcpy(end, PROTECTION, PROTECTION_SIZE);
    end += PROTECTION_SIZE;
    for (size_t i = 0; i < UVZK__UUID_BYTES; i++) {
        if (has_hyphen_before(i)) {
            *end++ = '-';
        }
        *end++ = digits[uuid[i] >> 4];
        *end++ = digits[uuid[i] & 0x0f];
    }
    *end++ = '-';
    size_t name_prefix_length = strnlen(name_prefix, UVZK__NAME_PREFIX_MAX);
    memcpy(end, name_prefix, name_prefix_length);
    end += name_prefix_length;
    *end = '\0';
    return (size_t)(end - out);
}

/* Returns the value of a hex digit; -1: not a hex digit. isxdigit() is not used, because
 * it depends on the locale. A table is fast: every name of every listing has 32 hex
 * digits. The table has each value plus 1, so that 0 means not a hex digit. */
static int hex_value(char digit)
{
    static const uint8_t worth[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

    return worth[(unsigned char)digit] - 1;
}

/* Parses 16 bytes in hex, either with hyphens in their places or without hyphens. Returns
 * the text after them; NULL: no UUID. All digits are read before any is found to be wrong,
 * so the length is checked first. */
static const char *parse_uuid(const char *text, bool hyphens,
                              uint8_t uuid[UVZK__UUID_BYTES])
{
    size_t length = hyphens ? UVZK__UUID_TEXT : 2 * (size_t)UVZK__UUID_BYTES;
    int wrong = 0;

    if (strnlen(text, length) < length) {
        return NULL;
    }
    for (size_t i = 0; i < UVZK__UUID_BYTES; i++) {
        if (hyphens && has_hyphen_before(i)) {
            wrong |= *text++ != '-';
        }
        int high = hex_value(text[0]), low = hex_value(text[1]);
        wrong |= high < 0 || low < 0;
        uuid[i] = (uint8_t)((unsigned)high << 4 | ((unsigned)low & 15U));
        text += 2;
    }
    return wrong ? NULL : text;
}

void uvzk__sequence_write(char out[UVZK__SEQUENCE_SIZE], int32_t sequence)
{
    bool negative = sequence < 0;
    uint32_t rest = negative ? 0U - (uint32_t)sequence : (uint32_t)sequence;
    size_t at = negative && rest >= 1000000000U ? SEQUENCE_DIGITS + 1 : SEQUENCE_DIGITS;

    out[at] = '\0';
    for (; at > 0; rest /= 10) {
        out[--at] = (char)('0' + rest % 10);
    }
    if (negative) {
        out[0] = '-';
    }
}

/* Parses a text that consists of exactly what %010d prints for an int32_t. The width of
 * 10 includes the sign, so a negative number has nine or ten digits. */
bool uvzk__sequence_parse(const char *text, int32_t *sequence)
{
    bool negative = *text == '-';
    const char *digits = negative ? text + 1 : text;
    size_t count = strspn(digits, "0123456789");
    bool is_short = negative && count == SEQUENCE_DIGITS - 1;
    if (digits[count] != '\0' || (count != SEQUENCE_DIGITS && !is_short)) {
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    if (negative) {
        /* %010d never prints "-0", and pads a negative number to nine digits only. */
        bool is_padded = !is_short && digits[0] == '0';
        if (value == 0 || is_padded) {
            return false;
        }
        value = -value;
    }
    if (value < INT32_MIN || value > INT32_MAX) {
        return false;
    }
    *sequence = (int32_t)value;
    return true;
}

void uvzk__node_name_parse(struct uvzk__node_name *out, const char *name,
                           const char *name_prefix)
{
    struct uvzk__node_name parsed = {.is_contender = true, .has_uuid = true};
    size_t name_prefix_length = strlen(name_prefix);

    *out = (struct uvzk__node_name){.is_contender = false};
    if (strncmp(name, PROTECTION, PROTECTION_SIZE) != 0) {
        return;
    }
    name += PROTECTION_SIZE;
    const char *rest = parse_uuid(name, true, parsed.uuid);
    if (rest == NULL) {
        /* go-zookeeper's 32 digits are not reported as a UUID, because uvzk never writes
         * a name in this form. */
        rest = parse_uuid(name, false, parsed.uuid);
        parsed.has_uuid = false;
        memset(parsed.uuid, 0, sizeof(parsed.uuid));
    }
    if (rest == NULL || *rest != '-' ||
        strncmp(rest + 1, name_prefix, name_prefix_length) != 0 ||
        !uvzk__sequence_parse(rest + 1 + name_prefix_length, &parsed.sequence)) {
        return;
    }
    *out = parsed;
}

void uvzk__node_name_parse_any(struct uvzk__node_name *out, const char *name,
                               const struct uvzk__name_prefix *prefixes, bool *shared)
{
    *shared = false;
    memset(out, 0, sizeof(*out));
    for (; prefixes != NULL && prefixes->text != NULL && !out->is_contender; prefixes++) {
        uvzk__node_name_parse(out, name, prefixes->text);
        *shared = out->is_contender && prefixes->shared;
    }
}

/* ------------------------------------------------------------- the kinds of locks */

static const struct {
    const char *name_prefix;
    enum uvzk__name_kind kind;
} kinds[] = {
    {UVZK__MUTEX_PREFIX, UVZK__NAMES_MUTEX},
    {UVZK__LATCH_PREFIX, UVZK__NAMES_LATCH},
    {UVZK__READER_PREFIX, UVZK__NAMES_RWLOCK},
    {UVZK__WRITER_PREFIX, UVZK__NAMES_RWLOCK},
    {UVZK__LEASE_PREFIX, UVZK__NAMES_SEMAPHORE},
};

enum uvzk__name_kind uvzk__name_kind(const char *name, int32_t *sequence)
{
    struct uvzk__node_name parsed;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        uvzk__node_name_parse(&parsed, name, kinds[i].name_prefix);
        if (parsed.is_contender) {
            *sequence = parsed.sequence;
            return kinds[i].kind;
        }
    }
    return UVZK__NAMES_OTHER;
}

enum uvzk__name_kind uvzk__name_kind_of_prefix(const char *name_prefix)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name_prefix, name_prefix) == 0) {
            return kinds[i].kind;
        }
    }
    return UVZK__NAMES_OTHER;
}

const char *uvzk__name_kind_text(enum uvzk__name_kind kind)
{
    switch (kind) {
    case UVZK__NAMES_MUTEX:
        return "mutex";
    case UVZK__NAMES_LATCH:
        return "leader latch";
    case UVZK__NAMES_RWLOCK:
        return "read-write lock";
    case UVZK__NAMES_SEMAPHORE:
        return "semaphore";
    default:
        return "lock of another kind";
    }
}
