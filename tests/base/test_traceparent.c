/* SPDX-License-Identifier: Apache-2.0 */
/* The traceparent in a znode's data: which texts are one, and where it stands. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/traceparent.h"

#define GOOD "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void test_which_texts_are_one(void **state)
{
    static const char *const wrong[] = {
        "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",   /* too short */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-", /* too long */
        "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",  /* upper case */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01",  /* no digit */
        "00-4bf92f3577b34da6a3ce929d0e0e47360-0f067aa0ba902b7-01",  /* a dash elsewhere */
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", /* the version */
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", /* no trace */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", /* no parent */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n"};
    (void)state;

    assert_true(uvzk__traceparent_is_valid(GOOD));
    assert_true(uvzk__traceparent_is_valid(
        "cc-00000000000000000000000000000001-0000000000000001-00"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(uvzk__traceparent_is_valid(wrong[i]));
    }
}

/* Bytes in memory of just this size, so that a read beyond them is noticed. */
static int found(const char *data, char *text)
{
    size_t length = strlen(data);
    char *bytes = malloc(length + 1);

    memcpy(bytes, data, length);
    char *exact = realloc(bytes, length == 0 ? 1 : length);
    int result = uvzk_traceparent_of(exact, length, text);
    free(exact);
    return result;
}

static void test_where_it_stands(void **state)
{
    static const char *const without[] = {
        "",
        "traceparent: ",
        GOOD,
        "ann@web1",
        "x traceparent: " GOOD,
        "traceparent: " GOOD "\n",
        "traceparent:" GOOD,
        "traceparent: " GOOD " ",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g"};
    static const char *const with[] = {"traceparent: " GOOD, "ann\ntraceparent: " GOOD,
                                       "\ntraceparent: " GOOD,
                                       "traceparent: x\ntraceparent: " GOOD};
    char text[UVZK_TRACEPARENT_SIZE];
    (void)state;

    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        strcpy(text, "as it was");
        assert_int_equal(found(without[i], text), 0);
        assert_string_equal(text, "as it was");
    }
    for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        assert_int_equal(found(with[i], text), 1);
        assert_string_equal(text, GOOD);
    }
    assert_int_equal(uvzk_traceparent_of(NULL, 100, text), 0);
    assert_int_equal(uvzk_traceparent_of(GOOD, strlen(GOOD), NULL), 0);
}

static void test_it_stands_behind_the_data(void **state)
{
    char out[200] = {0}, text[UVZK_TRACEPARENT_SIZE];
    (void)state;

    uvzk__traceparent_append(out, "a\0b", 3, GOOD);
    size_t length = uvzk__traceparent_length_behind(3);
    assert_memory_equal(out, "a\0b\ntraceparent: " GOOD, length + 1);
    assert_int_equal(uvzk_traceparent_of(out, length, text), 1);
    assert_int_equal(length, 3 + UVZK__TRACEPARENT_LINE_MAX);
    memset(out, 0, sizeof(out));
    uvzk__traceparent_append(out, NULL, 0, GOOD);
    assert_string_equal(out, "traceparent: " GOOD);
    assert_int_equal(uvzk__traceparent_length_behind(0), strlen(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_texts_are_one),
        cmocka_unit_test(test_where_it_stands),
        cmocka_unit_test(test_it_stands_behind_the_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
