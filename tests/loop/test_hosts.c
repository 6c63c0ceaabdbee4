/* SPDX-License-Identifier: Apache-2.0 */
/* The connect string: what is accepted, and what it says. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "discovery/hosts.h"
#include "uvzk.h"

static void good_strings_are_accepted(void **state)
{
    static const char *const good[] = {
        "a:1",     "a:65535",    "a:2181,b:2181",        "127.0.0.1:2181/app",
        "a:2181/", "[::1]:2181", " a:2181 , b:2181/x/y", "a.example.com:02181",
        "a",       "[::1]",      " a , b/x/y",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(uvzk__hosts_validate(good[i]), 0);
    }
}

static void bad_strings_are_refused(void **state)
{
    static const char *const bad[] = {
        "",         ",",         "a:",       ":1",    "a:0",     "a:65536",  "a:-1",
        "a:1,",     ",a:1",      "a:1,,b:1", "a:1x",  "/chroot", "::1:2181", "[]:2181",
        "a b:2181", "[::1:2181", "a:999999", "a[b:1", "a]b:1",   "::1",      "[::1]x",
        "[::1]x:1", "[::1]:",    "[]",       "a b",
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

static void the_bad_entry_is_named(void **state)
{
    static const struct {
        const char *hosts, *words;
    } bad[] = {
        {"a:1,b:1,", "entry 3 names no server"},
        {",a:1", "entry 1 names no server"},
        {"a:1, ,b:1", "entry 2 names no server"},
        {"a:1,b:x,c", "entry 2, \"b:x\", is neither host nor host:port"},
        {"a:1,b:1\n", "entry 2, \"b:1?\", is neither"},
        {"a:1,::1", "entry 2, \"::1\", is neither"},
        {"a:1,b:x/app", "entry 2, \"b:x\", is neither"},
        {"a:1?auth=ann:secret", "entry 1, \"a:1\", is neither"},
        {"a:1,b:65536/app", "entry 2, \"b:65536\": the port is not 1 to 65535"},
        {"[::1]:0", "entry 1, \"[::1]:0\": the port is not 1 to 65535"},
        {"a:123456,b:1", "entry 1, \"a:123456\": the port is not 1 to 65535"},
        {":65536", "entry 1, \":65536\", is neither"},
        {"a:", "entry 1, \"a:\", is neither"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(uvzk__hosts_validate(bad[i].hosts), UV_EINVAL);
        assert_non_null(strstr(uvzk_refusal(UV_EINVAL), bad[i].words));
        assert_null(strstr(uvzk_refusal(UV_EINVAL), "secret"));
    }
}

/* h2 would never be tried. */
static void a_chroot_of_each_server_is_refused(void **state)
{
    (void)state;
    assert_int_equal(uvzk__hosts_validate("h1/app,h2/app"), UVZK_EPATH);
    assert_non_null(strstr(uvzk_refusal(UVZK_EPATH), "after the last server"));
    assert_int_equal(uvzk__hosts_validate("h1/app,h2"), UVZK_EPATH);
    assert_int_equal(uvzk__hosts_validate("h1,h2/app"), 0);
}

static void bad_chroots_are_refused(void **state)
{
    (void)state;
    assert_int_equal(uvzk__hosts_validate("a:1/x/"), UVZK_EPATH);
    assert_int_equal(uvzk__hosts_validate("a:1//x"), UVZK_EPATH);
    assert_int_equal(uvzk__hosts_validate("a:1/x/../y"), UVZK_EPATH);
}

static void expect_next(const char **cursor, const char *name, uint16_t port)
{
    struct uvzk__host host;

    assert_int_equal(uvzk__hosts_next(cursor, &host), 1);
    assert_string_equal(host.name, name);
    assert_int_equal(host.port, port);
}

static void entries_are_taken_one_by_one(void **state)
{
    const char *cursor = " a.example.com:02181 ,[::1]:1, b ,[::2],127.0.0.1:65535/x,y";
    struct uvzk__host host;
    (void)state;
    expect_next(&cursor, "a.example.com", 2181);
    expect_next(&cursor, "::1", 1);
    expect_next(&cursor, "b", 2181);
    expect_next(&cursor, "::2", 2181);
    expect_next(&cursor, "127.0.0.1", 65535);
    assert_int_equal(uvzk__hosts_next(&cursor, &host), 0);
    assert_string_equal(uvzk__hosts_chroot("a:1,b:2/x,y"), "/x,y");
    assert_string_equal(uvzk__hosts_chroot("a:1"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_strings_are_accepted),
        cmocka_unit_test(bad_strings_are_refused),
        cmocka_unit_test(the_bad_entry_is_named),
        cmocka_unit_test(a_chroot_of_each_server_is_refused),
        cmocka_unit_test(bad_chroots_are_refused),
        cmocka_unit_test(entries_are_taken_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
