/* SPDX-License-Identifier: Apache-2.0 */
/* Options by their names (uvzk_client_options_set), and from a connection string. The
 * rows of option_table.c say what a name sets.
 *
 * The options refer to texts, so the texts are copied: the caller's may be a buffer that
 * is used for the next line of a file. The copies are a list, and the options have its
 * head; the entries of an ACL that a text lists are among them. A call that fails takes its
 * own copies back and leaves the options as they were. */
#include <string.h>

#include "base/memory.h"
#include "base/refusal.h"
#include "base/struct_size.h"
#include "client/option_table.h"
#include "engine/acl.h"

#define SHOWN 40 /* bytes of a name that a refusal shows, with its NUL */

struct copy {
    struct copy *older; /* NULL: this is the first */
    size_t size;        /* of the bytes */
    _Alignas(uvzk_acl_t) char bytes[];
};

/* Adds room for so many bytes. Returns it, or NULL if out of memory. */
static void *add_room(uvzk_client_options_t *options, size_t size)
{
    struct copy *copy = uvzk__malloc(sizeof(*copy) + size);

    if (copy == NULL) {
        return NULL;
    }
    copy->older = options->copies;
    copy->size = size;
    options->copies = copy;
    return copy->bytes;
}

/* Adds a copy. Returns it, or NULL if out of memory. */
static char *add_copy(uvzk_client_options_t *options, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = add_room(options, size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* Frees the copies that are newer than this one; NULL: all. Credentials must not stay in
 * freed memory. */
static void free_copies(uvzk_client_options_t *options, const void *kept)
{
    while (options->copies != kept) {
        struct copy *copy = options->copies;
        options->copies = copy->older;
        explicit_bzero(copy->bytes, copy->size);
        uvzk__free(copy);
    }
}

/* Checks what is passed to the functions below. */
static int options_by_name_check(const uvzk_client_options_t *options, const char *text,
                                 const char *refusal)
{
    if (options == NULL) {
        return uvzk__refuse(UV_EINVAL, "options is NULL");
    }
    if (options->size < UVZK__SIZE_UP_TO(uvzk_client_options_t, copies)) {
        return uvzk__refuse(UV_EINVAL,
                            "options.size: begin with uvzk_client_options_init");
    }
    return uvzk__refuse_if(UV_EINVAL, text == NULL ? refusal : NULL);
}

static int set_acl_from_list(uvzk_client_options_t *options, char *text)
{
    uvzk_acl_t *entries = add_room(options, uvzk__acl_count_in(text) * sizeof(*entries));
    size_t count;

    if (entries == NULL) {
        return UV_ENOMEM;
    }
    const char *fault = uvzk__acl_read(text, entries, &count);
    if (fault == NULL) {
        options->acl = entries;
        options->acl_count = count;
    }
    return uvzk__refuse_if(UV_EINVAL, fault);
}

/* The text is one of the copies. */
static int set_option(const struct uvzk__option *option, uvzk_client_options_t *options,
                      char *text)
{
    return uvzk__option_lists_acl(option, text)
               ? set_acl_from_list(options, text)
               : uvzk__refuse_if(UV_EINVAL, uvzk__option_set(option, options, text));
}

int uvzk_client_options_set(uvzk_client_options_t *options, const char *name,
                            const char *value)
{
    int status = options_by_name_check(options, value, "value is NULL");

    if (status != 0 || name == NULL) {
        return status != 0 ? status : uvzk__refuse(UV_EINVAL, "name is NULL");
    }
    const struct uvzk__option *option = uvzk__option_find(name);
    if (option == NULL) {
        return uvzk__refuse(UV_ENOENT, "name: there is no option of this name");
    }
    const void *before = options->copies;
    char *text = add_copy(options, value);
    if (text == NULL) {
        return UV_ENOMEM;
    }
    status = set_option(option, options, text);
    if (status != 0) {
        free_copies(options, before);
    }
    return status;
}

/* -------------------------------------------------------------- a connection string */

static int digit_of(char hexadecimal)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = hexadecimal == '\0' ? NULL : strchr(digits, hexadecimal);

    return found == NULL ? -1 : (int)(found - digits) % 16;
}

/* Replaces each %XX by the byte that it stands for, in place. Returns false if a '%' is
 * followed by anything else, or if the byte is 0. */
static bool options_by_name_decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = digit_of(from[1]);
        int low = high < 0 ? -1 : digit_of(from[2]);
        if (low < 0 || high + low == 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static int refuse_name(const char *name)
{
    char shown[SHOWN];

    uvzk__refusal_show(shown, sizeof(shown), name, strlen(name));
    return uvzk__refuse_with(UV_ENOENT, "text: \"%s\" after '?' names no option", shown);
}

/* Sets what an entry "NAME=VALUE" says. *given: a bit for each option that has been set. */
static int set_entry(uvzk_client_options_t *options, char *entry, uint64_t *given)
{
    char *value = strchr(entry, '=');

    if (value == NULL) {
        return uvzk__refuse(UV_EINVAL, "text: an entry after '?' is not NAME=VALUE");
    }
    *value++ = '\0';
    const struct uvzk__option *option = uvzk__option_find(entry);
    if (option == NULL) {
        return refuse_name(entry);
    }
    uint64_t bit = UINT64_C(1) << (option - uvzk__option_at(0));
    if (*given & bit) {
        return uvzk__refuse(UV_EINVAL, "text: an option is given twice");
    }
    *given |= bit;
    if (!options_by_name_decode(value)) {
        return uvzk__refuse(UV_EINVAL, "text: a '%' is not followed by two hexadecimal "
                                       "digits, or they are 00");
    }
    return set_option(option, options, value);
}

/* Takes the text apart in place; the options refer to its parts. */
static int set_all(uvzk_client_options_t *options, char *text)
{
    char *rest = text;
    uint64_t given = UINT64_C(1) << (uvzk__option_find("hosts") - uvzk__option_at(0));
    int status = 0;

    /* Not decoded: the text is options.hosts, unchanged. */
    options->hosts = strsep(&rest, "?");
    while (rest != NULL && status == 0) {
        status = set_entry(options, strsep(&rest, "&"), &given);
    }
    return status;
}

int uvzk_client_options_parse(uvzk_client_options_t *options, const char *text)
{
    int status = options_by_name_check(options, text, "text is NULL");

    if (status != 0) {
        return status;
    }
    /* The program's struct may be shorter or longer than this library's. */
    uvzk_client_options_t before;
    size_t size = uvzk__size_known_to_both(options->size, sizeof(before));
    memcpy(&before, options, size);
    char *copy = add_copy(options, text);
    if (copy == NULL) {
        return UV_ENOMEM;
    }
    status = set_all(options, copy);
    if (status != 0) {
        free_copies(options, before.copies);
        memcpy(options, &before, size);
    }
    return status;
}

/* -------------------------------------------------------------------------------------- */

void uvzk_client_options_free(uvzk_client_options_t *options)
{
    if (options != NULL) {
        free_copies(options, NULL);
    }
}

int uvzk_client_option_is_secret(const char *name)
{
    const struct uvzk__option *option = name == NULL ? NULL : uvzk__option_find(name);

    return option != NULL && option->secret;
}
