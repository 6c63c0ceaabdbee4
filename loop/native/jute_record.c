/* Reads and writes a record by the table of its fields (jute_record.h), for requests,
 * replies, and the simulated servers. */
#include "native/jute_record.h"

#include <string.h>
#include <uv.h>

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
