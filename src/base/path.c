/* SPDX-License-Identifier: Apache-2.0 */
/* Checks paths by ZooKeeper's rules, and joins, splits and shares them (path.h). */
#include "base/path.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "base/table.h"
#include "uvzk.h"

/* Returns the number of bytes of the character at text. 0: the bytes are not a character,
 * because the sequence is incomplete or longer than necessary. A NUL ends every sequence,
 * so nothing after it is read. Surrogates and values above U+10FFFF are decoded, and
 * refused by is_forbidden. */
static size_t decode_utf8(const unsigned char *text, uint32_t *character)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least; /* smaller values have a shorter form */
    } forms[] = {
        {0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++) {
        if ((text[0] & forms[form].mask) != forms[form].lead) {
            continue;
        }
        uint32_t value = text[0] & (uint32_t)~forms[form].mask & 0xff;
        for (size_t i = 1; i <= form; i++) {
            if ((text[i] & 0xc0) != 0x80) {
                return 0;
            }
            value = value << 6 | (text[i] & 0x3fU);
        }
        if (value < forms[form].least) {
            return 0;
        }
        *character = value;
        return form + 1;
    }
    return 0;
}

/* The characters that the Java client's PathUtils refuses. PathUtils checks UTF-16 units:
 * a character above U+FFFF is two surrogates, which it refuses. So every value from
 * 0xfff0 on is forbidden here. */
static bool is_forbidden(uint32_t character)
{
    return character <= 0x1f || (character >= 0x7f && character <= 0x9f) ||
           (character >= 0xd800 && character <= 0xf8ff) || character >= 0xfff0;
}

/* A shortcut for speed: almost every byte of a path is printable ASCII, 0x20 to 0x7e, and
 * the path of every request is validated. So 8 bytes are looked at together. The highest
 * bit of a byte is set by the subtraction if it is below 0x20, and by the addition if it is
 * 0x7f or above. A carry to the next byte comes from such a byte only: then the answer is
 * false in any case. */
static bool are_8_printable_ascii(const unsigned char *bytes)
{
    const uint64_t each = 0x0101010101010101U;
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return (((word - each * 0x20) | (word + each) | word) & (each * 0x80)) == 0;
}

static bool is_printable_ascii(unsigned char byte)
{
    return byte >= 0x20 && byte <= 0x7e;
}

/* An empty element means that the path ends in '/', or has two '/' in a row. */
static bool is_element_valid(const char *element, size_t length)
{
    if (length == 0 || (length == 1 && element[0] == '.') ||
        (length == 2 && element[0] == '.' && element[1] == '.')) {
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)element;
    for (size_t at = 0; at < length;) {
        if (length - at >= sizeof(uint64_t) && are_8_printable_ascii(bytes + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        if (is_printable_ascii(bytes[at])) {
            at++;
            continue;
        }
        uint32_t character;
        size_t size = decode_utf8(bytes + at, &character);
        if (size == 0 || is_forbidden(character)) {
            return false;
        }
        at += size;
    }
    return true;
}

int uvzk__path_validate(const char *path)
{
    if (path != NULL && strnlen(path, UVZK__PATH_MAX + 1) > UVZK__PATH_MAX) {
        return uvzk__refuse(UVZK_EPATH, "path: longer than 1024 bytes");
    }
    return uvzk__path_validate_znode(path);
}

int uvzk__path_validate_znode(const char *path)
{
    if (path == NULL) {
        return uvzk__refuse(UV_EINVAL, "path is NULL");
    }
    size_t length = strnlen(path, UVZK__NODE_PATH_MAX + 1);
    if (path[0] != '/' || length > UVZK__NODE_PATH_MAX) {
        return uvzk__refuse(UVZK_EPATH, path[0] != '/' ? "path: does not begin with '/'"
                                                       : "path: longer than 2048 bytes");
    }
    if (length == 1) {
        return 0; /* the root */
    }
    for (size_t slash = 0; slash < length;) {
        size_t start = slash + 1;
        size_t element_length = strcspn(path + start, "/");
        if (!is_element_valid(path + start, element_length)) {
            return uvzk__refuse(UVZK_EPATH,
                                "path: an element is empty, \".\", \"..\", or has "
                                "characters that ZooKeeper does not accept");
        }
        slash = start + element_length;
    }
    return 0;
}

int uvzk__path_validate_below(const char *ns, const char *path)
{
    if (strcmp(path, "/") == 0 || strlen(ns) + strlen(path) > UVZK__PATH_MAX) {
        return uvzk__refuse(UVZK_EPATH,
                            strcmp(path, "/") == 0
                                ? "path: \"/\" cannot be the path of a lock"
                                : "path: longer than 1024 bytes with the namespace");
    }
    return uvzk__path_validate(path);
}

size_t uvzk__path_join_into(char *out, const char *parent, const char *child)
{
    size_t parent_length = strlen(parent);
    while (parent_length > 0 && parent[parent_length - 1] == '/') {
        parent_length--;
    }
    child += strspn(child, "/");
    size_t child_length = strlen(child);
    /* A child "/" or "" yields the parent itself, because "/a/" is not a valid path. */
    size_t slash_length = child_length > 0 || parent_length == 0 ? 1 : 0;
    if (out != NULL) {
        memcpy(out, parent, parent_length);
        memcpy(out + parent_length, "/", slash_length);
        memcpy(out + parent_length + slash_length, child, child_length + 1);
    }
    return parent_length + slash_length + child_length + 1;
}

char *uvzk__path_join(const char *parent, const char *child)
{
    char *joined = uvzk__malloc(uvzk__path_join_into(NULL, parent, child));

    if (joined != NULL) {
        (void)uvzk__path_join_into(joined, parent, child);
    }
    return joined;
}

size_t uvzk__path_parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == '\0') {
        return 0;
    }
    /* The root is the only parent whose path includes its '/'. */
    return slash == path ? 1 : (size_t)(slash - path);
}

bool uvzk__path_is_below(const char *path, const char *ancestor, bool itself)
{
    size_t length = strlen(ancestor);

    return strncmp(path, ancestor, length) == 0 &&
           (path[length] == '/' || (itself && path[length] == '\0'));
}

size_t uvzk__path_next_length(const char *path, size_t length)
{
    return length + 1 + strcspn(path + length + 1, "/");
}

const char *uvzk__path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

uint32_t uvzk__path_hash(const char *path)
{
    size_t length = strlen(path);
    uint32_t hash;

    HASH_VALUE(path, length, hash);
    return hash;
}

struct uvzk__shared_path *uvzk__shared_path_join(const char *parent, const char *child)
{
    struct uvzk__shared_path *path =
        uvzk__malloc(offsetof(struct uvzk__shared_path, text) +
                     uvzk__path_join_into(NULL, parent, child));

    if (path != NULL) {
        path->refs = 1;
        (void)uvzk__path_join_into(path->text, parent, child);
        path->hash = uvzk__path_hash(path->text);
    }
    return path;
}

struct uvzk__shared_path *uvzk__shared_path_ref(struct uvzk__shared_path *path)
{
    path->refs++;
    return path;
}

void uvzk__shared_path_unref(struct uvzk__shared_path *path)
{
    if (path != NULL && --path->refs == 0) {
        uvzk__free(path);
    }
}
