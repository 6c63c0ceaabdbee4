/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, as tables: the fields of each record, and which opcode has which record. Each
 * table serves for reading and for writing. An operation of a multi has the same record
 * as the request of the same opcode. */
#include "native/wire_request.h"

#include <string.h>
#include <uv.h>

#include "native/message.h"

#define CONNECT(kind, member) UVZK__JUTE_FIELD(kind, struct uvzk__connect_request, member)
#define ACL(kind, member) UVZK__JUTE_FIELD(kind, struct uvzk__wire_acl, member)
#define FIELD(kind, member) UVZK__JUTE_FIELD(kind, struct uvzk__wire_request, member)
#define LIST(member, element) \
    UVZK__JUTE_LIST_FIELD(struct uvzk__wire_request, member, element)
#define END UVZK__JUTE_LAST_FIELD

static const struct uvzk__jute_field connect_fields[] = {
    CONNECT(INT, protocol_version), CONNECT(LONG, last_zxid), CONNECT(INT, timeout_ms),
    CONNECT(LONG, session_id),      CONNECT(BYTES, password), END};
static const struct uvzk__jute_field acl_fields[] = {
    ACL(INT, permissions), ACL(BYTES, scheme), ACL(BYTES, id), END};
static const struct uvzk__jute_field header[] = {FIELD(INT, xid), FIELD(INT, opcode),
                                                 END};

static const struct uvzk__jute_field nothing[] = {END};
static const struct uvzk__jute_field path[] = {FIELD(BYTES, path), END};
static const struct uvzk__jute_field path_mode[] = {FIELD(BYTES, path), FIELD(INT, mode),
                                                    END};
static const struct uvzk__jute_field path_version[] = {FIELD(BYTES, path),
                                                       FIELD(INT, version), END};
static const struct uvzk__jute_field path_watch[] = {FIELD(BYTES, path),
                                                     FIELD(BOOL, watch), END};
static const struct uvzk__jute_field set_data[] = {FIELD(BYTES, path), FIELD(BYTES, data),
                                                   FIELD(INT, version), END};
static const struct uvzk__jute_field create[] = {
    FIELD(BYTES, path), FIELD(BYTES, data), LIST(acl, acl_fields), FIELD(INT, mode), END};
static const struct uvzk__jute_field create_ttl[] = {
    FIELD(BYTES, path), FIELD(BYTES, data),  LIST(acl, acl_fields),
    FIELD(INT, mode),   FIELD(LONG, ttl_ms), END};
static const struct uvzk__jute_field auth[] = {FIELD(INT, mode), FIELD(BYTES, scheme),
                                               FIELD(BYTES, data), END};
static const struct uvzk__jute_field token[] = {FIELD(BYTES, data), END};
static const struct uvzk__jute_field set_watches[] = {
    FIELD(LONG, zxid), LIST(watches[0], uvzk__jute_string),
    LIST(watches[1], uvzk__jute_string), LIST(watches[2], uvzk__jute_string), END};
static const struct uvzk__jute_field set_watches2[] = {
    FIELD(LONG, zxid),
    LIST(watches[0], uvzk__jute_string),
    LIST(watches[1], uvzk__jute_string),
    LIST(watches[2], uvzk__jute_string),
    LIST(watches[3], uvzk__jute_string),
    LIST(watches[4], uvzk__jute_string),
    END};

static const struct uvzk__message_form requests[] = {
    {UVZK__OPCODE_CREATE, UVZK__ALONE | UVZK__IN_MULTI, create},
    {UVZK__OPCODE_CREATE2, UVZK__ALONE | UVZK__IN_MULTI, create},
    {UVZK__OPCODE_CREATE_CONTAINER, UVZK__ALONE | UVZK__IN_MULTI, create},
    {UVZK__OPCODE_CREATE_TTL, UVZK__ALONE | UVZK__IN_MULTI, create_ttl},
    {UVZK__OPCODE_DELETE, UVZK__ALONE | UVZK__IN_MULTI, path_version},
    {UVZK__OPCODE_SET_DATA, UVZK__ALONE | UVZK__IN_MULTI, set_data},
    {UVZK__OPCODE_CHECK, UVZK__IN_MULTI, path_version},
    {UVZK__OPCODE_GET_DATA, UVZK__ALONE | UVZK__IN_MULTI_READ, path_watch},
    {UVZK__OPCODE_GET_CHILDREN, UVZK__ALONE | UVZK__IN_MULTI_READ, path_watch},
    {UVZK__OPCODE_GET_CHILDREN2, UVZK__ALONE, path_watch},
    {UVZK__OPCODE_EXISTS, UVZK__ALONE, path_watch},
    {UVZK__OPCODE_SYNC, UVZK__ALONE, path},
    {UVZK__OPCODE_MULTI, UVZK__ALONE, nothing}, /* its operations are not a field */
    {UVZK__OPCODE_MULTI_READ, UVZK__ALONE, nothing},
    {UVZK__OPCODE_ADD_WATCH, UVZK__ALONE, path_mode},
    {UVZK__OPCODE_REMOVE_WATCHES, UVZK__ALONE, path_mode},
    {UVZK__OPCODE_CHECK_WATCHES, UVZK__ALONE, path_mode},
    {UVZK__OPCODE_SET_WATCHES, UVZK__ALONE, set_watches},
    {UVZK__OPCODE_SET_WATCHES2, UVZK__ALONE, set_watches2},
    {UVZK__OPCODE_AUTH, UVZK__ALONE, auth},
    {UVZK__OPCODE_SASL, UVZK__ALONE, token},
    {UVZK__OPCODE_PING, UVZK__ALONE, nothing},
    {UVZK__OPCODE_CLOSE_SESSION, UVZK__ALONE, nothing},
    {0, 0, NULL},
};

int uvzk__connect_request_read(struct uvzk__jute_bytes frame,
                               struct uvzk__connect_request *request)
{
    struct uvzk__jute_reader reader;

    memset(request, 0, sizeof(*request));
    uvzk__jute_reader_init(&reader, frame);
    uvzk__jute_record_read(&reader, connect_fields, request);
    request->has_read_only = reader.left > 0;
    request->read_only = request->has_read_only && uvzk__jute_get_bool(&reader);
    return uvzk__jute_record_end(&reader, request, sizeof(*request));
}

int uvzk__connect_request_write(struct uvzk__jute_writer *writer, size_t limit,
                                const struct uvzk__connect_request *request)
{
    uvzk__jute_frame_begin(writer, limit);
    uvzk__jute_record_write(writer, connect_fields, request);
    if (request->has_read_only) {
        uvzk__jute_put_bool(writer, request->read_only);
    }
    return uvzk__jute_frame_end(writer);
}

static bool wire_request_exists(int32_t opcode)
{
    return uvzk__message_record(requests, opcode, UVZK__ALONE) != NULL;
}

int uvzk__wire_request_read(struct uvzk__jute_bytes frame,
                            struct uvzk__wire_request *request)
{
    struct uvzk__jute_reader reader;

    memset(request, 0, sizeof(*request));
    uvzk__jute_reader_init(&reader, frame);
    uvzk__jute_record_read(&reader, header, request);
    if (!reader.malformed) {
        if (!wire_request_exists(request->opcode)) {
            return UV_ENOTSUP;
        }
        uvzk__message_read(&reader, requests, request->opcode, request, &request->ops);
    }
    return uvzk__jute_record_end(&reader, request, sizeof(*request));
}

int uvzk__wire_request_write(struct uvzk__jute_writer *writer, size_t limit,
                             const struct uvzk__wire_request *request)
{
    if (!wire_request_exists(request->opcode)) {
        return UV_EINVAL;
    }
    uvzk__jute_frame_begin(writer, limit);
    uvzk__jute_record_write(writer, header, request);
    uvzk__message_write(writer, requests, request->opcode, request, &request->ops);
    return uvzk__jute_frame_end(writer);
}

bool uvzk__wire_acl_next(struct uvzk__jute_list *left, struct uvzk__wire_acl *acl)
{
    return uvzk__jute_list_next(left, acl_fields, acl);
}

bool uvzk__wire_op_next(struct uvzk__jute_list *left, int32_t multi,
                        struct uvzk__wire_request *op)
{
    memset(op, 0, sizeof(*op));
    return uvzk__message_next_entry(left, requests, multi, &op->opcode, op);
}

void uvzk__wire_acl_add(struct uvzk__jute_writer *writer,
                        const struct uvzk__wire_acl *acl)
{
    uvzk__jute_record_write(writer, acl_fields, acl);
}

void uvzk__wire_op_add(struct uvzk__jute_writer *writer, int32_t multi,
                       const struct uvzk__wire_request *op)
{
    /* -1 is what clients send. */
    uvzk__message_add_entry(writer, requests, multi, op->opcode, -1, op);
}
