/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the values of jute, and records by the tables of their fields (jute.h).
 * All reads go through jute_reader_take(), which checks the length, so no read leaves the
 * frame. The length of a frame that is written is filled in at its end; a frame that fails
 * is removed from the buffer. */
#include "native/jute.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"

/* -------------------------------------------------------------------------- reading */

void uvzk__jute_reader_init(struct uvzk__jute_reader *reader,
                            struct uvzk__jute_bytes bytes)
{
    *reader = (struct uvzk__jute_reader){bytes.at, bytes.length, false};
}

void uvzk__jute_refuse(struct uvzk__jute_reader *reader)
{
    reader->malformed = true;
}

/* Returns the next bytes. NULL: the frame does not have that many. */
static const unsigned char *jute_reader_take(struct uvzk__jute_reader *reader,
                                             size_t length)
{
    if (reader->malformed || length > reader->left) {
        uvzk__jute_refuse(reader);
        return NULL;
    }
    const unsigned char *taken = reader->at;
    reader->at += length;
    reader->left -= length;
    return taken;
}

static uint64_t jute_reader_get(struct uvzk__jute_reader *reader, size_t size)
{
    const unsigned char *bytes = jute_reader_take(reader, size);
    uint64_t value = 0;

    for (size_t i = 0; bytes != NULL && i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

int32_t uvzk__jute_get_int(struct uvzk__jute_reader *reader)
{
    return (int32_t)(uint32_t)jute_reader_get(reader, 4);
}

int64_t uvzk__jute_get_long(struct uvzk__jute_reader *reader)
{
    return (int64_t)jute_reader_get(reader, 8);
}

bool uvzk__jute_get_bool(struct uvzk__jute_reader *reader)
{
    uint64_t value = jute_reader_get(reader, 1);

    if (value > 1) {
        uvzk__jute_refuse(reader);
    }
    return value == 1;
}

struct uvzk__jute_bytes uvzk__jute_get_bytes(struct uvzk__jute_reader *reader)
{
    int32_t length = uvzk__jute_get_int(reader);

    if (length < -1) {
        uvzk__jute_refuse(reader);
    }
    if (length < 0) {
        return uvzk__jute_bytes(NULL, 0);
    }
    const unsigned char *at = jute_reader_take(reader, (size_t)length);
    return uvzk__jute_bytes(at, at == NULL ? 0 : (size_t)length);
}

int uvzk__jute_frame(struct uvzk__jute_bytes received, size_t limit,
                     struct uvzk__jute_bytes *frame)
{
    struct uvzk__jute_reader reader;

    uvzk__jute_reader_init(&reader, received);
    int32_t length = uvzk__jute_get_int(&reader);
    if (reader.malformed) {
        return UV_EAGAIN;
    }
    if (length < 0) {
        return UV_EPROTO;
    }
    if ((size_t)length > limit) {
        return UV_EMSGSIZE;
    }
    if ((size_t)length > reader.left) {
        return UV_EAGAIN;
    }
    *frame = uvzk__jute_bytes(reader.at, (size_t)length);
    return 0;
}

/* -------------------------------------------------------------------------- writing */

#define FIRST_CAPACITY 256U
#define LENGTH_BYTES 4U

/* The limit is at most INT32_MAX, so every length fits into its 4 bytes. */
static void begin_at(struct uvzk__jute_writer *writer, size_t at, size_t limit)
{
    writer->frame_at = at;
    writer->limit = limit;
}

void uvzk__jute_writer_init(struct uvzk__jute_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
    begin_at(writer, 0, INT32_MAX);
}

void uvzk__jute_writer_end(struct uvzk__jute_writer *writer)
{
    uvzk__free(writer->bytes);
    uvzk__jute_writer_init(writer);
}

void uvzk__jute_writer_clear(struct uvzk__jute_writer *writer)
{
    writer->length = 0;
    writer->status = 0;
    begin_at(writer, 0, INT32_MAX);
}

void uvzk__jute_writer_drop(struct uvzk__jute_writer *writer, size_t length)
{
    if (length > 0) {
        writer->length -= length;
        memmove(writer->bytes, writer->bytes + length, writer->length);
    }
}

void uvzk__jute_writer_fail(struct uvzk__jute_writer *writer, int status)
{
    if (writer->status == 0) {
        writer->status = status;
    }
}

static int make_room(struct uvzk__jute_writer *writer, size_t length)
{
    if (length > writer->limit - (writer->length - writer->frame_at)) {
        return UV_EMSGSIZE;
    }
    if (length <= writer->capacity - writer->length) {
        return 0;
    }
    size_t capacity =
        writer->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : writer->capacity * 2;
    if (capacity < writer->length + length) {
        capacity = writer->length + length;
    }
    unsigned char *bytes = uvzk__realloc(writer->bytes, capacity);
    if (bytes == NULL) {
        return UV_ENOMEM;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return 0;
}

void uvzk__jute_put_raw(struct uvzk__jute_writer *writer, const void *bytes,
                        size_t length)
{
    if (writer->status == 0) {
        writer->status = make_room(writer, length);
    }
    if (writer->status == 0 && length > 0) {
        memcpy(writer->bytes + writer->length, bytes, length);
        writer->length += length;
    }
}

static void to_big_endian(unsigned char *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
    }
}

static void jute_writer_put(struct uvzk__jute_writer *writer, uint64_t value, size_t size)
{
    unsigned char bytes[8];

    to_big_endian(bytes, value, size);
    uvzk__jute_put_raw(writer, bytes, size);
}

void uvzk__jute_put_int(struct uvzk__jute_writer *writer, int32_t value)
{
    jute_writer_put(writer, (uint32_t)value, 4);
}

void uvzk__jute_put_long(struct uvzk__jute_writer *writer, int64_t value)
{
    jute_writer_put(writer, (uint64_t)value, 8);
}

void uvzk__jute_put_bool(struct uvzk__jute_writer *writer, bool value)
{
    jute_writer_put(writer, value ? 1 : 0, 1);
}

void uvzk__jute_put_bytes(struct uvzk__jute_writer *writer, struct uvzk__jute_bytes bytes)
{
    if (bytes.at == NULL) {
        uvzk__jute_put_int(writer, -1);
    } else {
        /* If the length does not fit, the bytes are over the limit, too. */
        uvzk__jute_put_int(writer, (int32_t)bytes.length);
        uvzk__jute_put_raw(writer, bytes.at, bytes.length);
    }
}

void uvzk__jute_frame_begin(struct uvzk__jute_writer *writer, size_t limit)
{
    static const unsigned char no_length_yet[LENGTH_BYTES];

    begin_at(writer, writer->length,
             limit < INT32_MAX - LENGTH_BYTES ? limit + LENGTH_BYTES : INT32_MAX);
    uvzk__jute_put_raw(writer, no_length_yet, LENGTH_BYTES);
}

int uvzk__jute_frame_end(struct uvzk__jute_writer *writer)
{
    int status = writer->status;

    if (status != 0) {
        writer->length = writer->frame_at;
        writer->status = 0;
    } else {
        to_big_endian(writer->bytes + writer->frame_at,
                      writer->length - writer->frame_at - LENGTH_BYTES, LENGTH_BYTES);
    }
    begin_at(writer, 0, INT32_MAX);
    return status;
}

/* -------------------------------------------------------------------------- records */

const struct uvzk__jute_field uvzk__jute_string[] = {{UVZK__JUTE_BYTES, 0, NULL},
                                                     UVZK__JUTE_LAST_FIELD};

/* The count is not trusted: each element must exist. An element has at least 4 bytes, so
 * a false count ends the loop at the end of the frame. */
static struct uvzk__jute_list read_list(struct uvzk__jute_reader *reader,
                                        const struct uvzk__jute_field *element)
{
    struct uvzk__jute_list list = {.count = uvzk__jute_get_int(reader)};

    if (list.count < -1) {
        uvzk__jute_refuse(reader);
    }
    list.at = reader->at;
    for (int32_t i = 0; i < list.count && !reader->malformed; i++) {
        uvzk__jute_record_skip(reader, element);
    }
    list.length = (size_t)(reader->at - list.at);
    return list;
}

static void read_field(struct uvzk__jute_reader *reader,
                       const struct uvzk__jute_field *field, void *value)
{
    switch (field->kind) {
    case UVZK__JUTE_END:
        break;
    case UVZK__JUTE_INT:
        *(int32_t *)value = uvzk__jute_get_int(reader);
        break;
    case UVZK__JUTE_LONG:
        *(int64_t *)value = uvzk__jute_get_long(reader);
        break;
    case UVZK__JUTE_BOOL:
        *(bool *)value = uvzk__jute_get_bool(reader);
        break;
    case UVZK__JUTE_BYTES:
        *(struct uvzk__jute_bytes *)value = uvzk__jute_get_bytes(reader);
        break;
    case UVZK__JUTE_LIST:
        *(struct uvzk__jute_list *)value = read_list(reader, field->element);
        break;
    }
}

void uvzk__jute_record_read(struct uvzk__jute_reader *reader,
                            const struct uvzk__jute_field *fields, void *record)
{
    for (; fields->kind != UVZK__JUTE_END; fields++) {
        read_field(reader, fields, (char *)record + fields->offset);
    }
}

int uvzk__jute_record_end(const struct uvzk__jute_reader *reader, void *record,
                          size_t size)
{
    if (reader->malformed) {
        memset(record, 0, size);
        return UV_EPROTO;
    }
    return 0;
}

void uvzk__jute_record_skip(struct uvzk__jute_reader *reader,
                            const struct uvzk__jute_field *fields)
{
    union {
        int32_t int_value;
        int64_t long_value;
        bool bool_value;
        struct uvzk__jute_bytes bytes;
        struct uvzk__jute_list list;
    } ignored;

    for (; fields->kind != UVZK__JUTE_END; fields++) {
        read_field(reader, fields, &ignored);
    }
}

static void write_list(struct uvzk__jute_writer *writer,
                       const struct uvzk__jute_list *list)
{
    uvzk__jute_put_int(writer, list->count);
    uvzk__jute_put_raw(writer, list->at, list->length);
}

static void write_field(struct uvzk__jute_writer *writer, enum uvzk__jute_kind kind,
                        const void *value)
{
    switch (kind) {
    case UVZK__JUTE_END:
        break;
    case UVZK__JUTE_INT:
        uvzk__jute_put_int(writer, *(const int32_t *)value);
        break;
    case UVZK__JUTE_LONG:
        uvzk__jute_put_long(writer, *(const int64_t *)value);
        break;
    case UVZK__JUTE_BOOL:
        uvzk__jute_put_bool(writer, *(const bool *)value);
        break;
    case UVZK__JUTE_BYTES:
        uvzk__jute_put_bytes(writer, *(const struct uvzk__jute_bytes *)value);
        break;
    case UVZK__JUTE_LIST:
        write_list(writer, value);
        break;
    }
}

void uvzk__jute_record_write(struct uvzk__jute_writer *writer,
                             const struct uvzk__jute_field *fields, const void *record)
{
    for (; fields->kind != UVZK__JUTE_END; fields++) {
        write_field(writer, fields->kind, (const char *)record + fields->offset);
    }
}

int uvzk__jute_list_of(const struct uvzk__jute_writer *writer, size_t count,
                       struct uvzk__jute_list *list)
{
    if (writer->status != 0) {
        return writer->status;
    }
    if (count > INT32_MAX) {
        return UV_EMSGSIZE;
    }
    *list = (struct uvzk__jute_list){writer->bytes, writer->length, (int32_t)count};
    return 0;
}

bool uvzk__jute_list_next(struct uvzk__jute_list *left,
                          const struct uvzk__jute_field *fields, void *element)
{
    struct uvzk__jute_reader reader;

    if (left->count <= 0) {
        return false;
    }
    uvzk__jute_reader_init(&reader, uvzk__jute_bytes(left->at, left->length));
    uvzk__jute_record_read(&reader, fields, element);
    *left = (struct uvzk__jute_list){reader.at, reader.left, left->count - 1};
    return !reader.malformed;
}

bool uvzk__jute_strings_next(struct uvzk__jute_list *left,
                             struct uvzk__jute_bytes *string)
{
    return uvzk__jute_list_next(left, uvzk__jute_string, string);
}
