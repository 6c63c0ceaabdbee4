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
    const char *hosts_from = NULL;
    uvzk_client_options_t client;
    (void)state;
    write_file(first, "hosts = a:1\nnamespace = one\ntick_ms = 3000\n");
    write_file(second, "namespace = two\n");
    uvzk_client_options_init(&client);
    assert_int_equal(configuration_read(first, true, &client, &hosts_from), EX_OK);
    assert_int_equal(configuration_read(second, true, &client, &hosts_from), EX_OK);
    assert_string_equal(client.hosts, "a:1");
    assert_ptr_equal(hosts_from, first);
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
    const char *hosts_from = NULL;
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char name[] = "/tmp/uvzk-test-XXXXXX";
        uvzk_client_options_t client;
        write_file(name, i < 2 ? refused[i] : taken[i - 2]);
        uvzk_client_options_init(&client);
        assert_int_equal(configuration_read(name, true, &client, &hosts_from),
                         i < 2 ? EX_USAGE : EX_OK);
        assert_true(i != 0 || client.ns == NULL);
        uvzk_client_options_free(&client);
        unlink(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_file_comes_after_the_machines),
        cmocka_unit_test(the_later_file_stands_above),
        cmocka_unit_test(a_comment_has_a_line_of_its_own),
    };
    return cmocka_run_group_tests_name("configuration", tests, NULL, NULL);
}
