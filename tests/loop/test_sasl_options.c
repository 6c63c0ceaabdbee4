/* SPDX-License-Identifier: Apache-2.0 */
/* options.sasl: what is accepted, and what it says. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "native/sasl_options.h"
#include "uvzk.h"

static void entries_of_digest_are_read(void **state)
{
    struct uvzk__sasl_options options;
    (void)state;
    assert_int_equal(uvzk__sasl_options_read(
                         &options, "user=a b=c,mechanism=DIGEST-MD5,password-file=/p q"),
                     0);
    assert_false(options.is_gssapi);
    assert_string_equal(options.user, "a b=c");
    assert_string_equal(options.password_file, "/p q");
    uvzk__sasl_options_free(&options);
}

static void entries_of_gssapi_are_read(void **state)
{
    struct uvzk__sasl_options options;
    (void)state;
    assert_int_equal(uvzk__sasl_options_read(
                         &options,
                         "mechanism=GSSAPI,principal=a/h@R,keytab=/k,ccache=FILE:/c,"
                         "service=zk,realm=S,host=z.example,canonical=yes"),
                     0);
    assert_true(options.is_gssapi && options.canonical);
    assert_string_equal(options.principal, "a/h@R");
    assert_string_equal(options.keytab, "/k");
    assert_string_equal(options.ccache, "FILE:/c");
    assert_string_equal(options.service, "zk");
    assert_string_equal(options.realm, "S");
    assert_string_equal(options.host, "z.example");
    uvzk__sasl_options_free(&options);
}

static void gssapi_needs_no_more_than_its_name(void **state)
{
    struct uvzk__sasl_options options;
    (void)state;
    assert_int_equal(uvzk__sasl_options_read(&options, "mechanism=GSSAPI"), 0);
    assert_string_equal(options.service, "zookeeper");
    assert_true(options.is_gssapi && !options.canonical && options.principal == NULL &&
                options.keytab == NULL && options.ccache == NULL &&
                options.realm == NULL && options.host == NULL);
    uvzk__sasl_options_free(&options);
}

static void wrong_lists_are_refused(void **state)
{
    static const struct {
        const char *list, *text;
    } wrong[] = {
        {"", "is not a list"},
        {"mechanism", "is not a list"},
        {"mechanism=GSSAPI,", "is not a list"},
        {",mechanism=GSSAPI", "is not a list"},
        {"mechanism=GSSAPI,keytab=", "is not a list"},
        {"mechanism=GSSAPI,keytab=a,keytab=b", "is not a list"},
        {"mechanism=GSSAPI,Keytab=a", "is not a list"},
        {"mechanism=GSSAPI,password=a", "is not a list"},
        {"keytab=a", "has no mechanism"},
        {"mechanism=gssapi", "has no mechanism"},
        {"mechanism=PLAIN,user=a,password-file=b", "has no mechanism"},
        {"mechanism=DIGEST-MD5", "needs user and password-file"},
        {"mechanism=DIGEST-MD5,user=a", "needs user and password-file"},
        {"mechanism=DIGEST-MD5,password-file=a", "needs user and password-file"},
        {"mechanism=DIGEST-MD5,user=a,password-file=b,realm=c", "has only user"},
        {"mechanism=GSSAPI,user=a", "are of DIGEST-MD5"},
        {"mechanism=GSSAPI,canonical=maybe", "neither yes nor no"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct uvzk__sasl_options options;
        assert_int_equal(uvzk__sasl_options_read(&options, wrong[i].list), UV_EINVAL);
        assert_null(options.text);
        assert_non_null(strstr(uvzk_refusal(UV_EINVAL), wrong[i].text));
    }
}

/* No host has a longer name. */
static void a_host_that_is_too_long_is_refused(void **state)
{
    struct uvzk__sasl_options options;
    char text[22 + 256 + 1] = "mechanism=GSSAPI,host=";
    (void)state;

    memset(text + 22, 'n', 256);
    assert_int_equal(uvzk__sasl_options_read(&options, text), UV_EINVAL);
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), "255"));
    text[22 + 255] = '\0';
    assert_int_equal(uvzk__sasl_options_read(&options, text), 0);
    uvzk__sasl_options_free(&options);
}

/* What the header tells: only over the native transport, and nothing is opened. */
static void what_cannot_be_is_refused_at_once(void **state)
{
    static const struct {
        uint32_t transport;
        const char *list;
        int code;
        const char *text;
    } wrong[] = {
        {UVZK_TRANSPORT_C_CLIENT, "mechanism=GSSAPI", UV_ENOTSUP, "native transport"},
        {UVZK_TRANSPORT_NATIVE, "mechanism=DIGEST-MD5,user=a,password-file=/nowhere",
         UV_EINVAL, "/nowhere cannot be read"},
        {UVZK_TRANSPORT_NATIVE, "mechanism=DIGEST-MD5,user=a,password-file=/dev/null",
         UV_EINVAL, "/dev/null cannot be read, or is no file"},
    };
    uv_loop_t loop;
    (void)state;

    uv_loop_init(&loop);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uvzk_client_options_t options;
        uvzk_client_t client = {0};
        uvzk_client_options_init(&options);
        options.hosts = "127.0.0.1:1";
        options.transport = wrong[i].transport;
        options.sasl = wrong[i].list;
        assert_int_equal(uvzk_client_init(&loop, &client, &options), wrong[i].code);
        assert_non_null(strstr(uvzk_refusal(wrong[i].code), wrong[i].text));
    }
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_digest_are_read),
        cmocka_unit_test(entries_of_gssapi_are_read),
        cmocka_unit_test(gssapi_needs_no_more_than_its_name),
        cmocka_unit_test(wrong_lists_are_refused),
        cmocka_unit_test(a_host_that_is_too_long_is_refused),
        cmocka_unit_test(what_cannot_be_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
