/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "seeded.h"
#include "uvzk.h"

static void assert_valid(const char *path, bool expected)
{
    int status = uvzk__path_validate(path);
    if (status != (expected ? 0 : UVZK_EPATH)) {
        fail_msg("\"%s\": %d", path, status);
    }
}

static void null_is_no_path(void **state)
{
    (void)state;
    assert_int_equal(uvzk__path_validate(NULL), UV_EINVAL);
}

static void valid_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/", "/a", "/a/b", "/this is / a valid/path", "/name/with.period.", "/.name",
        "/name.", "/a..b", "/..a", "/a..", "/...", "/.../a", "/a/.b/c", "/-",
        "/_c_x-lock-", "/ ", "/~", "/zookeeper", "/\\", "/%2e",
        /* each end of each allowed range beyond ASCII */
        "/\xc2\xa0", "/\xc3\xa4", "/\xdf\xbf", "/\xe0\xa0\x80", "/\xe2\x82\xac",
        "/\xed\x9f\xbf", "/\xef\xa4\x80", "/\xef\xbf\xaf", "/b\xc3\xa9/\xe6\xbc\xa2"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_valid(paths[i], true);
    }
}

static void malformed_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",          "a",     "a/b",  ".",     " /a",    "//",      "///",
        "//a",       "/a/",   "/a//", "/a//b", "/a/b/",  "/.",      "/..",
        "/./a",      "/../a", "/a/.", "/a/..", "/a/./b", "/a/../b", "/a/.//b",
        "/test\x01", "/\x1f", "/a\n", "/\t/a", "/\x7f",  "/a\x7f/b"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_valid(paths[i], false);
    }
}

static void malformed_utf8(void **state)
{
    (void)state;
    static const char *const paths[] = {
        /* no first bytes */
        "/\x80", "/\xbf", "/a\x80", "/\xfe", "/\xff",
        /* cut short, or one too many */
        "/\xc3", "/\xc3/a", "/\xc3(", "/\xe2\x82", "/\xe2\x82/", "/\xe2(\xa1",
        "/\xf0\x90\x80", "/\xe2", "/\xf0", "/\xf0\x90/\x80\x80", "/\xe2/\x82\xac",
        "/\xc3\xc3", "/\xc3\xa4\x80",
        /* overlong */
        "/\xc0\x80", "/\xc0\xaf", "/\xc1\xa1", "/\xc1\xbf", "/\xe0\x80\xaf",
        "/\xe0\x9f\xbf", "/\xe0\x82\xa0", "/\xf0\x80\x80\xaf", "/\xf0\x8f\xbf\xbf",
        "/\xf0\x80\x81\xa1",
        /* surrogates */
        "/\xed\xa0\x80", "/\xed\xbf\xbf", "/\xed\xa0\xbd\xed\xb8\x80",
        /* beyond U+10FFFF */
        "/\xf4\x90\x80\x80", "/\xf5\x80\x80\x80", "/\xf7\xbf\xbf\xbf",
        "/\xf8\x88\x80\x80\x80", "/\xfc\x84\x80\x80\x80\x80"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_valid(paths[i], false);
    }
}

static size_t encode_utf8(char *out, uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (char)(lead[size] | character);
    return size;
}

/* The table of PathUtils, written down once more as ranges. */
static bool is_allowed(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } forbidden[] = {{0x0000, 0x0000}, {0x0001, 0x001f}, {0x007f, 0x009f},
                     {0xd800, 0xf8ff}, {0xfff0, 0xffff}, {0x10000, 0x10ffff}};
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        if (character >= forbidden[i].first && character <= forbidden[i].last) {
            return false;
        }
    }
    return true;
}

/* Every character there is, as the only one of a name, at its start and at its
 * end. NUL ends a string in C, '/' and '.' have rules of their own. */
static void every_character(void **state)
{
    (void)state;
    for (uint32_t character = 1; character <= 0x10ffff; character++) {
        if (character == '/' || character == '.') {
            continue;
        }
        char path[8] = "/";
        size_t size = encode_utf8(path + 1, character);
        path[1 + size] = '\0';
        int expected = is_allowed(character) ? 0 : UVZK_EPATH;
        if (uvzk__path_validate(path) != expected) {
            fail_msg("U+%04X alone", character);
        }
        memmove(path + 2, path + 1, size + 1);
        path[1] = 'a';
        if (uvzk__path_validate(path) != expected) {
            fail_msg("U+%04X at the end", character);
        }
    }
}

/* Eight bytes are looked at together where an element is as long: a byte that is not
 * printable ASCII is found at each place among them, beside the least and the greatest
 * byte that is. '/' ends an element. */
static void every_byte_at_every_place(void **state)
{
    (void)state;
    for (int byte = 1; byte <= 0xff; byte++) {
        for (size_t place = 1; byte != '/' && place <= 24; place++) {
            for (const char *others = " ~a"; *others != '\0'; others++) {
                char path[26] = "/";
                memset(path + 1, *others, 24);
                path[place] = (char)byte;
                if ((uvzk__path_validate(path) == 0) != (byte >= 0x20 && byte <= 0x7e)) {
                    fail_msg("byte 0x%02x at %zu among '%c'", byte, place, *others);
                }
            }
        }
    }
}

static void the_length_is_bounded_in_bytes(void **state)
{
    (void)state;
    char path[UVZK__PATH_MAX + 3];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[UVZK__PATH_MAX] = '\0';
    assert_int_equal(uvzk__path_validate(path), 0);
    path[UVZK__PATH_MAX] = 'a';
    path[UVZK__PATH_MAX + 1] = '\0';
    assert_int_equal(uvzk__path_validate(path), UVZK_EPATH);

    for (size_t i = 1; i + 2 <= UVZK__PATH_MAX; i += 2) {
        memcpy(path + i, "\xc3\xa4", 2);
    }
    path[UVZK__PATH_MAX - 1] = '\0';
    assert_int_equal(uvzk__path_validate(path), 0);
    memcpy(path + UVZK__PATH_MAX - 1, "\xc3\xa4", 3);
    assert_int_equal(uvzk__path_validate(path), UVZK_EPATH);
}

/* PathUtils' loop in UTF-16, for characters of up to U+FFFF in path[]. */
static bool is_valid_to_model(const uint32_t *path, size_t length)
{
    if (length == 0 || path[0] != '/') {
        return false;
    }
    if (length == 1) {
        return true;
    }
    for (size_t i = 1; i <= length; i++) {
        bool ends = i == length || path[i] == '/';
        if (ends && path[i - 1] == '/') {
            return false;
        }
        if (ends && path[i - 1] == '.' &&
            (path[i - 2] == '/' || (path[i - 2] == '.' && path[i - 3] == '/'))) {
            return false;
        }
        if (i < length && !is_allowed(path[i])) {
            return false;
        }
    }
    return true;
}

static void random_paths_agree_with_a_model(void **state)
{
    (void)state;
    static const uint32_t alphabet[] = {'/', '/', '/',  '.',    '.',  '.',    'a',
                                        'b', 'a', 0xe4, 0x20ac, 0x7f, 0x1f600};
    struct seeded random = seeded_begin();
    int valid = 0;
    for (int i = 0; i < 200000; i++) {
        uint32_t model[12];
        char path[12 * 4 + 1];
        size_t length = seeded_below(&random, 12), size = 0;
        uint32_t letters = seeded_below(&random, 4) == 0 ? 13 : 11;
        for (size_t j = 0; j < length; j++) {
            model[j] = j == 0 && seeded_below(&random, 8) != 0
                           ? '/'
                           : alphabet[seeded_below(&random, letters)];
            size += encode_utf8(path + size, model[j]);
        }
        path[size] = '\0';
        bool expected = is_valid_to_model(model, length);
        valid += expected;
        assert_valid(path, expected);
    }
    assert_in_range(valid, 20000, 150000); /* the sample says something */
}

static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    for (int i = 0; i < 50000; i++) {
        size_t size = seeded_below(&random, 16);
        char *path = malloc(size + 1); /* exact: a sanitizer sees every overrun */
        assert_non_null(path);
        for (size_t j = 0; j < size; j++) {
            path[j] = (char)seeded_next(&random);
        }
        path[size] = '\0';
        if (size > 0) {
            path[0] = '/';
        }
        int status = uvzk__path_validate(path);
        assert_true(status == 0 || status == UVZK_EPATH);
        free(path);
    }
}

/* ------------------------------------------------------------------ joining */

static void join_puts_exactly_one_slash(void **state)
{
    (void)state;
    static const struct {
        const char *parent, *child, *joined;
    } rows[] = {
        {"/a", "b", "/a/b"},   {"/a/", "/b", "/a/b"}, {"/a", "/b", "/a/b"},
        {"/a/", "b", "/a/b"},  {"", "/b", "/b"},      {"", "b", "/b"},
        {"/", "b", "/b"},      {"/", "/b", "/b"},     {"/a/b", "/c/d", "/a/b/c/d"},
        {"/app", "/", "/app"}, {"/app/", "", "/app"}, {"/", "/", "/"},
        {"", "", "/"},         {"", "/", "/"},        {"/", "", "/"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *joined = uvzk__path_join(rows[i].parent, rows[i].child);
        assert_string_equal(joined, rows[i].joined);
        uvzk__free(joined);
    }
}

static void *no_malloc(size_t size)
{
    (void)size;
    return NULL;
}

static void join_tells_when_memory_is_out(void **state)
{
    (void)state;
    assert_int_equal(uvzk_replace_allocator(no_malloc, realloc, calloc, free), 0);
    char *joined = uvzk__path_join("/a", "b");
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, free), 0);
    assert_null(joined);
}

static void parents_and_names(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t parent_length;
        const char *name;
    } rows[] = {{"/a/b", 2, "b"},       {"/a", 1, "a"},   {"/", 0, ""},
                {"/a/b/c.d", 4, "c.d"}, {"/ab", 1, "ab"}, {"/a/\xc3\xa4", 2, "\xc3\xa4"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(uvzk__path_parent_length(rows[i].path), rows[i].parent_length);
        const char *name = uvzk__path_name(rows[i].path);
        assert_string_equal(name, rows[i].name);
        assert_true(name >= rows[i].path && name <= rows[i].path + strlen(rows[i].path));
    }
}

static void ancestors_downwards(void **state)
{
    (void)state;
    assert_int_equal(uvzk__path_next_length("/a/bc/d", 2), 5);
    assert_int_equal(uvzk__path_next_length("/a/bc/d", 5), 7);
    assert_int_equal(uvzk__path_next_length("/a/bc", 2), 5);
}

static void paths_below_a_namespace(void **state)
{
    char path[UVZK__PATH_MAX + 1];
    (void)state;
    assert_int_equal(uvzk__path_validate_below("", "/a"), 0);
    assert_int_equal(uvzk__path_validate_below("/ns", "/a/b"), 0);
    assert_int_equal(uvzk__path_validate_below("", "/"), UVZK_EPATH);
    assert_int_equal(uvzk__path_validate_below("/ns", "/"), UVZK_EPATH);
    assert_int_equal(uvzk__path_validate_below("/ns", "a"), UVZK_EPATH);
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[UVZK__PATH_MAX] = '\0';
    assert_int_equal(uvzk__path_validate_below("", path), 0);
    assert_int_equal(uvzk__path_validate_below("/ns", path), UVZK_EPATH);
    path[UVZK__PATH_MAX - 3] = '\0';
    assert_int_equal(uvzk__path_validate_below("/ns", path), 0);
}

static void a_path_is_its_parent_joined_with_its_name(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    for (int i = 0; i < 20000; i++) {
        char path[16] = "/", parent[16];
        size_t length = 1 + seeded_below(&random, 12);
        for (size_t j = 1; j < length; j++) {
            path[j] = "//.ab"[seeded_below(&random, 5)];
        }
        path[length] = '\0';
        if (length == 1 || uvzk__path_validate(path) != 0) {
            continue;
        }
        size_t parent_length = uvzk__path_parent_length(path);
        memcpy(parent, path, parent_length);
        parent[parent_length] = '\0';
        assert_int_equal(uvzk__path_validate(parent), 0);
        char *joined = uvzk__path_join(parent, uvzk__path_name(path));
        assert_string_equal(joined, path);
        uvzk__free(joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_no_path),
        cmocka_unit_test(valid_paths),
        cmocka_unit_test(malformed_paths),
        cmocka_unit_test(malformed_utf8),
        cmocka_unit_test(every_character),
        cmocka_unit_test(every_byte_at_every_place),
        cmocka_unit_test(the_length_is_bounded_in_bytes),
        cmocka_unit_test(random_paths_agree_with_a_model),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(join_puts_exactly_one_slash),
        cmocka_unit_test(join_tells_when_memory_is_out),
        cmocka_unit_test(parents_and_names),
        cmocka_unit_test(ancestors_downwards),
        cmocka_unit_test(paths_below_a_namespace),
        cmocka_unit_test(a_path_is_its_parent_joined_with_its_name),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
