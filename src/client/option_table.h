/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a client that have a name and a value, as one table. uvzk_client_init
 * checks the options by it (create.c), uvzk_client_options_set sets them by it
 * (options_by_name.c), and docs/options.md is written from it. Callbacks are not in it. */
#ifndef UVZK_OPTION_TABLE_H
#define UVZK_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvzk.h"

enum uvzk__option_kind {
    UVZK__OPTION_NUMBER, /* uint32_t or uint64_t */
    UVZK__OPTION_FLAG,   /* uint32_t: 0 or 1 */
    UVZK__OPTION_WORD,   /* uint32_t: the position of a word in `words` */
    UVZK__OPTION_ACL,    /* an array that a word in `words` stands for, or that a text
                            lists, and its length */
    UVZK__OPTION_TEXT,   /* const char * */
    UVZK__OPTION_BYTES   /* a pointer, and a size_t with its length */
};

struct uvzk__option {
    const char *name;
    const char *field;   /* of uvzk_client_options_t */
    const char *meaning; /* a sentence, for the documents */
    const char *usual;   /* the default, for the documents; NULL: `initial` */
    const char *unit;    /* of a number; NULL: none */
    /* Sentences for uvzk_refusal: the value is not one that the option can have; the text
     * is not a number; the pointer of the bytes is NULL. NULL: cannot be. */
    const char *wrong, *malformed, *missing;
    const char *const *words; /* ends with NULL */
    uint64_t least, most;     /* of a number; of the length of bytes */
    uint64_t initial;         /* what the number 0 means; 0: itself */
    size_t offset, size;      /* of the field */
    size_t length_offset;     /* of the field with the length */
    enum uvzk__option_kind kind;
    bool secret; /* others must not be able to read the value */
};

/* The number of options with a name. */
size_t uvzk__option_count(void);
/* The index-th option, from 0. */
const struct uvzk__option *uvzk__option_at(size_t index);
/* Returns the option of this name, or NULL. */
const struct uvzk__option *uvzk__option_find(const char *name);

/* Sets numbers that are 0 to what 0 means. */
void uvzk__options_complete(uvzk_client_options_t *options);
/* Returns a sentence for the first option whose value is not allowed; NULL: all are
 * allowed. The options must be complete. */
const char *uvzk__options_fault(const uvzk_client_options_t *options);

/* Returns true if the text is a list of ACL entries, and not a word. */
bool uvzk__option_lists_acl(const struct uvzk__option *option, const char *text);
/* Sets one option to the value that the text stands for, which is no list of ACL entries.
 * The options refer to the text, which must outlive them. Returns NULL, or a sentence if
 * the value is not allowed; then the option is unchanged. */
const char *uvzk__option_set(const struct uvzk__option *option,
                             uvzk_client_options_t *options, const char *text);

#endif
