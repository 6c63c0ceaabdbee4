/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric addresses: what is one, what the C client is given, who we are. */
#include "cmocka_test.h"

#include <string.h>

#include "base/memory.h"
#include "discovery/addresses.h"

static struct uvzk__address address_of(const char *host, uint16_t port)
{
    struct uvzk__address address;
    assert_true(uvzk__address_read(host, port, &address));
    return address;
}

static void names_are_no_addresses(void **state)
{
    static const char *const names[] = {"a.example.com", "localhost", "1.2.3.x", "::g"};
    struct uvzk__address address;
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_false(uvzk__address_read(names[i], 2181, &address));
    }
}

static void the_client_wants_no_brackets(void **state)
{
    char text[UVZK__SERVER_TEXT];
    struct uvzk__address four = address_of("127.0.0.1", 2181);
    struct uvzk__address six = address_of("::1", 65535);
    (void)state;
    uvzk__address_server_text(&four, text);
    assert_string_equal(text, "127.0.0.1:2181");
    uvzk__address_server_text(&six, text);
    assert_string_equal(text, "::1:65535");
}

static void ports_and_families_tell_addresses_apart(void **state)
{
    struct uvzk__address one = address_of("127.0.0.1", 1);
    struct uvzk__address same = address_of("127.0.0.1", 1);
    struct uvzk__address port = address_of("127.0.0.1", 2);
    struct uvzk__address host = address_of("127.0.0.2", 1);
    struct uvzk__address six = address_of("::1", 1);
    struct uvzk__address other_six = address_of("::2", 1);
    (void)state;
    assert_true(uvzk__address_equal(&one, &same));
    assert_true(uvzk__address_equal(&six, &six));
    assert_false(uvzk__address_equal(&one, &port));
    assert_false(uvzk__address_equal(&one, &host));
    assert_false(uvzk__address_equal(&one, &six));
    assert_false(uvzk__address_equal(&six, &other_six));
}

static void assert_joins(const char *chroot, const char *expected)
{
    struct uvzk__named_address address = {address_of("127.0.0.1", 2181), NULL};
    char *text = uvzk__addresses_join(&address, 1, chroot);
    assert_non_null(text);
    assert_string_equal(text, expected);
    uvzk__free(text);
}

static void the_chroot_stands_behind(void **state)
{
    (void)state;
    assert_joins("", "127.0.0.1:2181");
    assert_joins("/", "127.0.0.1:2181");
    assert_joins("/a/b", "127.0.0.1:2181/a/b");
}

static void an_even_list_is_made_odd_and_shuffled(void **state)
{
    unsigned first[2] = {0, 0};
    (void)state;
    for (int i = 0; i < 64; i++) {
        struct uvzk__named_address two_of[2] = {{address_of("127.0.0.1", 1), NULL},
                                                {address_of("127.0.0.1", 2), NULL}};
        uvzk__addresses_shuffle(two_of, 2);
        char *text = uvzk__addresses_join(two_of, 2, "/x");
        int one = strcmp(text, "127.0.0.1:1,127.0.0.1:2,127.0.0.1:1/x") == 0;
        int two = strcmp(text, "127.0.0.1:2,127.0.0.1:1,127.0.0.1:2/x") == 0;
        assert_int_equal(one + two, 1);
        first[two]++;
        uvzk__free(text);
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

static void the_local_address_is_the_one_towards_the_server(void **state)
{
    struct uvzk__address server = address_of("127.0.0.1", 2181);
    struct uvzk__address nowhere = address_of("255.255.255.255", 2181);
    char text[UVZK__ADDRESS_TEXT];
    (void)state;
    uvzk__address_local(&server, text);
    assert_string_equal(text, "127.0.0.1");
    uvzk__address_local(&nowhere, text); /* a broadcast: not permitted */
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_no_addresses),
        cmocka_unit_test(the_client_wants_no_brackets),
        cmocka_unit_test(ports_and_families_tell_addresses_apart),
        cmocka_unit_test(the_chroot_stands_behind),
        cmocka_unit_test(an_even_list_is_made_odd_and_shuffled),
        cmocka_unit_test(the_local_address_is_the_one_towards_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
