/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uvzk.h"

static const struct {
    int code;
    const char *name;
    const char *text;
} ours[] = {
#define XX(name, value, text) {UVZK_##name, "UVZK_" #name, text},
    UVZK_ERRNO_MAP(XX)
#undef XX
};
#define OURS (sizeof(ours) / sizeof(ours[0]))

static void every_code_of_ours_has_a_name_and_a_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < OURS; i++) {
        assert_string_equal(uvzk_err_name(ours[i].code), ours[i].name);
        assert_string_equal(uvzk_strerror(ours[i].code), ours[i].text);
        assert_true(strlen(ours[i].text) > 0);
    }
}

static void codes_never_change(void **state)
{
    (void)state;
    assert_int_equal(UVZK_ECONNLOSS, -7001);
    assert_int_equal(UVZK_EDELETED, -7024);
    assert_true(OURS >= 24);
    for (size_t i = 0; i < OURS; i++) {
        assert_int_equal(ours[i].code, -7001 - (int)i);
        assert_true(ours[i].code > UVZK_ERRNO_END);
    }
}

static void names_and_texts_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < OURS; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(ours[i].name, ours[j].name);
            assert_string_not_equal(ours[i].text, ours[j].text);
        }
    }
}

static void codes_are_clear_of_libuv_and_zookeeper(void **state)
{
    (void)state;
    static const int of_libuv[] = {
#define XX(name, text) UV_##name,
        UV_ERRNO_MAP(XX)
#undef XX
    };
    for (size_t i = 0; i < OURS; i++) {
        assert_true(ours[i].code < -127); /* ZooKeeper's are -1 to -127 */
        for (size_t j = 0; j < sizeof(of_libuv) / sizeof(of_libuv[0]); j++) {
            assert_int_not_equal(ours[i].code, of_libuv[j]);
        }
    }
}

static void codes_of_libuv_read_as_libuv_has_them(void **state)
{
    (void)state;
#define XX(name, text)                                          \
    assert_string_equal(uvzk_err_name(UV_##name), "UV_" #name); \
    if (UV_##name != UV_ETIMEDOUT) {                            \
        assert_string_equal(uvzk_strerror(UV_##name), text);    \
    }
    UV_ERRNO_MAP(XX)
#undef XX
}

/* uv_strerror says "connection timed out". */
static void a_busy_lock_has_a_text_of_its_own(void **state)
{
    (void)state;
    assert_non_null(strstr(uvzk_strerror(UV_ETIMEDOUT), "lock"));
    assert_null(strstr(uvzk_strerror(UV_ETIMEDOUT), "connection"));
}

static void zero_is_success(void **state)
{
    (void)state;
    assert_string_equal(uvzk_err_name(0), "OK");
    assert_string_equal(uvzk_strerror(0), "success");
}

static void other_codes_are_unknown(void **state)
{
    (void)state;
    static const int codes[] = {1,     22,    7001,  -3999,     -7000,    -7033,
                                -7998, -7999, -8000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        assert_string_equal(uvzk_err_name(codes[i]), "UNKNOWN");
        assert_string_equal(uvzk_strerror(codes[i]), "unknown error");
    }
}

/* What each code means for the next step. A new code needs a row. */
enum { RETRY = 1, UNKNOWN = 2, GONE = 4 };
static const struct {
    int code, means;
} meanings[] = {
    {0, 0},
    {UVZK_ECONNLOSS, RETRY | UNKNOWN},
    {UVZK_ENOTSENT, RETRY},
    {UVZK_EEXPIRED, RETRY | UNKNOWN | GONE},
    {UVZK_EAUTH, UNKNOWN | GONE},
    {UVZK_ECLOSED, UNKNOWN | GONE},
    {UVZK_ENONODE, 0},
    {UVZK_ENODEEXISTS, 0},
    {UVZK_ENOTEMPTY, 0},
    {UVZK_EBADVERSION, 0},
    {UVZK_ENOAUTH, 0},
    {UVZK_EINVALIDACL, 0},
    {UVZK_ENOCHILDREN, 0},
    {UVZK_EUNIMPLEMENTED, 0},
    {UVZK_ETHROTTLED, RETRY},
    {UVZK_EREJECTED, 0},
    {UVZK_EZOOKEEPER, 0},
    {UVZK_ELOST, RETRY | GONE},
    {UVZK_ENOTHELD, GONE},
    {UVZK_EPATH, 0},
    {UVZK_ESTATE, 0},
    {UVZK_EEXHAUSTED, 0},
    {UVZK_ELIMIT, RETRY},
    {UVZK_EPROOF, RETRY | GONE},
    {UVZK_EDELETED, RETRY | GONE},
    {UVZK_EMAXHOLD, RETRY | GONE},
    {UVZK_EKIND, 0},
    {UVZK_EDEADLK, 0},
    {UVZK_EDATA, 0},
    {UVZK_EUNREACHABLE, RETRY},
    {UVZK_ENOTQUEUED, RETRY},
    {UVZK_EDIVERGED, RETRY},
    {UVZK_EINTERNAL, UNKNOWN | GONE},
    /* Those of libuv that uvzk returns. */
    {UV_EAGAIN, RETRY},
    {UV_EBUSY, 0},
    {UV_ECANCELED, UNKNOWN},
    {UV_EINVAL, 0},
    {UV_EIO, 0},
    {UV_ENOMEM, RETRY | UNKNOWN},
    {UV_ENOENT, 0},
    {UV_ENOTSUP, 0},
    {UV_ERANGE, 0},
    {UV_ETIMEDOUT, RETRY | UNKNOWN},
    /* Nothing is known of any other. */
    {UV_ECONNREFUSED, UNKNOWN},
    {UVZK_ERRNO_END, UNKNOWN},
    {1, UNKNOWN},
    {INT32_MIN, UNKNOWN},
    {INT32_MAX, UNKNOWN},
};
#define MEANINGS (sizeof(meanings) / sizeof(meanings[0]))

static void every_code_tells_the_next_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEANINGS; i++) {
        int code = meanings[i].code;
        int told = RETRY * uvzk_err_is_retriable(code) +
                   UNKNOWN * uvzk_err_outcome_is_unknown(code) +
                   GONE * uvzk_err_hold_is_gone(code);
        if (told != meanings[i].means) {
            fail_msg("%s: %d, not %d", uvzk_err_name(code), told, meanings[i].means);
        }
    }
    for (size_t i = 0; i < OURS; i++) {
        size_t row = 0;
        while (row < MEANINGS && meanings[row].code != ours[i].code) {
            row++;
        }
        if (row == MEANINGS) {
            fail_msg("%s has no row", ours[i].name);
        }
    }
}

static bool memory_was_touched;

static void *refuse_malloc(size_t size)
{
    (void)size;
    memory_was_touched = true;
    return NULL;
}

static void *refuse_realloc(void *memory, size_t size)
{
    (void)memory;
    return refuse_malloc(size);
}

static void *refuse_calloc(size_t count, size_t size)
{
    (void)count;
    return refuse_malloc(size);
}

static void refuse_free(void *memory)
{
    (void)memory;
    memory_was_touched = true;
}

static void texts_are_static(void **state)
{
    (void)state;
    assert_int_equal(
        uvzk_replace_allocator(refuse_malloc, refuse_realloc, refuse_calloc, refuse_free),
        0);
    for (int code = -8100; code <= 200; code++) {
        const char *text = uvzk_strerror(code);
        const char *name = uvzk_err_name(code);
        assert_non_null(text);
        assert_non_null(name);
        assert_ptr_equal(uvzk_strerror(code), text);
        assert_ptr_equal(uvzk_err_name(code), name);
    }
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, free), 0);
    assert_false(memory_was_touched);
}

static void version_matches_the_header(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof(expected), "%d.%d.%d%s%s", UVZK_VERSION_MAJOR,
             UVZK_VERSION_MINOR, UVZK_VERSION_PATCH, UVZK_VERSION_IS_RELEASE ? "" : "-",
             UVZK_VERSION_SUFFIX);
    assert_int_equal(UVZK_VERSION_IS_RELEASE, UVZK_VERSION_SUFFIX[0] == '\0');
    assert_string_equal(uvzk_version(), expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_of_ours_has_a_name_and_a_text),
        cmocka_unit_test(codes_never_change),
        cmocka_unit_test(names_and_texts_are_distinct),
        cmocka_unit_test(codes_are_clear_of_libuv_and_zookeeper),
        cmocka_unit_test(codes_of_libuv_read_as_libuv_has_them),
        cmocka_unit_test(a_busy_lock_has_a_text_of_its_own),
        cmocka_unit_test(zero_is_success),
        cmocka_unit_test(other_codes_are_unknown),
        cmocka_unit_test(every_code_tells_the_next_step),
        cmocka_unit_test(texts_are_static),
        cmocka_unit_test(version_matches_the_header),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
