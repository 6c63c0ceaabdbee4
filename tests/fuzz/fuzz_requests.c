/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, as a server reads them: what is read is written again with the same bytes, and
 * so are the entries of its lists. */
#include "frames.h"
#include "native/wire_request.h"
#include "uvzk.h"

static void write_acl(struct uvzk__jute_list left)
{
    struct uvzk__jute_list list = left, again;
    struct uvzk__jute_writer writer;
    struct uvzk__wire_acl acl;
    size_t count = 0;

    uvzk__jute_writer_init(&writer);
    for (; uvzk__wire_acl_next(&left, &acl); count++) {
        uvzk__wire_acl_add(&writer, &acl);
    }
    PROMISE(uvzk__jute_list_of(&writer, count, &again) == 0);
    PROMISE(list.count == again.count || (list.count == -1 && count == 0));
    PROMISE(list.length == again.length);
    PROMISE(list.length == 0 || memcmp(list.at, again.at, list.length) == 0);
    uvzk__jute_writer_end(&writer);
}

/* The operations one by one: the same request, but for the error codes in its headers. */
static void write_ops(struct uvzk__wire_request *request)
{
    struct uvzk__jute_list left = request->ops;
    struct uvzk__jute_writer writer;
    struct uvzk__wire_request op;
    size_t count = 0;

    uvzk__jute_writer_init(&writer);
    for (; uvzk__wire_op_next(&left, request->opcode, &op); count++) {
        write_acl(op.acl);
        uvzk__wire_op_add(&writer, request->opcode, &op);
    }
    PROMISE(left.count == 0 && left.length == 0);
    PROMISE(uvzk__jute_list_of(&writer, count, &left) == 0);
    PROMISE(left.count == request->ops.count && left.length == request->ops.length);
    uvzk__jute_writer_end(&writer);
}

static void check_request(struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_request request, again;
    struct uvzk__jute_writer first, second;
    int status = uvzk__wire_request_read(frame, &request);

    PROMISE(status == 0 || status == UV_EPROTO || status == UV_ENOTSUP);
    if (status != 0) {
        return;
    }
    write_acl(request.acl);
    for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
        write_strings(request.watches[i]);
    }
    write_ops(&request);
    uvzk__jute_writer_init(&first);
    uvzk__jute_writer_init(&second);
    PROMISE(uvzk__wire_request_write(&first, UVZK__JUTE_MAXBUFFER, &request) == 0);
    check_same(frame, contents(&first),
               request.opcode == UVZK__OPCODE_MULTI ||
                   request.opcode == UVZK__OPCODE_MULTI_READ);
    PROMISE(uvzk__wire_request_read(contents(&first), &again) == 0);
    PROMISE(uvzk__wire_request_write(&second, UVZK__JUTE_MAXBUFFER, &again) == 0);
    PROMISE(first.length == second.length &&
            memcmp(first.bytes, second.bytes, first.length) == 0);
    uvzk__jute_writer_end(&second);
    uvzk__jute_writer_end(&first);
}

static void check_connect(struct uvzk__jute_bytes frame)
{
    struct uvzk__connect_request request;
    struct uvzk__jute_writer writer;
    int status = uvzk__connect_request_read(frame, &request);

    PROMISE(status == 0 || status == UV_EPROTO);
    if (status == 0) {
        uvzk__jute_writer_init(&writer);
        PROMISE(uvzk__connect_request_write(&writer, UVZK__JUTE_MAXBUFFER, &request) ==
                0);
        check_same(frame, contents(&writer), false);
        uvzk__jute_writer_end(&writer);
    }
}

/* The first byte: whether the rest is a connect request. Then frames with their lengths,
 * as they come from a connection. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    bool connects = (take_byte(&input) & 1) != 0;
    struct uvzk__jute_bytes frame;
    int status;

    while ((status = uvzk__jute_frame(uvzk__jute_bytes(input.at, input.left),
                                      UVZK__JUTE_MAXBUFFER, &frame)) == 0) {
        if (connects) {
            check_connect(frame);
        } else {
            check_request(frame);
        }
        connects = false;
        input.left -= frame.length + 4;
        input.at += frame.length + 4;
    }
    PROMISE(status == UV_EAGAIN || status == UV_EMSGSIZE || status == UV_EPROTO);
    return 0;
}
