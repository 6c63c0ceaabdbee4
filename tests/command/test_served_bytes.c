/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in the lines of `uvzk serve`: what is base64, and what needs it. */
#include "serve/served_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

/* Of RFC 4648. */
static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xfe", "+//+"},
};

static void base64_is_decoded(void **state)
{
    unsigned char bytes[16];
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        assert_true(served_bytes_are_base64(vectors[i][1]));
        memset(bytes, 'x', sizeof(bytes));
        const unsigned char *end = served_bytes_decode(vectors[i][1], bytes);
        assert_int_equal(end - bytes, strlen(vectors[i][0]));
        assert_memory_equal(bytes, vectors[i][0], strlen(vectors[i][0]));
    }
}

static void what_is_no_base64(void **state)
{
    static const char *const texts[] = {
        "=",    "==",         "===",      "====",  "A",    "AA",   "AAA",
        "A===", "AA=A",       "AA==AA==", "AAA\n", "AA A", "AA-_", "Zh==",
        "Zm9=", "\303\244AA", "AAAAA",    "@AAA",  "[AAA", "`AAA", "{AAA"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (served_bytes_are_base64(texts[i])) {
            fail_msg("accepted: %s", texts[i]);
        }
    }
}

static void assert_added(const void *bytes, size_t length, const char *name,
                         const char *text)
{
    json_t *answer = json_object();

    assert_true(served_bytes_add(answer, bytes, length));
    assert_int_equal(json_object_size(answer), 1);
    assert_string_equal(json_string_value(json_object_get(answer, name)), text);
    json_decref(answer);
}

static void only_what_is_no_text_is_base64(void **state)
{
    (void)state;
    assert_added("", 0, "data", "");
    assert_added(NULL, 0, "data", "");
    assert_added("a\n\xc3\xa4", 4, "data", "a\n\xc3\xa4");
    assert_added("a", 2, "base64", "YQA=");
    assert_added("\0", 1, "base64", "AA==");
    assert_added("\xff", 1, "base64", "/w==");
    assert_added("\xc3", 1, "base64", "ww==");
    assert_added("\xed\xa0\x80", 3, "base64", "7aCA"); /* half of a surrogate pair */
}

static void all_bytes_come_back(void **state)
{
    unsigned char bytes[256], back[256 * 2];
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)i;
    }
    for (size_t length = 250; length <= sizeof(bytes); length++) {
        json_t *answer = json_object();
        assert_true(served_bytes_add(answer, bytes, length));
        const char *text = json_string_value(json_object_get(answer, "base64"));
        assert_true(served_bytes_are_base64(text));
        assert_int_equal(served_bytes_decode(text, back) - back, length);
        assert_memory_equal(back, bytes, length);
        json_decref(answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_decoded),
        cmocka_unit_test(what_is_no_base64),
        cmocka_unit_test(only_what_is_no_text_is_base64),
        cmocka_unit_test(all_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
