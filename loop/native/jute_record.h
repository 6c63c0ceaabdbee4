/* Records of jute, by tables. A table lists the fields of a record in the order in which
 * they are encoded, and where each of them is in a struct. One function reads any record
 * and one writes it, so reading and writing cannot disagree. */
#ifndef UVZK_JUTE_RECORD_H
#define UVZK_JUTE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/jute_reader.h"
#include "native/jute_writer.h"

/* The elements of a list, encoded. A list that was read is a view into the frame; its
 * elements have been checked, and are decoded one by one. A list to be written is in a
 * writer of its own. A struct of zeros is an empty list, because a Java server fails on a
 * list that is null. */
struct uvzk__jute_list {
    const unsigned char *at;
    size_t length; /* in bytes */
    int32_t count; /* -1: null; then the length is 0 */
};

/* The list of what was written into a writer that has only elements. It is valid until
 * the writer is used again. UV_ENOMEM, UV_EMSGSIZE, ...: what the writer failed with. */
int uvzk__jute_list_of(const struct uvzk__jute_writer *writer, size_t count,
                       struct uvzk__jute_list *list);

enum uvzk__jute_kind {
    UVZK__JUTE_END, /* of the table */
    UVZK__JUTE_INT,
    UVZK__JUTE_LONG,
    UVZK__JUTE_BOOL,
    UVZK__JUTE_BYTES, /* a buffer or a string; they are encoded alike */
    UVZK__JUTE_LIST   /* a vector */
};

struct uvzk__jute_field {
    enum uvzk__jute_kind kind;
    size_t offset;                          /* in the record's struct */
    const struct uvzk__jute_field *element; /* LIST: the fields of an element */
};

/* A field without an element; its place in `structure` is `member`. */
#define UVZK__JUTE_FIELD(kind, structure, member)            \
    {                                                        \
        UVZK__JUTE_##kind, offsetof(structure, member), NULL \
    }
#define UVZK__JUTE_LIST_FIELD(structure, member, element)     \
    {                                                         \
        UVZK__JUTE_LIST, offsetof(structure, member), element \
    }
#define UVZK__JUTE_LAST_FIELD   \
    {                           \
        UVZK__JUTE_END, 0, NULL \
    }

/* The fields of an element that is one string, which is read into and written from a
 * struct uvzk__jute_bytes. */
extern const struct uvzk__jute_field uvzk__jute_string[];

void uvzk__jute_record_read(struct uvzk__jute_reader *reader,
                            const struct uvzk__jute_field *fields, void *record);
/* Call it after everything has been read into the record. Returns 0; or UV_EPROTO if a
 * field was malformed or missing, and then sets the record, which has `size` bytes, to
 * 0. */
int uvzk__jute_record_end(const struct uvzk__jute_reader *reader, void *record,
                          size_t size);
/* Checks the record, and moves on to what follows it. */
void uvzk__jute_record_skip(struct uvzk__jute_reader *reader,
                            const struct uvzk__jute_field *fields);
void uvzk__jute_record_write(struct uvzk__jute_writer *writer,
                             const struct uvzk__jute_field *fields, const void *record);

/* Takes the first element off a list, of which the caller has a copy. False: the list is
 * empty or null. */
bool uvzk__jute_list_next(struct uvzk__jute_list *left,
                          const struct uvzk__jute_field *fields, void *element);
bool uvzk__jute_strings_next(struct uvzk__jute_list *left,
                             struct uvzk__jute_bytes *string);

#endif
