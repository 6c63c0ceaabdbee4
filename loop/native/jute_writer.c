/* Appends values to a growing buffer (jute_writer.h). The length of a frame is filled in
 * at its end; a frame that fails is removed from the buffer. */
#include "native/jute_writer.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"

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
