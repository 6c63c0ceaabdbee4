/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: known bytes, each record written and read, what is cut off or not true. */
#include "frames.h"

#include <uv.h>

#include "native/wire_request.h"

/* The lists of the samples: writers with their elements. */
static struct uvzk__jute_writer acls, strings, ops, reads;
static struct uvzk__jute_list acl_list, string_list, op_list, read_list;

static void fill_acls(void)
{
    uvzk__jute_writer_init(&acls);
    uvzk__wire_acl_add(&acls, &(struct uvzk__wire_acl){31, uvzk__jute_text("world"),
                                                       uvzk__jute_text("anyone")});
    uvzk__wire_acl_add(
        &acls, &(struct uvzk__wire_acl){1, uvzk__jute_text("auth"), uvzk__jute_text("")});
    assert_int_equal(uvzk__jute_list_of(&acls, 2, &acl_list), 0);
}

static void fill_strings(void)
{
    uvzk__jute_writer_init(&strings);
    uvzk__jute_put_bytes(&strings, uvzk__jute_text("/a"));
    uvzk__jute_put_bytes(&strings, uvzk__jute_text("/b/c"));
    assert_int_equal(uvzk__jute_list_of(&strings, 2, &string_list), 0);
}

/* With every field that any record has; each record takes its own. */
static struct uvzk__wire_request request_of(int32_t opcode)
{
    return (struct uvzk__wire_request){
        .xid = 0x01020304,
        .opcode = opcode,
        .path = uvzk__jute_text("/app/lock"),
        .data = uvzk__jute_bytes("d\0t", 3),
        .acl = acl_list,
        .mode = 3,
        .version = -1,
        .watch = true,
        .ttl_ms = 0x0102030405,
        .zxid = 0x700000005,
        .watches = {string_list, {NULL, 0, 0}, string_list, string_list, string_list},
        .scheme = uvzk__jute_text("digest"),
        .ops = opcode == UVZK__OPCODE_MULTI ? op_list : read_list,
    };
}

static const int32_t in_multi[] = {
    UVZK__OPCODE_CREATE,     UVZK__OPCODE_CREATE2, UVZK__OPCODE_CREATE_CONTAINER,
    UVZK__OPCODE_CREATE_TTL, UVZK__OPCODE_DELETE,  UVZK__OPCODE_SET_DATA,
    UVZK__OPCODE_CHECK};
static const int32_t in_multi_read[] = {UVZK__OPCODE_GET_DATA, UVZK__OPCODE_GET_CHILDREN};
static const int32_t alone[] = {UVZK__OPCODE_CREATE,        UVZK__OPCODE_CREATE2,
                                UVZK__OPCODE_CREATE_TTL,    UVZK__OPCODE_CREATE_CONTAINER,
                                UVZK__OPCODE_DELETE,        UVZK__OPCODE_SET_DATA,
                                UVZK__OPCODE_GET_DATA,      UVZK__OPCODE_EXISTS,
                                UVZK__OPCODE_GET_CHILDREN,  UVZK__OPCODE_GET_CHILDREN2,
                                UVZK__OPCODE_SYNC,          UVZK__OPCODE_MULTI,
                                UVZK__OPCODE_MULTI_READ,    UVZK__OPCODE_ADD_WATCH,
                                UVZK__OPCODE_CHECK_WATCHES, UVZK__OPCODE_REMOVE_WATCHES,
                                UVZK__OPCODE_SET_WATCHES,   UVZK__OPCODE_SET_WATCHES2,
                                UVZK__OPCODE_AUTH,          UVZK__OPCODE_PING,
                                UVZK__OPCODE_CLOSE_SESSION, UVZK__OPCODE_SASL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void fill_ops(void)
{
    uvzk__jute_writer_init(&ops);
    for (size_t i = 0; i < COUNT(in_multi); i++) {
        struct uvzk__wire_request op = request_of(in_multi[i]);
        uvzk__wire_op_add(&ops, UVZK__OPCODE_MULTI, &op);
    }
    assert_int_equal(uvzk__jute_list_of(&ops, COUNT(in_multi), &op_list), 0);
    uvzk__jute_writer_init(&reads);
    for (size_t i = 0; i < COUNT(in_multi_read); i++) {
        struct uvzk__wire_request op = request_of(in_multi_read[i]);
        uvzk__wire_op_add(&reads, UVZK__OPCODE_MULTI_READ, &op);
    }
    assert_int_equal(uvzk__jute_list_of(&reads, COUNT(in_multi_read), &read_list), 0);
}

static int fill_lists(void **state)
{
    (void)state;
    fill_acls();
    fill_strings();
    fill_ops();
    return 0;
}

static int free_lists(void **state)
{
    (void)state;
    uvzk__jute_writer_end(&acls);
    uvzk__jute_writer_end(&strings);
    uvzk__jute_writer_end(&ops);
    uvzk__jute_writer_end(&reads);
    return 0;
}

static struct uvzk__jute_writer written(const struct uvzk__wire_request *request)
{
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_request_write(&writer, UVZK__JUTE_MAXBUFFER, request), 0);
    return writer;
}

/* What a request is written as. */
static void assert_frame(const struct uvzk__wire_request *request, const char *digits)
{
    struct uvzk__jute_writer writer = written(request);

    assert_written(&writer, digits);
    uvzk__jute_writer_end(&writer);
}

static void a_connect_request_has_these_bytes(void **state)
{
    struct uvzk__connect_request request = {.last_zxid = 0x500000002,
                                            .timeout_ms = 10000,
                                            .session_id = 0x100,
                                            .password =
                                                uvzk__jute_text("0123456789abcdef"),
                                            .has_read_only = true},
                                 again;
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_request_write(&writer, 45, &request), 0);
    assert_written(&writer,
                   "0000002d 00000000 0000000500000002 00002710 0000000000000100 "
                   "00000010 30313233343536373839616263646566 00");
    assert_int_equal(uvzk__connect_request_read(contents(&writer), &again), 0);
    assert_int_equal(again.protocol_version, 0);
    assert_true(again.last_zxid == request.last_zxid);
    assert_int_equal(again.timeout_ms, 10000);
    assert_true(again.session_id == 0x100);
    assert_bytes(again.password, "0123456789abcdef");
    assert_true(again.has_read_only && !again.read_only);
    assert_int_equal(uvzk__connect_request_write(&writer, 44, &request), UV_EMSGSIZE);
    request.has_read_only = false;
    uvzk__jute_writer_clear(&writer);
    assert_int_equal(uvzk__connect_request_write(&writer, 44, &request), 0);
    assert_int_equal(contents(&writer).length, 44);
    uvzk__jute_writer_end(&writer);
}

/* Without its last byte it is the request of an old client. */
static void a_connect_request_may_lack_its_last_field(void **state)
{
    struct frame frame = frame_of("00000000 0000000500000002 00002710 0000000000000100 "
                                  "00000010 30313233343536373839616263646566 01");
    struct uvzk__connect_request request;
    (void)state;

    for (size_t length = 0; length <= frame.length; length++) {
        struct uvzk__jute_bytes bytes = cut_off(frame.bytes, length);
        int status = uvzk__connect_request_read(bytes, &request);
        assert_int_equal(status, length < 44 ? UV_EPROTO : 0);
        assert_true(status == 0 || is_zero(&request, sizeof(request)));
        assert_int_equal(request.has_read_only, length == 45);
        assert_int_equal(request.read_only, length == 45);
        free_bytes(bytes);
    }
    frame.bytes[44] = 2;
    assert_int_equal(
        uvzk__connect_request_read(uvzk__jute_bytes(frame.bytes, 45), &request),
        UV_EPROTO);
    free(frame.bytes);
}

static void simple_requests_have_these_bytes(void **state)
{
    (void)state;
    assert_frame(
        &(struct uvzk__wire_request){.xid = UVZK__XID_PING, .opcode = UVZK__OPCODE_PING},
        "00000008 fffffffe 0000000b");
    assert_frame(
        &(struct uvzk__wire_request){.xid = 9, .opcode = UVZK__OPCODE_CLOSE_SESSION},
        "00000008 00000009 fffffff5");
    assert_frame(&(struct uvzk__wire_request){.xid = 1,
                                              .opcode = UVZK__OPCODE_GET_DATA,
                                              .path = uvzk__jute_text("/a"),
                                              .watch = true},
                 "0000000f 00000001 00000004 00000002 2f61 01");
    assert_frame(&(struct uvzk__wire_request){.xid = UVZK__XID_AUTH,
                                              .opcode = UVZK__OPCODE_AUTH,
                                              .scheme = uvzk__jute_text("digest"),
                                              .data = uvzk__jute_text("u:p")},
                 "0000001d fffffffc 00000064 00000000 00000006 646967657374 00000003 "
                 "753a70");
    assert_frame(&(struct uvzk__wire_request){.xid = UVZK__XID_SASL,
                                              .opcode = UVZK__OPCODE_SASL,
                                              .data = uvzk__jute_text("ab")},
                 "0000000e fffffff0 00000066 00000002 6162");
    assert_frame(&(struct uvzk__wire_request){.xid = 2,
                                              .opcode = UVZK__OPCODE_REMOVE_WATCHES,
                                              .path = uvzk__jute_text("/a"),
                                              .mode = 3},
                 "00000012 00000002 00000012 00000002 2f61 00000003");
}

static void requests_with_lists_have_these_bytes(void **state)
{
    struct uvzk__wire_request create = {.xid = 1,
                                        .opcode = UVZK__OPCODE_CREATE2,
                                        .path = uvzk__jute_text("/a"),
                                        .acl = acl_list,
                                        .mode = 1};
    struct uvzk__wire_request set_watches = {.xid = UVZK__XID_SET_WATCHES,
                                             .opcode = UVZK__OPCODE_SET_WATCHES,
                                             .zxid = 6,
                                             .watches = {string_list}};
    struct uvzk__wire_request barrier = {.xid = 3, .opcode = UVZK__OPCODE_MULTI};
    (void)state;

    assert_frame(&create, "00000041 00000001 0000000f 00000002 2f61 ffffffff 00000002 "
                          "0000001f 00000005 776f726c64 00000006 616e796f6e65 "
                          "00000001 00000004 61757468 00000000 00000001");
    assert_frame(&set_watches,
                 "0000002a fffffff8 00000065 0000000000000006 00000002 00000002 2f61 "
                 "00000004 2f622f63 00000000 00000000");
    assert_frame(&barrier, "00000011 00000003 0000000e ffffffff 01 ffffffff");
}

static void a_multi_has_these_bytes(void **state)
{
    struct uvzk__wire_request check = {
        .opcode = UVZK__OPCODE_CHECK, .path = uvzk__jute_text("/a"), .version = 5};
    struct uvzk__wire_request delete = {
        .opcode = UVZK__OPCODE_DELETE, .path = uvzk__jute_text("/b"), .version = -1};
    struct uvzk__wire_request multi = {.xid = 1, .opcode = UVZK__OPCODE_MULTI};
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    uvzk__wire_op_add(&writer, UVZK__OPCODE_MULTI, &check);
    uvzk__wire_op_add(&writer, UVZK__OPCODE_MULTI, &delete);
    assert_int_equal(uvzk__jute_list_of(&writer, 2, &multi.ops), 0);
    assert_frame(&multi, "00000037 00000001 0000000e "
                         "0000000d 00 ffffffff 00000002 2f61 00000005 "
                         "00000002 00 ffffffff 00000002 2f62 ffffffff "
                         "ffffffff 01 ffffffff");
    uvzk__jute_writer_end(&writer);
}

/* Two lists are the same encoded. */
static void assert_list(struct uvzk__jute_list list, struct uvzk__jute_list expected)
{
    assert_int_equal(list.count, expected.count);
    assert_int_equal(list.length, expected.length);
    if (list.length > 0) {
        assert_memory_equal(list.at, expected.at, list.length);
    }
}

static void every_request_is_read_as_it_was_written(void **state)
{
    struct uvzk__wire_request again;
    (void)state;

    for (size_t i = 0; i < COUNT(alone); i++) {
        struct uvzk__wire_request request = request_of(alone[i]);
        struct uvzk__jute_writer writer = written(&request);
        assert_int_equal(uvzk__wire_request_read(contents(&writer), &again), 0);
        assert_int_equal(again.xid, request.xid);
        assert_int_equal(again.opcode, request.opcode);
        struct uvzk__jute_writer copy = written(&again);
        assert_int_equal(copy.length, writer.length);
        assert_memory_equal(copy.bytes, writer.bytes, copy.length);
        uvzk__jute_writer_end(&copy);
        uvzk__jute_writer_end(&writer);
    }
}

static void every_field_is_read(void **state)
{
    struct uvzk__wire_request request = request_of(UVZK__OPCODE_CREATE_TTL), again;
    struct uvzk__jute_writer writer = written(&request);
    (void)state;

    assert_int_equal(uvzk__wire_request_read(contents(&writer), &again), 0);
    assert_bytes(again.path, "/app/lock");
    assert_int_equal(again.data.length, 3);
    assert_memory_equal(again.data.at, "d\0t", 3);
    assert_list(again.acl, acl_list);
    assert_int_equal(again.mode, 3);
    assert_true(again.ttl_ms == request.ttl_ms);
    assert_int_equal(again.version, 0);
    struct uvzk__wire_acl acl;
    assert_true(uvzk__wire_acl_next(&again.acl, &acl));
    assert_int_equal(acl.permissions, 31);
    assert_bytes(acl.scheme, "world");
    assert_bytes(acl.id, "anyone");
    assert_true(uvzk__wire_acl_next(&again.acl, &acl));
    assert_bytes(acl.scheme, "auth");
    assert_bytes(acl.id, "");
    assert_false(uvzk__wire_acl_next(&again.acl, &acl));
    uvzk__jute_writer_end(&writer);

    request = request_of(UVZK__OPCODE_SET_WATCHES2);
    writer = written(&request);
    assert_int_equal(uvzk__wire_request_read(contents(&writer), &again), 0);
    assert_true(again.zxid == request.zxid);
    for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
        assert_list(again.watches[i], request.watches[i]);
    }
    uvzk__jute_writer_end(&writer);
}

static void assert_ops(int32_t multi, const int32_t *opcodes, size_t count)
{
    struct uvzk__wire_request request = request_of(multi), again, op;
    struct uvzk__jute_writer writer = written(&request);

    assert_int_equal(uvzk__wire_request_read(contents(&writer), &again), 0);
    assert_int_equal(again.ops.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(uvzk__wire_op_next(&again.ops, multi, &op));
        assert_int_equal(op.opcode, opcodes[i]);
        assert_int_equal(op.xid, 0);
        assert_bytes(op.path, "/app/lock");
        assert_int_equal(op.watch, multi == UVZK__OPCODE_MULTI_READ);
    }
    assert_false(uvzk__wire_op_next(&again.ops, multi, &op));
    uvzk__jute_writer_end(&writer);
}

static void the_operations_of_a_multi_are_read(void **state)
{
    (void)state;
    assert_ops(UVZK__OPCODE_MULTI, in_multi, COUNT(in_multi));
    assert_ops(UVZK__OPCODE_MULTI_READ, in_multi_read, COUNT(in_multi_read));
}

static void what_is_cut_off_is_refused(void **state)
{
    struct uvzk__wire_request again;
    (void)state;

    for (size_t i = 0; i < COUNT(alone); i++) {
        struct uvzk__wire_request request = request_of(alone[i]);
        struct uvzk__jute_writer writer = written(&request);
        size_t whole = contents(&writer).length;
        for (size_t length = 0; length < whole; length++) {
            struct uvzk__jute_bytes bytes = cut_off(writer.bytes + 4, length);
            assert_int_equal(uvzk__wire_request_read(bytes, &again), UV_EPROTO);
            assert_true(is_zero(&again, sizeof(again)));
            free_bytes(bytes);
        }
        uvzk__jute_writer_end(&writer);
    }
}

/* Each 4 bytes may be a length or a count: whatever they say, nothing beyond the frame is
 * read. */
static void absurd_lengths_are_not_believed(void **state)
{
    static const unsigned char absurd[][4] = {{0xff, 0xff, 0xff, 0xfe},
                                              {0x80, 0, 0, 0},
                                              {0x7f, 0xff, 0xff, 0xff},
                                              {0xff, 0xff, 0xff, 0xff}};
    struct uvzk__wire_request again;
    (void)state;

    for (size_t i = 0; i < COUNT(alone) * COUNT(absurd); i++) {
        struct uvzk__wire_request request = request_of(alone[i / COUNT(absurd)]);
        struct uvzk__jute_writer writer = written(&request);
        for (size_t at = 12; at + 4 <= writer.length; at++) {
            struct uvzk__jute_bytes bytes = cut_off(writer.bytes + 4, writer.length - 4);
            memcpy((void *)(uintptr_t)(bytes.at + at - 4), absurd[i % COUNT(absurd)], 4);
            int status = uvzk__wire_request_read(bytes, &again);
            assert_true(status == 0 || status == UV_EPROTO);
            free_bytes(bytes);
        }
        uvzk__jute_writer_end(&writer);
    }
}

static int read_digits(const char *digits, struct uvzk__wire_request *request)
{
    struct frame frame = frame_of(digits);
    struct uvzk__jute_bytes bytes = cut_off(frame.bytes, frame.length);

    int status = uvzk__wire_request_read(bytes, request);
    free_bytes(bytes);
    free(frame.bytes);
    return status;
}

static void malformed_requests_are_refused(void **state)
{
    static const char *const malformed[] = {
        "00000001 00000004 fffffffe 2f61 01", /* the length of a path */
        "00000001 00000004 7fffffff 2f61 01", /* */
        "00000001 00000004 00000002 2f61 02", /* a bool */
        "00000001 00000001 00000002 2f61 00000000 fffffffe 00000000", /* a count */
        "00000001 00000001 00000002 2f61 00000000 7fffffff 00000000",
        "00000001 0000000e 0000000e 00 ffffffff ffffffff 01 ffffffff ffffffff 01 "
        "ffffffff",
        "00000001 0000000e 00000004 00 ffffffff 00000002 2f61 00 ffffffff 01 ffffffff",
        "00000001 00000016 00000002 00 ffffffff 00000002 2f61 00000000 ffffffff 01 "
        "ffffffff",
        "00000001 0000000e ffffffff 00 ffffffff ffffffff 01 ffffffff",
    };
    struct uvzk__wire_request request;
    (void)state;

    for (size_t i = 0; i < COUNT(malformed); i++) {
        assert_int_equal(read_digits(malformed[i], &request), UV_EPROTO);
        assert_true(is_zero(&request, sizeof(request)));
    }
}

static void what_nobody_sends_is_not_supported(void **state)
{
    struct uvzk__wire_request request;
    struct uvzk__jute_writer writer;
    struct uvzk__jute_list list = {NULL, 0, 77};
    (void)state;

    assert_int_equal(read_digits("00000007 0000000d 00000002 2f61 00000000", &request),
                     UV_ENOTSUP);
    assert_int_equal(request.xid, 7);
    assert_int_equal(request.opcode, UVZK__OPCODE_CHECK);
    assert_int_equal(read_digits("00000007 00000000", &request), UV_ENOTSUP);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_request_write(&writer, 100, &request), UV_EINVAL);
    assert_int_equal(writer.length, 0);

    request = request_of(UVZK__OPCODE_GET_DATA);
    uvzk__wire_op_add(&writer, UVZK__OPCODE_MULTI, &request);
    assert_int_equal(uvzk__jute_list_of(&writer, 1, &list), UV_EINVAL);
    uvzk__jute_writer_clear(&writer);
    uvzk__wire_op_add(&writer, UVZK__OPCODE_DELETE, &request);
    assert_int_equal(uvzk__jute_list_of(&writer, 1, &list), UV_EINVAL);
    assert_int_equal(list.count, 77);
    uvzk__jute_writer_end(&writer);
}

static void bytes_behind_a_request_are_ignored(void **state)
{
    struct uvzk__wire_request request;
    (void)state;

    assert_int_equal(read_digits("00000007 00000009 00000002 2f61 0a0b", &request), 0);
    assert_int_equal(request.opcode, UVZK__OPCODE_SYNC);
    assert_int_equal(read_digits("fffffffe 0000000b 00", &request), 0);
}

static void a_request_over_the_limit_is_not_written(void **state)
{
    struct uvzk__jute_writer writer;
    (void)state;

    for (size_t i = 0; i < COUNT(alone); i++) {
        struct uvzk__wire_request request = request_of(alone[i]);
        writer = written(&request);
        size_t whole = writer.length;
        assert_int_equal(uvzk__wire_request_write(&writer, whole - 5, &request),
                         UV_EMSGSIZE);
        assert_int_equal(writer.length, whole);
        assert_int_equal(uvzk__wire_request_write(&writer, whole - 4, &request), 0);
        assert_int_equal(writer.length, 2 * whole);
        uvzk__jute_writer_end(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connect_request_has_these_bytes),
        cmocka_unit_test(a_connect_request_may_lack_its_last_field),
        cmocka_unit_test(simple_requests_have_these_bytes),
        cmocka_unit_test(requests_with_lists_have_these_bytes),
        cmocka_unit_test(a_multi_has_these_bytes),
        cmocka_unit_test(every_request_is_read_as_it_was_written),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(the_operations_of_a_multi_are_read),
        cmocka_unit_test(what_is_cut_off_is_refused),
        cmocka_unit_test(absurd_lengths_are_not_believed),
        cmocka_unit_test(malformed_requests_are_refused),
        cmocka_unit_test(what_nobody_sends_is_not_supported),
        cmocka_unit_test(bytes_behind_a_request_are_ignored),
        cmocka_unit_test(a_request_over_the_limit_is_not_written),
    };
    return cmocka_run_group_tests(tests, fill_lists, free_lists);
}
