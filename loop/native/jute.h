/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the values of jute, the encoding of ZooKeeper's protocol: big-endian
 * integers, bytes with their length before them, and records of these. */
#ifndef UVZK_JUTE_H
#define UVZK_JUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer frames are refused by a server whose jute.maxbuffer is the default. */
#define UVZK__JUTE_MAXBUFFER 0xfffffU

/* A buffer or a string of jute. A string has no NUL at its end, may contain NULs, and is
 * not known to be UTF-8. An empty one has length 0, and `at` is not NULL. */
struct uvzk__jute_bytes {
    const unsigned char *at; /* NULL: null, which is length -1 in a frame */
    size_t length;
};

static inline struct uvzk__jute_bytes uvzk__jute_bytes(const void *at, size_t length)
{
    return (struct uvzk__jute_bytes){at, length};
}

/* text: NULL makes a null string. */
static inline struct uvzk__jute_bytes uvzk__jute_text(const char *text)
{
    return uvzk__jute_bytes(text, text == NULL ? 0 : strlen(text));
}

/* -------------------------------------------------------------------------- reading */

/* Nothing is copied: bytes and strings are views into the frame, and valid as long as the
 * frame is. No read goes beyond the frame.
 *
 * The first value that is malformed or that the frame does not have makes the reader
 * `malformed`. From then on every read returns 0 or null, so a caller may read a whole
 * record and check once. */
struct uvzk__jute_reader {
    const unsigned char *at;
    size_t left;
    bool malformed;
};

void uvzk__jute_reader_init(struct uvzk__jute_reader *reader,
                            struct uvzk__jute_bytes bytes);
/* The caller has found what it read to be malformed. */
void uvzk__jute_refuse(struct uvzk__jute_reader *reader);
int32_t uvzk__jute_get_int(struct uvzk__jute_reader *reader);
int64_t uvzk__jute_get_long(struct uvzk__jute_reader *reader);
/* Only 0 and 1 are well formed. */
bool uvzk__jute_get_bool(struct uvzk__jute_reader *reader);
/* -1 is the only negative length that is well formed. */
struct uvzk__jute_bytes uvzk__jute_get_bytes(struct uvzk__jute_reader *reader);

/* Finds the frame at the front of what a connection has received. *frame: the frame's
 * contents, without the 4 bytes of its length; it is set only if 0 is returned.
 * UV_EAGAIN: the frame is not complete. UV_EMSGSIZE: its length is greater than limit
 * (for example UVZK__JUTE_MAXBUFFER), which is known as soon as its first 4 bytes are.
 * UV_EPROTO: its length is negative. */
int uvzk__jute_frame(struct uvzk__jute_bytes received, size_t limit,
                     struct uvzk__jute_bytes *frame);

/* -------------------------------------------------------------------------- writing */

/* Writes into a buffer that grows. A buffer holds either whole frames, one after the other,
 * or the elements of one list (below).
 *
 * The writer keeps the first failure, and writes nothing after it, so a caller may write
 * a whole record and check once. */
struct uvzk__jute_writer {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t frame_at; /* where the frame that is being written begins */
    size_t limit;    /* the most bytes from there on */
    int status;      /* the first failure; 0: none */
};

void uvzk__jute_writer_init(struct uvzk__jute_writer *writer);
/* Frees the buffer. */
void uvzk__jute_writer_end(struct uvzk__jute_writer *writer);
/* Forgets what was written, and a failure; keeps the memory. */
void uvzk__jute_writer_clear(struct uvzk__jute_writer *writer);
/* Removes the first bytes. No frame may be begun. */
void uvzk__jute_writer_drop(struct uvzk__jute_writer *writer, size_t length);
/* The caller cannot write what it was about to write. */
void uvzk__jute_writer_fail(struct uvzk__jute_writer *writer, int status);

void uvzk__jute_put_int(struct uvzk__jute_writer *writer, int32_t value);
void uvzk__jute_put_long(struct uvzk__jute_writer *writer, int64_t value);
void uvzk__jute_put_bool(struct uvzk__jute_writer *writer, bool value);
/* With their length before them. bytes must not be in the writer's own buffer. */
void uvzk__jute_put_bytes(struct uvzk__jute_writer *writer,
                          struct uvzk__jute_bytes bytes);
/* Without a length. */
void uvzk__jute_put_raw(struct uvzk__jute_writer *writer, const void *bytes,
                        size_t length);

/* Begins a frame of at most `limit` bytes, its own length not counted. */
void uvzk__jute_frame_begin(struct uvzk__jute_writer *writer, size_t limit);
/* Ends the frame. If anything of it could not be written, the whole frame is taken back,
 * the frames before it stay, and the reason is returned: UV_ENOMEM; UV_EMSGSIZE: longer
 * than the limit; or what the caller has said in uvzk__jute_writer_fail. */
int uvzk__jute_frame_end(struct uvzk__jute_writer *writer);

/* -------------------------------------------------------------------------- records */

/* Records are read and written by tables. A table lists the fields of a record in the order
 * in which they are encoded, and where each of them is in a struct. One function reads any
 * record and one writes it, so reading and writing cannot disagree. */

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
