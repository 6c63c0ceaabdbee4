/* SPDX-License-Identifier: Apache-2.0 */
/* options.tls: what is accepted, and what it says. */
#include "cmocka_test.h"

#include <string.h>

#include <uv.h>

#include "native/tls_options.h"
#include "uvzk.h"

static void entries_are_read(void **state)
{
    struct uvzk__tls_options options;
    (void)state;
    assert_int_equal(
        uvzk__tls_options_read(&options, "ca=/a b,name=n.example,cert=c,key=k"), 0);
    assert_string_equal(options.ca, "/a b");
    assert_string_equal(options.certificate, "c");
    assert_string_equal(options.key, "k");
    assert_string_equal(options.name, "n.example");
    uvzk__tls_options_free(&options);
}

static void nothing_is_a_list_too(void **state)
{
    struct uvzk__tls_options options;
    (void)state;
    assert_int_equal(uvzk__tls_options_read(&options, ""), 0);
    assert_true(options.ca == NULL && options.certificate == NULL &&
                options.key == NULL && options.name == NULL);
    uvzk__tls_options_free(&options);
}

static void wrong_lists_are_refused(void **state)
{
    static const char *const wrong[] = {
        "ca", "ca=",   "ca=a,,name=n",           "ca=a,ca=b", "CA=a", "authority=a", "=a",
        ",",  "key=k", "ca.pem,cert.pem,key.pem"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct uvzk__tls_options options;
        assert_int_equal(uvzk__tls_options_read(&options, wrong[i]), UV_EINVAL);
        assert_null(options.text);
    }
}

/* No host has a longer name. */
static void a_name_that_is_too_long_is_refused(void **state)
{
    struct uvzk__tls_options options;
    char text[5 + 256 + 1] = "name=";
    (void)state;

    memset(text + 5, 'n', 256);
    assert_int_equal(uvzk__tls_options_read(&options, text), UV_EINVAL);
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), "255"));
    text[5 + 255] = '\0';
    assert_int_equal(uvzk__tls_options_read(&options, text), 0);
    uvzk__tls_options_free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read),
        cmocka_unit_test(nothing_is_a_list_too),
        cmocka_unit_test(wrong_lists_are_refused),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
