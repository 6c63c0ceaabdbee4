/* SPDX-License-Identifier: Apache-2.0 */
/* Options by name, and connection strings: what they set, what they refuse, and that a
 * refused call changes nothing. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "client/create.h"
#include "client/option_table.h"
#include "failing_allocator.h"
#include "uvzk.h"

static uvzk_client_options_t options;

static int begin(void **state)
{
    (void)state;
    failing_allocator_arm(0, 0);
    uvzk_client_options_init(&options);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uvzk_client_options_free(&options);
    assert_null(options.copies);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(uvzk_client_options_set(&options, name, value), 0);
}

static void parse(const char *text)
{
    assert_int_equal(uvzk_client_options_parse(&options, text), 0);
}

/* The call returns the code, says why in these words, and changes nothing. */
#define REFUSED(code, words, call)                               \
    do {                                                         \
        uvzk_client_options_t before = options;                  \
        assert_int_equal((call), (code));                        \
        assert_non_null(strstr(uvzk_refusal(code), (words)));    \
        assert_memory_equal(&options, &before, sizeof(options)); \
    } while (0)
#define SET_REFUSED(code, words, name, value) \
    REFUSED(code, words, uvzk_client_options_set(&options, (name), (value)))
#define PARSE_REFUSED(code, words, text) \
    REFUSED(code, words, uvzk_client_options_parse(&options, (text)))

/* ---------------------------------------------------------------------------- by name */

static void each_field_is_set(void **state)
{
    (void)state;
    set("hosts", "a:1,b:2/chroot");
    set("session_timeout_ms", "10000");
    set("tick_ms", "10");
    set("namespace", "app");
    set("auth_scheme", "digest");
    set("auth", "ann:secret");
    set("retry", "until-elapsed");
    set("retry_base_ms", "4294967295");
    set("retry_max_sleep_ms", "1");
    set("retry_max_retries", "2");
    set("retry_max_elapsed_ms", "5000000000");
    set("default_data", "");
    set("proof", "none");
    set("close_wait_ms", "3");
    set("metrics", "1");
    set("tls", "");
    set("sessions", "32");
    set("transport", "native");
    set("sasl", "mechanism=GSSAPI");
    assert_string_equal(options.hosts, "a:1,b:2/chroot");
    assert_int_equal(options.session_timeout_ms, 10000);
    assert_int_equal(options.tick_ms, 10);
    assert_string_equal(options.ns, "app");
    assert_string_equal(options.auth_scheme, "digest");
    assert_int_equal(options.auth_length, 10);
    assert_memory_equal(options.auth, "ann:secret", 10);
    assert_int_equal(options.retry.kind, UVZK_RETRY_UNTIL_ELAPSED);
    assert_int_equal(options.retry.base_ms, UINT32_MAX);
    assert_int_equal(options.retry.max_sleep_ms, 1);
    assert_int_equal(options.retry.max_retries, 2);
    assert_true(options.retry.max_elapsed_ms == 5000000000U);
    assert_non_null(options.default_data);
    assert_int_equal(options.default_data_length, 0);
    assert_int_equal(options.proof, UVZK_PROOF_NONE);
    assert_int_equal(options.close_wait_ms, 3);
    assert_int_equal(options.metrics, 1);
    assert_string_equal(options.tls, "");
    assert_int_equal(options.sessions, 32);
    assert_int_equal(options.transport, UVZK_TRANSPORT_NATIVE);
    assert_string_equal(options.sasl, "mechanism=GSSAPI");
}

static void each_word_stands_for_its_constant(void **state)
{
    (void)state;
    set("proof", "sync");
    assert_int_equal(options.proof, UVZK_PROOF_SYNC);
    set("proof", "quorum");
    assert_int_equal(options.proof, UVZK_PROOF_QUORUM);
    set("transport", "c-client");
    assert_int_equal(options.transport, UVZK_TRANSPORT_C_CLIENT);
    set("retry", "n-times");
    assert_int_equal(options.retry.kind, UVZK_RETRY_N_TIMES);
    set("retry", "forever");
    assert_int_equal(options.retry.kind, UVZK_RETRY_FOREVER);
    set("retry", "exponential");
    assert_int_equal(options.retry.kind, UVZK_RETRY_EXPONENTIAL);
}

static void assert_entry(const uvzk_acl_t *entry, uint32_t perms, const char *scheme)
{
    assert_int_equal(entry->perms, perms);
    assert_string_equal(entry->scheme, scheme);
}

static void an_acl_has_a_word(void **state)
{
    (void)state;
    set("acl", "anyone");
    assert_int_equal(options.acl_count, 1);
    assert_entry(&options.acl[0], UVZK_PERM_ALL, "world");
    set("acl", "ours-anyone-reads");
    assert_int_equal(options.acl_count, 2);
    assert_entry(&options.acl[0], UVZK_PERM_ALL, "auth");
    assert_entry(&options.acl[1], UVZK_PERM_READ, "world");
    set("acl", "ours");
    assert_int_equal(options.acl_count, 1);
    assert_entry(&options.acl[0], UVZK_PERM_ALL, "auth");
    SET_REFUSED(UV_EINVAL, "options.acl", "acl", "theirs");
}

static void assert_listed(size_t index, uint32_t perms, const char *scheme,
                          const char *id)
{
    assert_entry(&options.acl[index], perms, scheme);
    assert_string_equal(options.acl[index].id, id);
}

#define HASH "d6EnEzqYquczJZvSt1l9D5Iogac="

/* Ids have colons and commas in them. */
static void an_acl_lists_identities(void **state)
{
    (void)state;
    set("acl", "sasl:app/host@EXAMPLE.COM:cdrwa,world:anyone:r");
    assert_int_equal(options.acl_count, 2);
    assert_listed(0, UVZK_PERM_ALL, "sasl", "app/host@EXAMPLE.COM");
    assert_listed(1, UVZK_PERM_READ, "world", "anyone");
    set("acl", "x509:CN=app,OU=locks,O=Example:cd,auth::rwa,digest:ann:" HASH ":w");
    assert_int_equal(options.acl_count, 3);
    assert_listed(0, UVZK_PERM_CREATE | UVZK_PERM_DELETE, "x509",
                  "CN=app,OU=locks,O=Example");
    assert_listed(1, UVZK_PERM_READ | UVZK_PERM_WRITE | UVZK_PERM_ADMIN, "auth", "");
    assert_listed(2, UVZK_PERM_WRITE, "digest", "ann:" HASH);
    set("acl", "ip:fe80::ad/64:r,ip:10.0.0.0/8:c,own:x:d");
    assert_int_equal(options.acl_count, 3);
    assert_listed(0, UVZK_PERM_READ, "ip", "fe80::ad/64");
    assert_listed(1, UVZK_PERM_CREATE, "ip", "10.0.0.0/8");
    assert_listed(2, UVZK_PERM_DELETE, "own", "x");
    parse("a:1?acl=x509:CN=a%26b:cdr,world:anyone:r&metrics=1");
    assert_listed(0, UVZK_PERM_CREATE | UVZK_PERM_DELETE | UVZK_PERM_READ, "x509",
                  "CN=a&b");
    assert_int_equal(options.acl_count, 2);
    assert_int_equal(options.metrics, 1);
}

static void who_is_nobody_is_refused(void **state)
{
    static const struct {
        const char *words, *text;
    } refused[] = {
        {"not a list", ""},
        {"not a list", "auth"},
        {"not a list", "auth:cdrwa"},
        {"not a list", "auth::"},
        {"not a list", "auth::cdrwx"},
        {"not a list", "auth::r,"},
        {"not a list", ":x:r"},
        {"of world", "world:everyone:r"},
        {"auth stands for", "auth:me:r"},
        {"NAME:HASH", "digest:ann:secret:r"},
        {"NAME:HASH", "digest:" HASH ":r"},
        {"NAME:HASH", "digest::" HASH ":r"},
        {"NAME:HASH", "digest:ann:" HASH "=:r"},
        {"NAME:HASH", "digest:ann:d6EnEzqYquczJZvSt1l9D5Iog===:r"},
        {"NAME:HASH", "digest:ann:" HASH "x:r"},
        {"an address", "ip:localhost:r"},
        {"an address", "ip::r"},
        {"principal", "sasl::r"},
        {"RFC 2253", "x509:app:r"},
        {"RFC 2253", "x509:CN=app, O=Example:r"},
        {"RFC 2253", "auth::cdrwa,x509::r"},
    };
    (void)state;
    set("acl", "ours");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        SET_REFUSED(UV_EINVAL, refused[i].words, "acl", refused[i].text);
    }
    PARSE_REFUSED(UV_EINVAL, "principal", "a:1?acl=sasl::r");
}

/* The same rules are those of the fields. */
static void a_field_names_somebody(void **state)
{
    uvzk_acl_t entry = {UVZK_PERM_ALL, "digest", "ann:secret"};
    uvzk_client_options_t read;
    (void)state;
    options.hosts = "a:1";
    options.acl = &entry;
    options.acl_count = 1;
    assert_int_equal(uvzk__options_read(&read, &options), UV_EINVAL);
    assert_non_null(strstr(uvzk_refusal(UV_EINVAL), "NAME:HASH"));
    entry = (uvzk_acl_t){UVZK_PERM_ALL, "", ""};
    assert_int_equal(uvzk__options_read(&read, &options), UV_EINVAL);
    entry = (uvzk_acl_t){UVZK_PERM_ALL, "digest", "ann:" HASH};
    assert_int_equal(uvzk__options_read(&read, &options), 0);
}

/* A buffer may be used for the next value, as for the lines of a file. */
static void values_are_copied(void **state)
{
    char buffer[16];
    (void)state;
    strcpy(buffer, "a:1");
    set("hosts", buffer);
    strcpy(buffer, "app");
    set("namespace", buffer);
    memset(buffer, 'x', sizeof(buffer));
    assert_string_equal(options.hosts, "a:1");
    assert_string_equal(options.ns, "app");
    set("namespace", "other");
    assert_string_equal(options.ns, "other");
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    SET_REFUSED(UV_ENOENT, "name", "session_timeout", "10000");
    SET_REFUSED(UV_ENOENT, "name", "", "");
    SET_REFUSED(UV_ENOENT, "name", "Hosts", "a:1");
    SET_REFUSED(UV_EINVAL, "name is NULL", NULL, "");
    SET_REFUSED(UV_EINVAL, "value is NULL", "hosts", NULL);
    assert_int_equal(uvzk_client_options_set(NULL, "hosts", "a"), UV_EINVAL);
    assert_string_equal(uvzk_refusal(UV_EINVAL), "options is NULL");
    options.size = offsetof(uvzk_client_options_t, copies);
    SET_REFUSED(UV_EINVAL, "options.size", "hosts", "a:1");
    PARSE_REFUSED(UV_EINVAL, "options.size", "a:1");
}

static void numbers_are_decimal_and_in_range(void **state)
{
    static const char *const malformed[] = {"",     " 1",  "1 ",     "+1",  "-1",
                                            "0x10", "1e3", "1000ms", "1.5", "\xd9\xa1"};
    (void)state;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        SET_REFUSED(UV_EINVAL, "options.tick_ms is not a decimal number", "tick_ms",
                    malformed[i]);
        SET_REFUSED(UV_EINVAL, "options.retry.max_elapsed_ms is not a decimal number",
                    "retry_max_elapsed_ms", malformed[i]);
    }
    set("session_timeout_ms", "500");
    set("session_timeout_ms", "00086400000");
    assert_int_equal(options.session_timeout_ms, 86400000);
    SET_REFUSED(UV_EINVAL, "options.session_timeout_ms is not 500 to 86400000",
                "session_timeout_ms", "499");
    SET_REFUSED(UV_EINVAL, "options.session_timeout_ms is not 500 to 86400000",
                "session_timeout_ms", "86400001");
    SET_REFUSED(UV_EINVAL, "options.tick_ms is not 10 to 86400000", "tick_ms", "0");
    SET_REFUSED(UV_EINVAL, "options.close_wait_ms is not 0 to 4294967295",
                "close_wait_ms", "4294967296");
    SET_REFUSED(UV_EINVAL, "options.sessions is more than 32", "sessions", "33");
    SET_REFUSED(UV_EINVAL, "options.sessions is not a decimal number", "sessions", "x");
    /* 2^64 + 600 would be 600 in 64 bits. */
    SET_REFUSED(UV_EINVAL, "options.session_timeout_ms is not 500 to 86400000",
                "session_timeout_ms", "18446744073709552216");
    set("retry_max_elapsed_ms", "18446744073709551615");
    assert_true(options.retry.max_elapsed_ms == UINT64_MAX);
    set("sessions", "0");
    SET_REFUSED(UV_EINVAL, "options.metrics", "metrics", "2");
    SET_REFUSED(UV_EINVAL, "options.metrics", "metrics", "yes");
}

static void words_are_exact(void **state)
{
    (void)state;
    SET_REFUSED(UV_EINVAL, "options.transport", "transport", "Native");
    SET_REFUSED(UV_EINVAL, "options.transport", "transport", "1");
    SET_REFUSED(UV_EINVAL, "options.proof", "proof", "");
    SET_REFUSED(UV_EINVAL, "options.retry.kind", "retry", "n-time");
}

static void bytes_have_a_limit(void **state)
{
    static char bytes[1000002];
    (void)state;
    memset(bytes, 'x', 1000001);
    SET_REFUSED(UV_EINVAL, "options.auth_length is more than 1000000", "auth", bytes);
    SET_REFUSED(UV_EINVAL, "options.default_data_length is more than 1000000",
                "default_data", bytes);
    bytes[1000000] = '\0';
    set("default_data", bytes);
    assert_int_equal(options.default_data_length, 1000000);
}

static void only_credentials_are_secret(void **state)
{
    (void)state;
    for (size_t i = 0; i < uvzk__option_count(); i++) {
        const char *name = uvzk__option_at(i)->name;
        assert_int_equal(uvzk_client_option_is_secret(name), strcmp(name, "auth") == 0);
    }
    assert_int_equal(uvzk_client_option_is_secret("nonsense"), 0);
    assert_int_equal(uvzk_client_option_is_secret(NULL), 0);
}

/* The limits by name are those of a field that was assigned. */
static void names_and_fields_have_the_same_limits(void **state)
{
    uvzk_client_options_t known;
    (void)state;
    set("hosts", "a:1");
    for (size_t i = 0; i < uvzk__option_count(); i++) {
        const struct uvzk__option *option = uvzk__option_at(i);
        char *field = (char *)&options + option->offset;
        if (option->kind != UVZK__OPTION_NUMBER || option->size != sizeof(uint32_t) ||
            option->most >= UINT32_MAX) {
            continue;
        }
        for (uint64_t value = option->most; value <= option->most + 1; value++) {
            char text[24];
            uint32_t number = (uint32_t)value;
            uint32_t before;
            snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
            int status = uvzk_client_options_set(&options, option->name, text);
            memcpy(&before, field, sizeof(before));
            memcpy(field, &number, sizeof(number));
            assert_int_equal(uvzk__options_read(&known, &options), status);
            assert_int_equal(status, value == option->most ? 0 : UV_EINVAL);
            memcpy(field, &before, sizeof(before));
        }
    }
}

/* ----------------------------------------------------------------- a connection string */

static void hosts_alone_stay_as_they_are(void **state)
{
    static const char *const hosts[] = {"a:1", "[fe80::1%25eth0]:2181,b/%41&c=d", "",
                                        ","};
    (void)state;
    set("namespace", "app");
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        parse(hosts[i]);
        assert_string_equal(options.hosts, hosts[i]);
        assert_string_equal(options.ns, "app");
    }
}

static void options_follow_a_question_mark(void **state)
{
    (void)state;
    parse("a:1,b:2/chroot?session_timeout_ms=10000&namespace=app&tls=ca=/etc/ca.pem");
    assert_string_equal(options.hosts, "a:1,b:2/chroot");
    assert_int_equal(options.session_timeout_ms, 10000);
    assert_string_equal(options.ns, "app");
    assert_string_equal(options.tls, "ca=/etc/ca.pem");
    parse("c:3?tls=");
    assert_string_equal(options.hosts, "c:3");
    assert_string_equal(options.tls, "");
    assert_string_equal(options.ns, "app");
}

static void values_are_decoded(void **state)
{
    (void)state;
    parse("a:1?auth_scheme=digest&auth=ann:%26%3d%25+%C3%a4?/&default_data=");
    assert_int_equal(options.auth_length, strlen("ann:&=%+\xc3\xa4?/"));
    assert_memory_equal(options.auth, "ann:&=%+\xc3\xa4?/", options.auth_length);
}

static void malformed_strings_change_nothing(void **state)
{
    (void)state;
    parse("a:1?namespace=app");
    PARSE_REFUSED(UV_EINVAL, "NAME=VALUE", "b:1?");
    PARSE_REFUSED(UV_EINVAL, "NAME=VALUE", "b:1?namespace");
    PARSE_REFUSED(UV_EINVAL, "NAME=VALUE", "b:1?namespace=other&");
    PARSE_REFUSED(UV_EINVAL, "NAME=VALUE", "b:1?namespace=other&&tick_ms=20");
    PARSE_REFUSED(UV_ENOENT, "\"\" after '?' names no option", "b:1?=app");
    PARSE_REFUSED(UV_ENOENT, "\"tick\" after '?' names no option",
                  "b:1?namespace=other&tick=20");
    PARSE_REFUSED(UV_ENOENT, "\"t?k\" after '?' names no option", "b:1?t\nk=20");
    PARSE_REFUSED(UV_EINVAL, "twice", "b:1?tick_ms=20&namespace=other&tick_ms=20");
    PARSE_REFUSED(UV_EINVAL, "twice", "b:1?hosts=c:1");
    PARSE_REFUSED(UV_EINVAL, "options.tick_ms", "b:1?namespace=other&tick_ms=9");
    PARSE_REFUSED(UV_EINVAL, "hexadecimal", "b:1?namespace=%");
    PARSE_REFUSED(UV_EINVAL, "hexadecimal", "b:1?namespace=%4");
    PARSE_REFUSED(UV_EINVAL, "hexadecimal", "b:1?namespace=%g0");
    PARSE_REFUSED(UV_EINVAL, "hexadecimal", "b:1?namespace=%0g");
    PARSE_REFUSED(UV_EINVAL, "hexadecimal", "b:1?namespace=a%00b");
    PARSE_REFUSED(UV_EINVAL, "text is NULL", NULL);
    assert_string_equal(options.hosts, "a:1");
    assert_string_equal(options.ns, "app");
}

/* ----------------------------------------------------------------------------- memory */

static void no_memory_changes_nothing(void **state)
{
    (void)state;
    set("hosts", "a:1");
    uvzk_client_options_t before = options;
    failing_allocator_arm(1, FAILING_ALLOCATOR_FOREVER);
    assert_int_equal(uvzk_client_options_set(&options, "namespace", "app"), UV_ENOMEM);
    assert_int_equal(uvzk_client_options_parse(&options, "b:1"), UV_ENOMEM);
    assert_int_equal(failing_allocator_failures(), 2);
    failing_allocator_arm(2, 1);
    assert_int_equal(uvzk_client_options_set(&options, "acl", "auth::r"), UV_ENOMEM);
    failing_allocator_arm(2, 1);
    assert_int_equal(uvzk_client_options_parse(&options, "b:1?acl=auth::r"), UV_ENOMEM);
    failing_allocator_arm(0, 0);
    assert_memory_equal(&options, &before, sizeof(options));
}

/* The program's struct ends where an older library's does: nothing behind it is written. */
static void a_longer_or_shorter_struct_is_kept(void **state)
{
    struct {
        uvzk_client_options_t options;
        char behind[16];
    } longer;
    (void)state;
    memset(&longer, 'x', sizeof(longer));
    uvzk_client_options_init_size(&longer.options, sizeof(longer));
    memset(longer.behind, 'x', sizeof(longer.behind));
    assert_int_equal(uvzk_client_options_parse(&longer.options, "a?b"), UV_EINVAL);
    assert_int_equal(uvzk_client_options_parse(&longer.options, "a?sessions=2"), 0);
    assert_int_equal(longer.options.size, sizeof(longer));
    assert_int_equal(longer.behind[0], 'x');
    assert_int_equal(longer.behind[15], 'x');
    uvzk_client_options_free(&longer.options);
}

static void nothing_is_freed_twice(void **state)
{
    (void)state;
    uvzk_client_options_free(NULL);
    uvzk_client_options_free(&options);
    set("hosts", "a:1");
    uvzk_client_options_free(&options);
    uvzk_client_options_free(&options);
}

static const char *secret; /* in a copy; NULL: it was freed */
static size_t secret_length;

static void free_overwritten(void *memory)
{
    static const char zeros[64];

    if (secret != NULL && memory != NULL) {
        assert_true(secret_length <= sizeof(zeros));
        assert_memory_equal(secret, zeros, secret_length);
        secret = NULL;
    }
    free(memory);
}

/* Runs last, because it replaces the allocator. */
static void credentials_are_overwritten(void **state)
{
    (void)state;
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, free_overwritten),
                     0);
    uvzk_client_options_init(&options);
    set("auth", "ann:secret");
    secret = options.auth;
    secret_length = options.auth_length;
    uvzk_client_options_free(&options);
    assert_null(secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_field_is_set, begin, end),
        cmocka_unit_test_setup_teardown(each_word_stands_for_its_constant, begin, end),
        cmocka_unit_test_setup_teardown(an_acl_has_a_word, begin, end),
        cmocka_unit_test_setup_teardown(an_acl_lists_identities, begin, end),
        cmocka_unit_test_setup_teardown(who_is_nobody_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_field_names_somebody, begin, end),
        cmocka_unit_test_setup_teardown(values_are_copied, begin, end),
        cmocka_unit_test_setup_teardown(unknown_names_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(numbers_are_decimal_and_in_range, begin, end),
        cmocka_unit_test_setup_teardown(words_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(bytes_have_a_limit, begin, end),
        cmocka_unit_test_setup_teardown(only_credentials_are_secret, begin, end),
        cmocka_unit_test_setup_teardown(names_and_fields_have_the_same_limits, begin,
                                        end),
        cmocka_unit_test_setup_teardown(hosts_alone_stay_as_they_are, begin, end),
        cmocka_unit_test_setup_teardown(options_follow_a_question_mark, begin, end),
        cmocka_unit_test_setup_teardown(values_are_decoded, begin, end),
        cmocka_unit_test_setup_teardown(malformed_strings_change_nothing, begin, end),
        cmocka_unit_test_setup_teardown(no_memory_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_longer_or_shorter_struct_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_freed_twice, begin, end),
        cmocka_unit_test(credentials_are_overwritten),
    };
    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("options_by_name", tests, NULL, NULL);
}
