/* SPDX-License-Identifier: Apache-2.0 */
/* Replies and events: known bytes, each record written and read, what is cut off or not
 * true. */
#include "frames.h"

#include <uv.h>

#include "native/wire_reply.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define STAT_DIGITS                                                        \
    "0000000000000001 0000000000000002 0000000000000003 0000000000000004 " \
    "00000005 00000006 00000007 0000000000000008 00000009 0000000a 000000000000000b"

static const struct uvzk__wire_stat sample_stat = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* The lists of the samples: writers with their elements. */
static struct uvzk__jute_writer names, results, reads;
static struct uvzk__jute_list name_list, result_list, read_list;

/* With every field that any record has; each record takes its own. */
static struct uvzk__wire_reply reply_of(int32_t opcode)
{
    return (struct uvzk__wire_reply){
        .xid = 0x01020304,
        .zxid = 0x500000001,
        .opcode = opcode,
        .path = uvzk__jute_text("/app/lock"),
        .data = uvzk__jute_bytes("d\0t", 3),
        .children = name_list,
        .stat = sample_stat,
        .results = opcode == UVZK__OPCODE_MULTI ? result_list : read_list,
        .body_err = opcode == UVZK__OPCODE_ERROR ? -101 : 0,
        .event = 4,
        .state = 3,
    };
}

static const int32_t in_multi[] = {
    UVZK__OPCODE_CREATE,     UVZK__OPCODE_CREATE2, UVZK__OPCODE_CREATE_CONTAINER,
    UVZK__OPCODE_CREATE_TTL, UVZK__OPCODE_DELETE,  UVZK__OPCODE_SET_DATA,
    UVZK__OPCODE_CHECK,      UVZK__OPCODE_ERROR};
static const int32_t in_multi_read[] = {UVZK__OPCODE_GET_DATA, UVZK__OPCODE_ERROR,
                                        UVZK__OPCODE_GET_CHILDREN};
static const int32_t with_body[] = {
    UVZK__OPCODE_CREATE,           UVZK__OPCODE_CREATE2,  UVZK__OPCODE_CREATE_TTL,
    UVZK__OPCODE_CREATE_CONTAINER, UVZK__OPCODE_SET_DATA, UVZK__OPCODE_GET_DATA,
    UVZK__OPCODE_EXISTS,           UVZK__OPCODE_SYNC,     UVZK__OPCODE_GET_CHILDREN,
    UVZK__OPCODE_GET_CHILDREN2,    UVZK__OPCODE_MULTI,    UVZK__OPCODE_MULTI_READ,
    UVZK__OPCODE_ADD_WATCH,        UVZK__OPCODE_SASL,     UVZK__OPCODE_EVENT};
static const int32_t without_body[] = {
    UVZK__OPCODE_DELETE,      UVZK__OPCODE_CHECK_WATCHES, UVZK__OPCODE_REMOVE_WATCHES,
    UVZK__OPCODE_SET_WATCHES, UVZK__OPCODE_SET_WATCHES2,  UVZK__OPCODE_AUTH,
    UVZK__OPCODE_PING,        UVZK__OPCODE_CLOSE_SESSION};

static void fill(struct uvzk__jute_writer *writer, int32_t multi, const int32_t *opcodes,
                 size_t count, struct uvzk__jute_list *list)
{
    uvzk__jute_writer_init(writer);
    for (size_t i = 0; i < count; i++) {
        struct uvzk__wire_reply result = reply_of(opcodes[i]);
        uvzk__wire_result_add(writer, multi, &result);
    }
    assert_int_equal(uvzk__jute_list_of(writer, count, list), 0);
}

static int fill_lists(void **state)
{
    (void)state;
    uvzk__jute_writer_init(&names);
    uvzk__jute_put_bytes(&names, uvzk__jute_text("a"));
    uvzk__jute_put_bytes(&names, uvzk__jute_text("bc"));
    assert_int_equal(uvzk__jute_list_of(&names, 2, &name_list), 0);
    fill(&results, UVZK__OPCODE_MULTI, in_multi, COUNT(in_multi), &result_list);
    fill(&reads, UVZK__OPCODE_MULTI_READ, in_multi_read, COUNT(in_multi_read),
         &read_list);
    return 0;
}

static int free_lists(void **state)
{
    (void)state;
    uvzk__jute_writer_end(&names);
    uvzk__jute_writer_end(&results);
    uvzk__jute_writer_end(&reads);
    return 0;
}

static struct uvzk__jute_writer written(const struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_reply_write(&writer, UVZK__JUTE_MAXBUFFER, reply), 0);
    return writer;
}

static void assert_frame(const struct uvzk__wire_reply *reply, const char *digits)
{
    struct uvzk__jute_writer writer = written(reply);

    assert_written(&writer, digits);
    uvzk__jute_writer_end(&writer);
}

static void a_connect_response_has_these_bytes(void **state)
{
    struct uvzk__connect_response response = {.timeout_ms = 4000,
                                              .session_id = 0x1000000000000001,
                                              .password =
                                                  uvzk__jute_text("0123456789abcdef"),
                                              .has_read_only = true},
                                  again;
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_response_write(&writer, 37, &response), 0);
    assert_written(&writer, "00000025 00000000 00000fa0 1000000000000001 00000010 "
                            "30313233343536373839616263646566 00");
    assert_int_equal(uvzk__connect_response_read(contents(&writer), &again), 0);
    assert_int_equal(again.timeout_ms, 4000);
    assert_true(again.session_id == response.session_id);
    assert_bytes(again.password, "0123456789abcdef");
    assert_true(again.has_read_only && !again.read_only);
    assert_int_equal(uvzk__connect_response_write(&writer, 36, &response), UV_EMSGSIZE);
    response.has_read_only = false;
    uvzk__jute_writer_clear(&writer);
    assert_int_equal(uvzk__connect_response_write(&writer, 36, &response), 0);
    assert_int_equal(contents(&writer).length, 36);
    uvzk__jute_writer_end(&writer);
}

static void a_connect_response_may_lack_its_last_field(void **state)
{
    struct frame frame = frame_of("00000000 00000fa0 1000000000000001 00000010 "
                                  "30313233343536373839616263646566 01");
    struct uvzk__connect_response response;
    (void)state;

    for (size_t length = 0; length <= frame.length; length++) {
        struct uvzk__jute_bytes bytes = cut_off(frame.bytes, length);
        int status = uvzk__connect_response_read(bytes, &response);
        assert_int_equal(status, length < 36 ? UV_EPROTO : 0);
        assert_true(status == 0 || is_zero(&response, sizeof(response)));
        assert_int_equal(response.has_read_only, length == 37);
        assert_int_equal(response.read_only, length == 37);
        free_bytes(bytes);
    }
    free(frame.bytes);
}

static void replies_have_these_bytes(void **state)
{
    struct uvzk__wire_reply reply = reply_of(UVZK__OPCODE_DELETE);
    (void)state;

    assert_frame(&reply, "00000010 01020304 0000000500000001 00000000");
    reply = reply_of(UVZK__OPCODE_CREATE2);
    assert_frame(&reply, "00000061 01020304 0000000500000001 00000000 "
                         "00000009 2f6170702f6c6f636b " STAT_DIGITS);
    reply = reply_of(UVZK__OPCODE_GET_DATA);
    assert_frame(
        &reply,
        "0000005b 01020304 0000000500000001 00000000 00000003 640074 " STAT_DIGITS);
    reply = reply_of(UVZK__OPCODE_GET_CHILDREN);
    assert_frame(&reply, "0000001f 01020304 0000000500000001 00000000 "
                         "00000002 00000001 61 00000002 6263");
    reply.err = -101;
    assert_frame(&reply, "00000010 01020304 0000000500000001 ffffff9b");
    reply = (struct uvzk__wire_reply){.xid = UVZK__XID_EVENT,
                                      .zxid = -1,
                                      .opcode = UVZK__OPCODE_EVENT,
                                      .event = 2,
                                      .state = 3,
                                      .path = uvzk__jute_text("/a")};
    assert_frame(&reply, "0000001e ffffffff ffffffffffffffff 00000000 "
                         "00000002 00000003 00000002 2f61");
}

/* What a server answers to a transaction of three operations, of which the second
 * fails. */
static void a_failed_multi_is_read(void **state)
{
    struct frame frame = frame_of("00000009 0000000500000001 00000000 "
                                  "ffffffff 00 00000000 00000000 "
                                  "ffffffff 00 ffffff9b ffffff9b "
                                  "ffffffff 00 fffffffe fffffffe "
                                  "ffffffff 01 ffffffff");
    static const int32_t errors[] = {0, -101, -2};
    struct uvzk__wire_reply reply, result;
    struct uvzk__jute_writer writer;
    (void)state;

    assert_int_equal(uvzk__wire_reply_read(uvzk__jute_bytes(frame.bytes, frame.length),
                                           UVZK__OPCODE_MULTI, &reply),
                     0);
    assert_int_equal(reply.xid, 9);
    assert_int_equal(reply.err, 0);
    assert_int_equal(reply.results.count, 3);
    struct uvzk__jute_list left = reply.results;
    for (size_t i = 0; i < COUNT(errors); i++) {
        assert_true(uvzk__wire_result_next(&left, UVZK__OPCODE_MULTI, &result));
        assert_int_equal(result.opcode, UVZK__OPCODE_ERROR);
        assert_int_equal(result.body_err, errors[i]);
    }
    assert_false(uvzk__wire_result_next(&left, UVZK__OPCODE_MULTI, &result));

    fill(&writer, UVZK__OPCODE_MULTI, NULL, 0, &left);
    for (size_t i = 0; i < COUNT(errors); i++) {
        result = (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_ERROR,
                                           .body_err = errors[i]};
        uvzk__wire_result_add(&writer, UVZK__OPCODE_MULTI, &result);
    }
    assert_int_equal(writer.length, reply.results.length);
    assert_memory_equal(writer.bytes, reply.results.at, writer.length);
    uvzk__jute_writer_end(&writer);
    free(frame.bytes);
}

static void assert_same_again(int32_t opcode)
{
    struct uvzk__wire_reply reply = reply_of(opcode), again, header;
    struct uvzk__jute_writer writer = written(&reply);

    assert_int_equal(uvzk__wire_reply_read_header(contents(&writer), &header), 0);
    assert_int_equal(header.xid, reply.xid);
    assert_true(header.zxid == reply.zxid);
    assert_int_equal(header.err, 0);
    assert_null(header.path.at);
    assert_int_equal(uvzk__wire_reply_read(contents(&writer), opcode, &again), 0);
    assert_int_equal(again.opcode, opcode);
    struct uvzk__jute_writer copy = written(&again);
    assert_int_equal(copy.length, writer.length);
    assert_memory_equal(copy.bytes, writer.bytes, copy.length);
    uvzk__jute_writer_end(&copy);
    uvzk__jute_writer_end(&writer);
}

static void every_reply_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(with_body); i++) {
        assert_same_again(with_body[i]);
    }
    for (size_t i = 0; i < COUNT(without_body); i++) {
        assert_same_again(without_body[i]);
    }
}

static void every_field_is_read(void **state)
{
    struct uvzk__wire_reply reply = reply_of(UVZK__OPCODE_GET_CHILDREN2), again;
    struct uvzk__jute_writer writer = written(&reply);
    struct uvzk__jute_bytes name;
    (void)state;

    assert_int_equal(
        uvzk__wire_reply_read(contents(&writer), UVZK__OPCODE_GET_CHILDREN2, &again), 0);
    assert_true(uvzk__jute_strings_next(&again.children, &name));
    assert_bytes(name, "a");
    assert_true(uvzk__jute_strings_next(&again.children, &name));
    assert_bytes(name, "bc");
    assert_false(uvzk__jute_strings_next(&again.children, &name));
    assert_true(again.stat.czxid == 1 && again.stat.mzxid == 2);
    assert_true(again.stat.ctime_ms == 3 && again.stat.mtime_ms == 4);
    assert_int_equal(again.stat.version, 5);
    assert_int_equal(again.stat.cversion, 6);
    assert_int_equal(again.stat.aversion, 7);
    assert_true(again.stat.ephemeral_owner == 8);
    assert_int_equal(again.stat.data_length, 9);
    assert_int_equal(again.stat.child_count, 10);
    assert_true(again.stat.pzxid == 11);
    uvzk__jute_writer_end(&writer);
}

static void assert_results(int32_t multi, const int32_t *opcodes, size_t count)
{
    struct uvzk__wire_reply reply = reply_of(multi), again, result;
    struct uvzk__jute_writer writer = written(&reply);

    assert_int_equal(uvzk__wire_reply_read(contents(&writer), multi, &again), 0);
    assert_int_equal(again.results.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(uvzk__wire_result_next(&again.results, multi, &result));
        assert_int_equal(result.opcode, opcodes[i]);
        assert_int_equal(result.body_err, opcodes[i] == UVZK__OPCODE_ERROR ? -101 : 0);
        assert_true(result.xid == 0 && result.zxid == 0 && result.err == 0);
        if (opcodes[i] == UVZK__OPCODE_GET_CHILDREN) {
            assert_int_equal(result.children.count, 2);
        }
    }
    assert_false(uvzk__wire_result_next(&again.results, multi, &result));
    uvzk__jute_writer_end(&writer);
}

static void the_results_of_a_multi_are_read(void **state)
{
    (void)state;
    assert_results(UVZK__OPCODE_MULTI, in_multi, COUNT(in_multi));
    assert_results(UVZK__OPCODE_MULTI_READ, in_multi_read, COUNT(in_multi_read));
}

static void assert_cut_off_is_refused(int32_t opcode)
{
    struct uvzk__wire_reply reply = reply_of(opcode), again;
    struct uvzk__jute_writer writer = written(&reply);
    size_t whole = contents(&writer).length;

    for (size_t length = 0; length < whole; length++) {
        struct uvzk__jute_bytes bytes = cut_off(writer.bytes + 4, length);
        assert_int_equal(uvzk__wire_reply_read(bytes, opcode, &again), UV_EPROTO);
        assert_true(is_zero(&again, sizeof(again)));
        assert_int_equal(uvzk__wire_reply_read_header(bytes, &again),
                         length < 16 ? UV_EPROTO : 0);
        free_bytes(bytes);
    }
    uvzk__jute_writer_end(&writer);
}

static void what_is_cut_off_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(with_body); i++) {
        assert_cut_off_is_refused(with_body[i]);
    }
    for (size_t i = 0; i < COUNT(without_body); i++) {
        assert_cut_off_is_refused(without_body[i]);
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
    struct uvzk__wire_reply again;
    (void)state;

    for (size_t i = 0; i < COUNT(with_body) * COUNT(absurd); i++) {
        struct uvzk__wire_reply reply = reply_of(with_body[i / COUNT(absurd)]);
        struct uvzk__jute_writer writer = written(&reply);
        for (size_t at = 20; at + 4 <= writer.length; at++) {
            struct uvzk__jute_bytes bytes = cut_off(writer.bytes + 4, writer.length - 4);
            memcpy((void *)(uintptr_t)(bytes.at + at - 4), absurd[i % COUNT(absurd)], 4);
            int status = uvzk__wire_reply_read(bytes, reply.opcode, &again);
            assert_true(status == 0 || status == UV_EPROTO);
            free_bytes(bytes);
        }
        uvzk__jute_writer_end(&writer);
    }
}

#define HEADER "00000001 0000000000000000 00000000 "

static int read_digits(const char *digits, int32_t opcode, struct uvzk__wire_reply *reply)
{
    struct frame frame = frame_of(digits);
    struct uvzk__jute_bytes bytes = cut_off(frame.bytes, frame.length);

    int status = uvzk__wire_reply_read(bytes, opcode, reply);
    free_bytes(bytes);
    free(frame.bytes);
    return status;
}

static void malformed_replies_are_refused(void **state)
{
    static const struct {
        int32_t opcode;
        const char *digits;
    } malformed[] = {
        {UVZK__OPCODE_SYNC, HEADER "fffffffe 2f61"},
        {UVZK__OPCODE_SYNC, HEADER "7fffffff 2f61"},
        {UVZK__OPCODE_GET_CHILDREN, HEADER "fffffffe"},
        {UVZK__OPCODE_GET_CHILDREN, HEADER "7fffffff 00000001 61"},
        {UVZK__OPCODE_MULTI, HEADER "00000008 00 00000000 00000000 ffffffff 01 ffffffff"},
        {UVZK__OPCODE_MULTI, HEADER "00000002 02 00000000 ffffffff 01 ffffffff"},
        {UVZK__OPCODE_MULTI, HEADER "0000000e 00 00000000 ffffffff 01 ffffffff"},
        {UVZK__OPCODE_MULTI_READ, HEADER "00000002 00 00000000 ffffffff 01 ffffffff"},
    };
    struct uvzk__wire_reply reply;
    (void)state;

    for (size_t i = 0; i < COUNT(malformed); i++) {
        assert_int_equal(read_digits(malformed[i].digits, malformed[i].opcode, &reply),
                         UV_EPROTO);
        assert_true(is_zero(&reply, sizeof(reply)));
    }
}

static void nulls_are_read(void **state)
{
    struct uvzk__wire_reply reply;
    (void)state;

    assert_int_equal(
        read_digits(HEADER "ffffffff " STAT_DIGITS, UVZK__OPCODE_GET_DATA, &reply), 0);
    assert_null(reply.data.at);
    assert_int_equal(reply.stat.version, 5);
    assert_int_equal(read_digits(HEADER "ffffffff", UVZK__OPCODE_GET_CHILDREN, &reply),
                     0);
    assert_int_equal(reply.children.count, -1);
    assert_frame(&reply, "00000014 " HEADER "ffffffff");
}

static void what_nobody_sends_is_not_supported(void **state)
{
    struct uvzk__wire_reply reply;
    struct uvzk__jute_writer writer;
    struct uvzk__jute_list list = {NULL, 0, 77};
    (void)state;

    assert_int_equal(read_digits(HEADER, UVZK__OPCODE_CHECK, &reply), UV_ENOTSUP);
    assert_int_equal(read_digits(HEADER, UVZK__OPCODE_ERROR, &reply), UV_ENOTSUP);
    assert_true(is_zero(&reply, sizeof(reply)));
    reply = reply_of(UVZK__OPCODE_ERROR);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_reply_write(&writer, 100, &reply), UV_EINVAL);
    assert_int_equal(writer.length, 0);
    reply = reply_of(UVZK__OPCODE_GET_CHILDREN2);
    uvzk__wire_result_add(&writer, UVZK__OPCODE_MULTI_READ, &reply);
    assert_int_equal(uvzk__jute_list_of(&writer, 1, &list), UV_EINVAL);
    assert_int_equal(list.count, 77);
    uvzk__jute_writer_end(&writer);
}

static void bytes_behind_a_reply_are_ignored(void **state)
{
    struct uvzk__wire_reply reply;
    (void)state;

    assert_int_equal(read_digits(HEADER "00000000 0a", UVZK__OPCODE_DELETE, &reply), 0);
    assert_int_equal(read_digits("00000001 0000000000000000 ffffff9b 0a0b",
                                 UVZK__OPCODE_GET_DATA, &reply),
                     0);
    assert_int_equal(reply.err, -101);
}

static void a_reply_over_the_limit_is_not_written(void **state)
{
    (void)state;

    for (size_t i = 0; i < COUNT(with_body); i++) {
        struct uvzk__wire_reply reply = reply_of(with_body[i]);
        struct uvzk__jute_writer writer = written(&reply);
        size_t whole = writer.length;
        assert_int_equal(uvzk__wire_reply_write(&writer, whole - 5, &reply), UV_EMSGSIZE);
        assert_int_equal(writer.length, whole);
        assert_int_equal(uvzk__wire_reply_write(&writer, whole - 4, &reply), 0);
        uvzk__jute_writer_end(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connect_response_has_these_bytes),
        cmocka_unit_test(a_connect_response_may_lack_its_last_field),
        cmocka_unit_test(replies_have_these_bytes),
        cmocka_unit_test(a_failed_multi_is_read),
        cmocka_unit_test(every_reply_is_read_as_it_was_written),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(the_results_of_a_multi_are_read),
        cmocka_unit_test(what_is_cut_off_is_refused),
        cmocka_unit_test(absurd_lengths_are_not_believed),
        cmocka_unit_test(malformed_replies_are_refused),
        cmocka_unit_test(nulls_are_read),
        cmocka_unit_test(what_nobody_sends_is_not_supported),
        cmocka_unit_test(bytes_behind_a_reply_are_ignored),
        cmocka_unit_test(a_reply_over_the_limit_is_not_written),
    };
    return cmocka_run_group_tests(tests, fill_lists, free_lists);
}
