/* SPDX-License-Identifier: Apache-2.0 */
/* Jute: single values, lengths that are not true, frames and their limit. */
#include "frames.h"

#include <uv.h>

#include "native/jute.h"
#include "uvzk.h"

static struct uvzk__jute_reader reader_of(const struct frame *frame)
{
    struct uvzk__jute_reader reader;

    uvzk__jute_reader_init(&reader, uvzk__jute_bytes(frame->bytes, frame->length));
    return reader;
}

static void values_are_big_endian(void **state)
{
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    uvzk__jute_put_int(&writer, 0x01020304);
    uvzk__jute_put_int(&writer, -2);
    uvzk__jute_put_long(&writer, INT64_MIN);
    uvzk__jute_put_bool(&writer, true);
    uvzk__jute_put_bytes(&writer, uvzk__jute_text("ab"));
    uvzk__jute_put_bytes(&writer, uvzk__jute_text(""));
    uvzk__jute_put_bytes(&writer, uvzk__jute_text(NULL));
    assert_int_equal(writer.status, 0);
    assert_written(
        &writer, "01020304 fffffffe 8000000000000000 01 00000002 6162 00000000 ffffffff");
    uvzk__jute_writer_end(&writer);
}

static void values_are_read(void **state)
{
    struct frame frame =
        frame_of("01020304 fffffffe 8000000000000000 01 00000002 6162 00000000 ffffffff");
    struct uvzk__jute_reader reader = reader_of(&frame);
    (void)state;

    assert_int_equal(uvzk__jute_get_int(&reader), 0x01020304);
    assert_int_equal(uvzk__jute_get_int(&reader), -2);
    assert_true(uvzk__jute_get_long(&reader) == INT64_MIN);
    assert_true(uvzk__jute_get_bool(&reader));
    assert_bytes(uvzk__jute_get_bytes(&reader), "ab");
    struct uvzk__jute_bytes empty = uvzk__jute_get_bytes(&reader);
    assert_true(empty.at != NULL && empty.length == 0);
    assert_null(uvzk__jute_get_bytes(&reader).at);
    assert_false(reader.malformed);
    assert_int_equal(reader.left, 0);
    free(frame.bytes);
}

static void a_malformed_value_ends_the_reading(void **state)
{
    static const char *const malformed[] = {"fffffffe 00000001",
                                            "80000000 00000001",
                                            "7fffffff 00000001",
                                            "00000005 00000001",
                                            "000000",
                                            ""};
    (void)state;

    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        struct frame frame = frame_of(malformed[i]);
        struct uvzk__jute_bytes exact = cut_off(frame.bytes, frame.length);
        struct uvzk__jute_reader reader;
        uvzk__jute_reader_init(&reader, exact);
        struct uvzk__jute_bytes bytes = uvzk__jute_get_bytes(&reader);
        assert_true(reader.malformed);
        assert_true(bytes.at == NULL && bytes.length == 0);
        assert_int_equal(uvzk__jute_get_int(&reader), 0);
        assert_int_equal(uvzk__jute_get_long(&reader), 0);
        assert_false(uvzk__jute_get_bool(&reader));
        free_bytes(exact);
        free(frame.bytes);
    }
}

static void a_bool_is_0_or_1(void **state)
{
    struct frame frame = frame_of("02");
    struct uvzk__jute_reader reader = reader_of(&frame);
    (void)state;

    assert_false(uvzk__jute_get_bool(&reader));
    assert_true(reader.malformed);
    free(frame.bytes);
}

/* Reads a list of strings that is the whole of a frame. Returns how many it has; -1:
 * null; -2: it is malformed. */
static int32_t strings_in(const char *digits)
{
    static const struct uvzk__jute_field fields[] = {
        {UVZK__JUTE_LIST, 0, uvzk__jute_string}, UVZK__JUTE_LAST_FIELD};
    struct frame frame = frame_of(digits);
    struct uvzk__jute_bytes exact = cut_off(frame.bytes, frame.length), string;
    struct uvzk__jute_reader reader;
    struct uvzk__jute_list list;

    uvzk__jute_reader_init(&reader, exact);
    uvzk__jute_record_read(&reader, fields, &list);
    int32_t count = reader.malformed ? -2 : list.count;
    for (int32_t i = 0; i < count; i++) {
        assert_true(uvzk__jute_strings_next(&list, &string));
    }
    if (count > -2) {
        assert_false(uvzk__jute_strings_next(&list, &string));
        assert_int_equal(list.count, count == -1 ? -1 : 0);
    }
    free_bytes(exact);
    free(frame.bytes);
    return count;
}

static void a_list_has_what_its_count_says(void **state)
{
    (void)state;
    assert_int_equal(strings_in("00000002 00000001 61 00000000"), 2);
    assert_int_equal(strings_in("00000000"), 0);
    assert_int_equal(strings_in("ffffffff"), -1);
    assert_int_equal(strings_in("fffffffe"), -2);
    assert_int_equal(strings_in("80000000"), -2);
    assert_int_equal(strings_in("00000002 00000001 61"), -2);
    assert_int_equal(strings_in("7fffffff 00000001 61"), -2);
    assert_int_equal(strings_in("00000001 00000002 61"), -2);
    assert_int_equal(strings_in("00000001 fffffffe 61"), -2);
    assert_int_equal(strings_in("00000001"), -2);
}

static int frame_in(const char *digits, size_t limit, struct uvzk__jute_bytes *frame)
{
    struct frame whole = frame_of(digits);
    struct uvzk__jute_bytes exact = cut_off(whole.bytes, whole.length);

    int status = uvzk__jute_frame(exact, limit, frame);
    if (status == 0) {
        assert_true(frame->at == exact.at + 4);
    }
    free_bytes(exact);
    free(whole.bytes);
    return status;
}

static void a_frame_is_found(void **state)
{
    struct uvzk__jute_bytes frame = {NULL, 77};
    (void)state;

    assert_int_equal(frame_in("", 2, &frame), UV_EAGAIN);
    assert_int_equal(frame_in("000000", 2, &frame), UV_EAGAIN);
    assert_int_equal(frame_in("00000002 aa", 2, &frame), UV_EAGAIN);
    assert_int_equal(frame_in("00000003", 2, &frame), UV_EMSGSIZE);
    assert_int_equal(frame_in("7fffffff", UVZK__JUTE_MAXBUFFER, &frame), UV_EMSGSIZE);
    assert_int_equal(frame_in("ffffffff", 2, &frame), UV_EPROTO);
    assert_int_equal(frame_in("80000000", SIZE_MAX, &frame), UV_EPROTO);
    assert_true(frame.at == NULL && frame.length == 77);
    assert_int_equal(frame_in("00000002 aabb 00", 2, &frame), 0);
    assert_int_equal(frame.length, 2);
    assert_int_equal(frame_in("00000000", 0, &frame), 0);
    assert_int_equal(frame.length, 0);
}

static void a_frame_that_is_too_long_is_taken_back(void **state)
{
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    uvzk__jute_frame_begin(&writer, 4);
    uvzk__jute_put_int(&writer, 7);
    assert_int_equal(uvzk__jute_frame_end(&writer), 0);
    uvzk__jute_frame_begin(&writer, 4);
    uvzk__jute_put_int(&writer, 8);
    uvzk__jute_put_bool(&writer, true);
    uvzk__jute_put_int(&writer, 8);
    assert_int_equal(uvzk__jute_frame_end(&writer), UV_EMSGSIZE);
    assert_written(&writer, "00000004 00000007");
    uvzk__jute_frame_begin(&writer, 0);
    assert_int_equal(uvzk__jute_frame_end(&writer), 0);
    assert_written(&writer, "00000004 00000007 00000000");
    uvzk__jute_writer_end(&writer);
}

/* The first failure is the one that is reported. */
static void the_caller_may_fail_a_frame(void **state)
{
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    uvzk__jute_frame_begin(&writer, SIZE_MAX);
    uvzk__jute_writer_fail(&writer, UV_EINVAL);
    uvzk__jute_writer_fail(&writer, UV_ENOMEM);
    uvzk__jute_put_int(&writer, 8);
    assert_int_equal(uvzk__jute_frame_end(&writer), UV_EINVAL);
    assert_int_equal(writer.length, 0);
    uvzk__jute_frame_begin(&writer, SIZE_MAX);
    assert_int_equal(uvzk__jute_frame_end(&writer), 0);
    uvzk__jute_writer_end(&writer);
}

/* Neither is read: it would not be there. */
static void what_no_length_can_say_is_not_written(void **state)
{
    struct uvzk__jute_writer writer;
    struct uvzk__jute_list list = {NULL, 0, 77};
    (void)state;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__jute_list_of(&writer, (size_t)INT32_MAX + 1, &list),
                     UV_EMSGSIZE);
    uvzk__jute_put_bytes(&writer, uvzk__jute_bytes("a", (size_t)INT32_MAX + 1));
    assert_int_equal(uvzk__jute_list_of(&writer, 1, &list), UV_EMSGSIZE);
    assert_int_equal(list.count, 77);
    uvzk__jute_writer_clear(&writer);
    uvzk__jute_frame_begin(&writer, SIZE_MAX);
    uvzk__jute_put_bytes(&writer, uvzk__jute_bytes("a", SIZE_MAX));
    assert_int_equal(uvzk__jute_frame_end(&writer), UV_EMSGSIZE);
    assert_int_equal(writer.length, 0);
    uvzk__jute_writer_end(&writer);
}

static void the_buffer_grows(void **state)
{
    static const char text[5000] = "x";
    struct uvzk__jute_writer writer;
    (void)state;

    uvzk__jute_writer_init(&writer);
    uvzk__jute_put_int(&writer, 7);
    for (size_t i = 0; i < 5; i++) {
        uvzk__jute_put_raw(&writer, text, sizeof(text));
    }
    assert_int_equal(writer.status, 0);
    assert_int_equal(writer.length, 4 + 5 * sizeof(text));
    assert_memory_equal(writer.bytes + 4 + 4 * sizeof(text), text, sizeof(text));
    uvzk__jute_writer_end(&writer);
}

static size_t allocations_left;

static void *few_reallocs(void *memory, size_t size)
{
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left--;
    return realloc(memory, size);
}

/* Writes a frame of 300 bytes while only `count` allocations succeed. */
static int write_with(struct uvzk__jute_writer *writer, size_t count)
{
    static const char text[296] = "x";

    allocations_left = count;
    uvzk__jute_frame_begin(writer, UVZK__JUTE_MAXBUFFER);
    uvzk__jute_put_bytes(writer, uvzk__jute_bytes(text, sizeof(text)));
    return uvzk__jute_frame_end(writer);
}

static void out_of_memory_is_an_error_code(void **state)
{
    struct uvzk__jute_writer writer;
    struct uvzk__jute_list list = {NULL, 0, 77};
    (void)state;

    assert_int_equal(uvzk_replace_allocator(malloc, few_reallocs, calloc, free), 0);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(write_with(&writer, 0), UV_ENOMEM);
    assert_int_equal(writer.length, 0);
    assert_int_equal(write_with(&writer, 1), UV_ENOMEM);
    assert_int_equal(writer.length, 0);
    assert_int_equal(write_with(&writer, 1), 0);
    assert_int_equal(writer.length, 304);
    assert_int_equal(write_with(&writer, 0), UV_ENOMEM);
    assert_int_equal(writer.length, 304);
    for (int i = 0; i < 200; i++) {
        uvzk__jute_put_int(&writer, 1);
    }
    assert_int_equal(uvzk__jute_list_of(&writer, 200, &list), UV_ENOMEM);
    assert_int_equal(list.count, 77);
    uvzk__jute_writer_clear(&writer);
    assert_int_equal(uvzk__jute_list_of(&writer, 0, &list), 0);
    assert_int_equal(list.count, 0);
    uvzk__jute_writer_end(&writer);
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, free), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_big_endian),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(a_malformed_value_ends_the_reading),
        cmocka_unit_test(a_bool_is_0_or_1),
        cmocka_unit_test(a_list_has_what_its_count_says),
        cmocka_unit_test(a_frame_is_found),
        cmocka_unit_test(a_frame_that_is_too_long_is_taken_back),
        cmocka_unit_test(the_caller_may_fail_a_frame),
        cmocka_unit_test(what_no_length_can_say_is_not_written),
        cmocka_unit_test(the_buffer_grows),
        cmocka_unit_test(out_of_memory_is_an_error_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
