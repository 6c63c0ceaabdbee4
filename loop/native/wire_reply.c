/* SPDX-License-Identifier: Apache-2.0 */
/* Replies, as tables: the fields of each record, and the reply to which opcode has which
 * record. Each table serves for reading and for writing. A result of a multi has the same
 * record as the reply to the same opcode. */
#include "native/wire_reply.h"

#include <string.h>
#include <uv.h>

#include "native/message.h"

#define CONNECT(kind, member) \
    UVZK__JUTE_FIELD(kind, struct uvzk__connect_response, member)
#define FIELD(kind, member) UVZK__JUTE_FIELD(kind, struct uvzk__wire_reply, member)
#define CHILDREN \
    UVZK__JUTE_LIST_FIELD(struct uvzk__wire_reply, children, uvzk__jute_string)
#define STAT                                                                             \
    FIELD(LONG, stat.czxid), FIELD(LONG, stat.mzxid), FIELD(LONG, stat.ctime_ms),        \
        FIELD(LONG, stat.mtime_ms), FIELD(INT, stat.version), FIELD(INT, stat.cversion), \
        FIELD(INT, stat.aversion), FIELD(LONG, stat.ephemeral_owner),                    \
        FIELD(INT, stat.data_length), FIELD(INT, stat.child_count),                      \
        FIELD(LONG, stat.pzxid)
#define END UVZK__JUTE_LAST_FIELD

static const struct uvzk__jute_field connect_fields[] = {
    CONNECT(INT, protocol_version), CONNECT(INT, timeout_ms), CONNECT(LONG, session_id),
    CONNECT(BYTES, password), END};
static const struct uvzk__jute_field header[] = {FIELD(INT, xid), FIELD(LONG, zxid),
                                                 FIELD(INT, err), END};

static const struct uvzk__jute_field nothing[] = {END};
static const struct uvzk__jute_field path[] = {FIELD(BYTES, path), END};
static const struct uvzk__jute_field path_stat[] = {FIELD(BYTES, path), STAT, END};
static const struct uvzk__jute_field stat_alone[] = {STAT, END};
static const struct uvzk__jute_field data_stat[] = {FIELD(BYTES, data), STAT, END};
static const struct uvzk__jute_field children[] = {CHILDREN, END};
static const struct uvzk__jute_field children_stat[] = {CHILDREN, STAT, END};
static const struct uvzk__jute_field body_err[] = {FIELD(INT, body_err), END};
static const struct uvzk__jute_field token[] = {FIELD(BYTES, data), END};
static const struct uvzk__jute_field event[] = {FIELD(INT, event), FIELD(INT, state),
                                                FIELD(BYTES, path), END};

static const struct uvzk__message_form replies[] = {
    {UVZK__OPCODE_CREATE, UVZK__ALONE | UVZK__IN_MULTI, path},
    {UVZK__OPCODE_CREATE2, UVZK__ALONE | UVZK__IN_MULTI, path_stat},
    /* No ZooKeeper server returns these two as results (wire_reply.h). */
    {UVZK__OPCODE_CREATE_CONTAINER, UVZK__ALONE | UVZK__IN_MULTI, path_stat},
    {UVZK__OPCODE_CREATE_TTL, UVZK__ALONE | UVZK__IN_MULTI, path_stat},
    {UVZK__OPCODE_DELETE, UVZK__ALONE | UVZK__IN_MULTI, nothing},
    {UVZK__OPCODE_SET_DATA, UVZK__ALONE | UVZK__IN_MULTI, stat_alone},
    {UVZK__OPCODE_CHECK, UVZK__IN_MULTI, nothing},
    {UVZK__OPCODE_ERROR, UVZK__IN_BOTH_MULTIS, body_err},
    {UVZK__OPCODE_GET_DATA, UVZK__ALONE | UVZK__IN_MULTI_READ, data_stat},
    {UVZK__OPCODE_GET_CHILDREN, UVZK__ALONE | UVZK__IN_MULTI_READ, children},
    {UVZK__OPCODE_GET_CHILDREN2, UVZK__ALONE, children_stat},
    {UVZK__OPCODE_EXISTS, UVZK__ALONE, stat_alone},
    {UVZK__OPCODE_SYNC, UVZK__ALONE, path},
    {UVZK__OPCODE_MULTI, UVZK__ALONE, nothing}, /* its results are no field */
    {UVZK__OPCODE_MULTI_READ, UVZK__ALONE, nothing},
    {UVZK__OPCODE_ADD_WATCH, UVZK__ALONE, body_err},
    {UVZK__OPCODE_REMOVE_WATCHES, UVZK__ALONE, nothing},
    {UVZK__OPCODE_CHECK_WATCHES, UVZK__ALONE, nothing},
    {UVZK__OPCODE_SET_WATCHES, UVZK__ALONE, nothing},
    {UVZK__OPCODE_SET_WATCHES2, UVZK__ALONE, nothing},
    {UVZK__OPCODE_AUTH, UVZK__ALONE, nothing},
    {UVZK__OPCODE_SASL, UVZK__ALONE, token},
    {UVZK__OPCODE_PING, UVZK__ALONE, nothing},
    {UVZK__OPCODE_CLOSE_SESSION, UVZK__ALONE, nothing},
    {UVZK__OPCODE_EVENT, UVZK__ALONE, event},
    {0, 0, NULL},
};

int uvzk__connect_response_read(struct uvzk__jute_bytes frame,
                                struct uvzk__connect_response *response)
{
    struct uvzk__jute_reader reader;

    memset(response, 0, sizeof(*response));
    uvzk__jute_reader_init(&reader, frame);
    uvzk__jute_record_read(&reader, connect_fields, response);
    response->has_read_only = reader.left > 0;
    response->read_only = response->has_read_only && uvzk__jute_get_bool(&reader);
    return uvzk__jute_record_end(&reader, response, sizeof(*response));
}

int uvzk__connect_response_write(struct uvzk__jute_writer *writer, size_t limit,
                                 const struct uvzk__connect_response *response)
{
    uvzk__jute_frame_begin(writer, limit);
    uvzk__jute_record_write(writer, connect_fields, response);
    if (response->has_read_only) {
        uvzk__jute_put_bool(writer, response->read_only);
    }
    return uvzk__jute_frame_end(writer);
}

static void read_header(struct uvzk__jute_reader *reader, struct uvzk__jute_bytes frame,
                        struct uvzk__wire_reply *reply)
{
    memset(reply, 0, sizeof(*reply));
    uvzk__jute_reader_init(reader, frame);
    uvzk__jute_record_read(reader, header, reply);
}

int uvzk__wire_reply_read_header(struct uvzk__jute_bytes frame,
                                 struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_reader reader;

    read_header(&reader, frame, reply);
    return uvzk__jute_record_end(&reader, reply, sizeof(*reply));
}

static bool wire_reply_exists(int32_t opcode)
{
    return uvzk__message_record(replies, opcode, UVZK__ALONE) != NULL;
}

int uvzk__wire_reply_read(struct uvzk__jute_bytes frame, int32_t opcode,
                          struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_reader reader;

    read_header(&reader, frame, reply);
    if (!wire_reply_exists(opcode)) {
        memset(reply, 0, sizeof(*reply));
        return UV_ENOTSUP;
    }
    reply->opcode = opcode;
    if (reply->err == 0) {
        uvzk__message_read(&reader, replies, opcode, reply, &reply->results);
    }
    return uvzk__jute_record_end(&reader, reply, sizeof(*reply));
}

int uvzk__wire_reply_write(struct uvzk__jute_writer *writer, size_t limit,
                           const struct uvzk__wire_reply *reply)
{
    if (!wire_reply_exists(reply->opcode)) {
        return UV_EINVAL;
    }
    uvzk__jute_frame_begin(writer, limit);
    uvzk__jute_record_write(writer, header, reply);
    if (reply->err == 0) {
        uvzk__message_write(writer, replies, reply->opcode, reply, &reply->results);
    }
    return uvzk__jute_frame_end(writer);
}

bool uvzk__wire_result_next(struct uvzk__jute_list *left, int32_t multi,
                            struct uvzk__wire_reply *result)
{
    memset(result, 0, sizeof(*result));
    return uvzk__message_next_entry(left, replies, multi, &result->opcode, result);
}

void uvzk__wire_result_add(struct uvzk__jute_writer *writer, int32_t multi,
                           const struct uvzk__wire_reply *result)
{
    uvzk__message_add_entry(writer, replies, multi, result->opcode, result->body_err,
                            result);
}
