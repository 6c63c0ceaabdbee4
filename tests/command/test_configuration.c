/* SPDX-License-Identifier: Apache-2.0 */
/* Which configuration files there are, and that a later one stands above an earlier one. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <uvzk.h>

#include "configuration.h"

static void the_users_file_comes_after_the_machines(void **state)
{
    const char *files[CONFIGURATION_FILES];
    (void)state;
    setenv("HOME", "/home/ann", 1);
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(configuration_files(files), 2);
    assert_string_equal(files[0], "/etc/uvzk.conf");
    assert_string_equal(files[1], "/home/ann/.config/uvzk.conf");
    setenv("XDG_CONFIG_HOME", "/config", 1);
    assert_int_equal(configuration_files(files), 2);
    assert_string_equal(files[1], "/config/uvzk.conf");
    setenv("XDG_CONFIG_HOME", "config", 1);
    unsetenv("HOME");
    assert_int_equal(configuration_files(files), 1);
    setenv("HOME", "", 1);
    assert_int_equal(configuration_files(files), 1);
    assert_string_equal(files[0], "/etc/uvzk.conf");
}

static void write_file(char *name, const char *text)
{
    int fd = mkstemp(name);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void the_later_file_stands_above(void **state)
{
    char first[] = "/tmp/uvzk-test-XXXXXX", second[] = "/tmp/uvzk-test-XXXXXX";
    uvzk_client_options_t client;
    struct configuration configuration = {.client = &client};
    (void)state;
    write_file(first, "hosts = a:1\nnamespace = one\ntick_ms = 3000\n");
    write_file(second, "namespace = two\n");
    uvzk_client_options_init(&client);
    assert_int_equal(configuration_read(first, true, &configuration), EX_OK);
    assert_int_equal(configuration_read(second, true, &configuration), EX_OK);
    assert_string_equal(client.hosts, "a:1");
    assert_ptr_equal(configuration.hosts_from, first);
    assert_string_equal(client.ns, "two");
    assert_int_equal(client.tick_ms, 3000);
    uvzk_client_options_free(&client);
    unlink(first);
    unlink(second);
}

/* A namespace "field # ours" would be a znode of this name. */
static void a_comment_has_a_line_of_its_own(void **state)
{
    static const char *const refused[] = {"namespace = field # ours\n",
                                          "namespace = field\t# ours\n"};
    static const char *const taken[] = {"namespace = field#ours\n", "# namespace = x\n",
                                        "auth = ann:a #b\n"};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char name[] = "/tmp/uvzk-test-XXXXXX";
        uvzk_client_options_t client;
        struct configuration configuration = {.client = &client};
        write_file(name, i < 2 ? refused[i] : taken[i - 2]);
        uvzk_client_options_init(&client);
        assert_int_equal(configuration_read(name, true, &configuration),
                         i < 2 ? EX_USAGE : EX_OK);
        assert_true(i != 0 || client.ns == NULL);
        uvzk_client_options_free(&client);
        unlink(name);
    }
}

static void the_kind_of_a_lock_is_mutex_or_write(void **state)
{
    static const struct {
        const char *text;
        int code;
        bool is_write;
    } files[] = {{"lock_kind = write\n", EX_OK, true},
                 {"tick_ms = 3000\n", EX_OK, true}, /* says nothing of it */
                 {"lock_kind = mutex\n", EX_OK, false},
                 {"lock_kind = read\n", EX_USAGE, false}};
    uvzk_client_options_t client;
    struct configuration configuration = {.client = &client};
    (void)state;

    uvzk_client_options_init(&client);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[] = "/tmp/uvzk-test-XXXXXX";
        write_file(name, files[i].text);
        assert_int_equal(configuration_read(name, true, &configuration), files[i].code);
        assert_int_equal(configuration.lock_is_write, files[i].is_write);
        unlink(name);
    }
    uvzk_client_options_free(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_file_comes_after_the_machines),
        cmocka_unit_test(the_later_file_stands_above),
        cmocka_unit_test(a_comment_has_a_line_of_its_own),
        cmocka_unit_test(the_kind_of_a_lock_is_mutex_or_write),
    };
    return cmocka_run_group_tests_name("configuration", tests, NULL, NULL);
}
