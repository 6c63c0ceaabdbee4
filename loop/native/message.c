/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the body of a message by its form, and the entries of a multi
 * (message.h). wire_request.c and wire_reply.c have the forms. */
#include "native/message.h"

#include <uv.h>

#include "native/opcode.h"

/* The protocol's MultiHeader. */
struct entry_header {
    int32_t opcode;
    bool done;
    int32_t err;
};

static const struct uvzk__jute_field header_fields[] = {
    UVZK__JUTE_FIELD(INT, struct entry_header, opcode),
    UVZK__JUTE_FIELD(BOOL, struct entry_header, done),
    UVZK__JUTE_FIELD(INT, struct entry_header, err),
    UVZK__JUTE_LAST_FIELD,
};

const struct uvzk__jute_field *
uvzk__message_record(const struct uvzk__message_form *forms, int32_t opcode,
                     unsigned place)
{
    while (forms->record != NULL && forms->opcode != opcode) {
        forms++;
    }
    return (forms->places & place) != 0 ? forms->record : NULL;
}

/* Where the entries of a message are; 0: it has none. */
static unsigned place_of_entries(int32_t opcode)
{
    return opcode == UVZK__OPCODE_MULTI        ? UVZK__IN_MULTI
           : opcode == UVZK__OPCODE_MULTI_READ ? UVZK__IN_MULTI_READ
                                               : 0;
}

/* Returns the fields of the entry that follows. NULL: no entry follows. */
static const struct uvzk__jute_field *
read_entry_header(struct uvzk__jute_reader *reader,
                  const struct uvzk__message_form *forms, unsigned place, int32_t *opcode)
{
    struct entry_header header;

    uvzk__jute_record_read(reader, header_fields, &header);
    if (header.done || reader->malformed) {
        return NULL;
    }
    const struct uvzk__jute_field *record =
        uvzk__message_record(forms, header.opcode, place);
    if (record == NULL) {
        uvzk__jute_refuse(reader);
    }
    *opcode = header.opcode;
    return record;
}

/* The count cannot overflow: a frame has at most INT32_MAX bytes. */
static struct uvzk__jute_list read_entries(struct uvzk__jute_reader *reader,
                                           const struct uvzk__message_form *forms,
                                           unsigned place)
{
    const unsigned char *first = reader->at, *end = first;
    const struct uvzk__jute_field *record;
    int32_t opcode, count = 0;

    while ((record = read_entry_header(reader, forms, place, &opcode)) != NULL) {
        uvzk__jute_record_skip(reader, record);
        end = reader->at;
        count++;
    }
    return (struct uvzk__jute_list){first, (size_t)(end - first), count};
}

void uvzk__message_read(struct uvzk__jute_reader *reader,
                        const struct uvzk__message_form *forms, int32_t opcode,
                        void *message, struct uvzk__jute_list *entries)
{
    unsigned place = place_of_entries(opcode);

    uvzk__jute_record_read(reader, uvzk__message_record(forms, opcode, UVZK__ALONE),
                           message);
    if (place != 0) {
        *entries = read_entries(reader, forms, place);
    }
}

void uvzk__message_write(struct uvzk__jute_writer *writer,
                         const struct uvzk__message_form *forms, int32_t opcode,
                         const void *message, const struct uvzk__jute_list *entries)
{
    static const struct entry_header end = {.opcode = -1, .done = true, .err = -1};

    uvzk__jute_record_write(writer, uvzk__message_record(forms, opcode, UVZK__ALONE),
                            message);
    if (place_of_entries(opcode) != 0) {
        uvzk__jute_put_raw(writer, entries->at, entries->length);
        uvzk__jute_record_write(writer, header_fields, &end);
    }
}

bool uvzk__message_next_entry(struct uvzk__jute_list *left,
                              const struct uvzk__message_form *forms, int32_t multi,
                              int32_t *opcode, void *entry)
{
    struct uvzk__jute_reader reader;

    if (left->count <= 0) {
        return false;
    }
    uvzk__jute_reader_init(&reader, uvzk__jute_bytes(left->at, left->length));
    const struct uvzk__jute_field *record =
        read_entry_header(&reader, forms, place_of_entries(multi), opcode);
    if (record == NULL) {
        return false;
    }
    uvzk__jute_record_read(&reader, record, entry);
    *left = (struct uvzk__jute_list){reader.at, reader.left, left->count - 1};
    return !reader.malformed;
}

void uvzk__message_add_entry(struct uvzk__jute_writer *writer,
                             const struct uvzk__message_form *forms, int32_t multi,
                             int32_t opcode, int32_t err, const void *entry)
{
    const struct entry_header header = {.opcode = opcode, .err = err};
    const struct uvzk__jute_field *record =
        uvzk__message_record(forms, opcode, place_of_entries(multi));

    if (record == NULL) {
        uvzk__jute_writer_fail(writer, UV_EINVAL);
        return;
    }
    uvzk__jute_record_write(writer, header_fields, &header);
    uvzk__jute_record_write(writer, record, entry);
}
