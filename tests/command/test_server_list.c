/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a connect string: addresses as they are written, and all addresses that a
 * name server, or /etc/hosts, has for a name. */
#include "cmocka_test.h"

#include <ares.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <uv.h>

#include "name_server.h"
#include "server_list.h"

/* The look-up blocks, so the name server has a thread. */
static struct name_server names;
static uv_loop_t loop;
static uv_async_t stop;
static uv_thread_t thread;

int __real_ares_init_options(ares_channel *, struct ares_options *, int);
int __wrap_ares_init_options(ares_channel *, struct ares_options *, int);

int __wrap_ares_init_options(ares_channel *channel, struct ares_options *options,
                             int mask)
{
    int status = __real_ares_init_options(channel, options, mask);

    return status != ARES_SUCCESS ? status
                                  : ares_set_servers_ports_csv(*channel, names.servers);
}

static void on_stop(uv_async_t *handle)
{
    name_server_close(&names);
    uv_close((uv_handle_t *)handle, NULL);
}

static void serve_names(void *none)
{
    (void)none;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static void names_begin(const char *four, const char *six)
{
    memset(&names, 0, sizeof(names));
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_async_init(&loop, &stop, on_stop), 0);
    assert_int_equal(name_server_open(&loop, &names), 0);
    snprintf(names.address, sizeof(names.address), "%s", four);
    snprintf(names.address6, sizeof(names.address6), "%s", six);
    assert_int_equal(uv_thread_create(&thread, serve_names, NULL), 0);
}

/* Returns how many questions there were. */
static int names_end(void)
{
    assert_int_equal(uv_async_send(&stop), 0);
    assert_int_equal(uv_thread_join(&thread), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    return names.asked;
}

static void assert_servers(const char *hosts, const char *const *servers)
{
    struct server_list list;
    size_t count = 0;

    assert_int_equal(server_list_make(&list, hosts), EX_OK);
    for (; servers[count] != NULL; count++) {
        assert_true(count < list.count);
        assert_string_equal(list.addresses[count], servers[count]);
    }
    assert_int_equal(list.count, count);
    server_list_free(&list);
}

static void assert_refused(const char *hosts, int exit_code)
{
    struct server_list list;

    assert_int_equal(server_list_make(&list, hosts), exit_code);
    server_list_free(&list);
}

static void nobody_is_asked_for_an_address(void **state)
{
    const char *const servers[] = {"10.0.0.1:2182", "[fd00::1]:2181", "127.0.0.1:2183",
                                   NULL};
    (void)state;
    names_begin("10.0.0.7", "fd00::7");
    assert_servers("10.0.0.1:2182, [fd00::1] ,127.1:2183,10.0.0.1:2182/chroot", servers);
    assert_int_equal(names_end(), 0);
}

static void a_name_is_all_its_addresses(void **state)
{
    const char *const both[] = {"10.0.0.7:2182", "[fd00::7]:2182", NULL};
    const char *const four[] = {"10.0.0.7:2181", "10.0.0.1:2181", NULL};
    struct server_list list;
    (void)state;
    names_begin("10.0.0.7", "fd00::7");
    /* The order is that in which this machine would use them. */
    assert_int_equal(server_list_make(&list, "zk.test:2182,other.test:2182"), EX_OK);
    assert_int_equal(list.count, 2);
    for (size_t i = 0; i < list.count; i++) {
        assert_true(strcmp(list.addresses[i], both[0]) == 0 ||
                    strcmp(list.addresses[i], both[1]) == 0);
    }
    server_list_free(&list);
    assert_true(names_end() > 0);
    names_begin("10.0.0.7", "");
    assert_servers("zk.test,10.0.0.1", four);
    names_end();
}

static void a_name_without_an_address(void **state)
{
    (void)state;
    names_begin("", "");
    assert_refused("10.0.0.1,zk.test", EX_UNAVAILABLE);
    names_end();
    assert_refused("10.0.0.1,:2181", EX_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_asked_for_an_address),
        cmocka_unit_test(a_name_is_all_its_addresses),
        cmocka_unit_test(a_name_without_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
