/* The connect string: what is accepted, and what the C client is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "memory.h"
#include "uvzk.h"

static void good_strings_are_accepted(void **state)
{
    static const char *const good[] = {
        "a:1",     "a:65535",    "a:2181,b:2181",        "127.0.0.1:2181/app",
        "a:2181/", "[::1]:2181", " a:2181 , b:2181/x/y", "a.example.com:02181",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(uvzk__hosts_validate(good[i]), 0);
    }
}

static void bad_strings_are_refused(void **state)
{
    static const char *const bad[] = {
        "",        ",",        "a",       "a:",       ":1",        "a:0",
        "a:65536", "a:-1",     "a:1,",    ",a:1",     "a:1,,b:1",  "a:1x",
        "/chroot", "::1:2181", "[]:2181", "a b:2181", "[::1:2181", "a:999999",
    };
    char longest[400];
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(uvzk__hosts_validate(bad[i]), UV_EINVAL);
    }
    assert_int_equal(uvzk__hosts_validate(NULL), UV_EINVAL);
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + 300, ":2181", 6);
    assert_int_equal(uvzk__hosts_validate(longest), UV_EINVAL);
}

static void bad_chroots_are_refused(void **state)
{
    (void)state;
    assert_int_equal(uvzk__hosts_validate("a:1/x/"), UVZK_EPATH);
    assert_int_equal(uvzk__hosts_validate("a:1//x"), UVZK_EPATH);
    assert_int_equal(uvzk__hosts_validate("a:1/x/../y"), UVZK_EPATH);
}

static void assert_resolves(const char *hosts, const char *expected)
{
    int status = 1;
    char *text = uvzk__hosts_resolve(hosts, &status);
    assert_non_null(text);
    assert_int_equal(status, 0);
    assert_string_equal(text, expected);
    uvzk__free(text);
}

static void addresses_are_numeric_and_odd(void **state)
{
    (void)state;
    assert_resolves("127.0.0.1:2181", "127.0.0.1:2181");
    assert_resolves("127.0.0.1:2181,127.0.0.1:2181/a/b", "127.0.0.1:2181/a/b");
    assert_resolves("127.0.0.1:02181/", "127.0.0.1:2181");
    assert_resolves("[::1]:2181", "::1:2181"); /* the client wants no brackets */
}

static void an_even_list_is_made_odd_and_shuffled(void **state)
{
    unsigned first[2] = {0, 0};
    (void)state;
    for (int i = 0; i < 64; i++) {
        int status = 1;
        char *text = uvzk__hosts_resolve("127.0.0.1:1,127.0.0.1:2/x", &status);
        assert_int_equal(status, 0);
        int one = strcmp(text, "127.0.0.1:1,127.0.0.1:2,127.0.0.1:1/x") == 0;
        int two = strcmp(text, "127.0.0.1:2,127.0.0.1:1,127.0.0.1:2/x") == 0;
        assert_int_equal(one + two, 1);
        first[two]++;
        uvzk__free(text);
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

/* .invalid never resolves (RFC 6761). */
static void names_that_do_not_resolve_are_left_out(void **state)
{
    int status = 0;
    (void)state;
    assert_null(uvzk__hosts_resolve("nowhere.invalid:2181", &status));
    assert_true(status < 0);
    assert_non_null(uv_err_name(status));
    assert_resolves("nowhere.invalid:2181,127.0.0.1:2181", "127.0.0.1:2181");
}

static void local_address_is_an_address(void **state)
{
    char text[UVZK__ADDRESS_TEXT];
    unsigned char address[sizeof(struct in6_addr)];
    (void)state;
    uvzk__hosts_local_address(text);
    assert_true(text[0] == '\0' || uv_inet_pton(AF_INET, text, address) == 0 ||
                uv_inet_pton(AF_INET6, text, address) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_strings_are_accepted),
        cmocka_unit_test(bad_strings_are_refused),
        cmocka_unit_test(bad_chroots_are_refused),
        cmocka_unit_test(addresses_are_numeric_and_odd),
        cmocka_unit_test(an_even_list_is_made_odd_and_shuffled),
        cmocka_unit_test(names_that_do_not_resolve_are_left_out),
        cmocka_unit_test(local_address_is_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
