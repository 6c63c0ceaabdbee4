/* SPDX-License-Identifier: Apache-2.0 */
/* Replies, as a client reads them: what is read is written again with the same bytes, and
 * so are the entries of its lists. */
#include "frames.h"
#include "native/wire_reply.h"
#include "uvzk.h"

static const int32_t opcodes[] = {UVZK__OPCODE_CLOSE_SESSION,
                                  UVZK__OPCODE_ERROR,
                                  UVZK__OPCODE_EVENT,
                                  UVZK__OPCODE_CREATE,
                                  UVZK__OPCODE_DELETE,
                                  UVZK__OPCODE_EXISTS,
                                  UVZK__OPCODE_GET_DATA,
                                  UVZK__OPCODE_SET_DATA,
                                  UVZK__OPCODE_GET_CHILDREN,
                                  UVZK__OPCODE_SYNC,
                                  UVZK__OPCODE_PING,
                                  UVZK__OPCODE_GET_CHILDREN2,
                                  UVZK__OPCODE_CHECK,
                                  UVZK__OPCODE_MULTI,
                                  UVZK__OPCODE_CREATE2,
                                  UVZK__OPCODE_CHECK_WATCHES,
                                  UVZK__OPCODE_REMOVE_WATCHES,
                                  UVZK__OPCODE_CREATE_CONTAINER,
                                  UVZK__OPCODE_CREATE_TTL,
                                  UVZK__OPCODE_MULTI_READ,
                                  UVZK__OPCODE_AUTH,
                                  UVZK__OPCODE_SET_WATCHES,
                                  UVZK__OPCODE_SET_WATCHES2,
                                  UVZK__OPCODE_ADD_WATCH,
                                  UVZK__OPCODE_SASL};

#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

/* The results one by one: the same reply, but for the error codes in its headers. */
static void write_results(struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_list left = reply->results;
    struct uvzk__jute_writer writer;
    struct uvzk__wire_reply result;
    size_t count = 0;

    uvzk__jute_writer_init(&writer);
    for (; uvzk__wire_result_next(&left, reply->opcode, &result); count++) {
        write_strings(result.children);
        uvzk__wire_result_add(&writer, reply->opcode, &result);
    }
    PROMISE(left.count == 0 && left.length == 0);
    PROMISE(uvzk__jute_list_of(&writer, count, &left) == 0);
    PROMISE(left.count == reply->results.count && left.length == reply->results.length);
    uvzk__jute_writer_end(&writer);
}

static void check_reply(struct uvzk__jute_bytes frame, int32_t opcode)
{
    struct uvzk__wire_reply reply, again;
    struct uvzk__jute_writer first, second;
    int status = uvzk__wire_reply_read(frame, opcode, &reply);

    PROMISE(status == 0 || status == UV_EPROTO || status == UV_ENOTSUP);
    if (status != 0) {
        return;
    }
    PROMISE(uvzk__wire_reply_read_header(frame, &again) == 0);
    PROMISE(again.xid == reply.xid && again.zxid == reply.zxid && again.err == reply.err);
    write_strings(reply.children);
    write_results(&reply);
    uvzk__jute_writer_init(&first);
    uvzk__jute_writer_init(&second);
    PROMISE(uvzk__wire_reply_write(&first, UVZK__JUTE_MAXBUFFER, &reply) == 0);
    check_same(frame, contents(&first),
               opcode == UVZK__OPCODE_MULTI || opcode == UVZK__OPCODE_MULTI_READ);
    PROMISE(uvzk__wire_reply_read(contents(&first), opcode, &again) == 0);
    PROMISE(uvzk__wire_reply_write(&second, UVZK__JUTE_MAXBUFFER, &again) == 0);
    PROMISE(first.length == second.length &&
            memcmp(first.bytes, second.bytes, first.length) == 0);
    uvzk__jute_writer_end(&second);
    uvzk__jute_writer_end(&first);
}

static void check_connect(struct uvzk__jute_bytes frame)
{
    struct uvzk__connect_response response;
    struct uvzk__jute_writer writer;
    int status = uvzk__connect_response_read(frame, &response);

    PROMISE(status == 0 || status == UV_EPROTO);
    if (status == 0) {
        uvzk__jute_writer_init(&writer);
        PROMISE(uvzk__connect_response_write(&writer, UVZK__JUTE_MAXBUFFER, &response) ==
                0);
        check_same(frame, contents(&writer), false);
        uvzk__jute_writer_end(&writer);
    }
}

/* The first byte: the opcode of the request that is answered, or that the rest is a connect
 * response. Then frames with their lengths, as they come from a connection. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t which = take_byte(&input);
    struct uvzk__jute_bytes frame;
    int status;

    while ((status = uvzk__jute_frame(uvzk__jute_bytes(input.at, input.left),
                                      UVZK__JUTE_MAXBUFFER, &frame)) == 0) {
        if (which % (OPCODES + 1) == OPCODES) {
            check_connect(frame);
        } else {
            check_reply(frame, opcodes[which % (OPCODES + 1)]);
        }
        input.left -= frame.length + 4;
        input.at += frame.length + 4;
    }
    PROMISE(status == UV_EAGAIN || status == UV_EMSGSIZE || status == UV_EPROTO);
    return 0;
}
