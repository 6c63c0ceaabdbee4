/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no connection, as it is known when a wait for a lock has run out: the code,
 * whose address, words, the moment. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "discovery/host_names.h"
#include "fake_server.h"
#include "name_server.h"
#include "zk_process.h"

#define SESSION_MS 4000U
#define A_MOMENT_MS 50

static struct world world;
static struct process a;
static struct hold first;
static struct fake_server fake_server;
static struct name_server names;
static char hosts[64];

static uvzk_client_error_t last_error(void)
{
    uvzk_client_error_t error;

    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
    return error;
}

static bool has_code(void *code)
{
    return last_error().code == *(const int *)code;
}

static void begin(void)
{
    world_begin(&world, NULL);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
}

/* A wait that runs out then says that there is no connection; and this is why. */
static void fails_with(int code, const char *address, const char *word)
{
    process_begin(&a, &world, "a", NULL);
    uint64_t from = uvzk_now();
    assert_true(world_await_that(&world, has_code, &code));
    hold_try(&first, &a, NULL, A_MOMENT_MS, UVZK_EUNREACHABLE);
    uvzk_client_error_t error = last_error();
    assert_int_equal(error.code, code);
    assert_string_equal(error.address, address);
    assert_non_null(strstr(error.text, word));
    assert_in_range(error.at, from, uvzk_now());
    process_end(&a);
}

static void test_refused(void **state)
{
    (void)state;
    begin();
    (void)snprintf(hosts, sizeof(hosts), "127.0.0.1:%u", zk_free_port("127.0.0.1"));
    fails_with(UV_ECONNREFUSED, hosts, "connection refused");
    world_end(&world);
}

static void test_no_zookeeper_there(void **state)
{
    static const struct {
        enum fake_server_kind kind;
        int code;
        const char *word;
    } there[] = {{FAKE_SERVER_SILENT, UV_ETIMEDOUT, "no answer"},
                 {FAKE_SERVER_HANGS_UP, UV_ECONNRESET, "closes the connection"},
                 {FAKE_SERVER_SSH, UV_EPROTO, "not a ZooKeeper server"}};
    (void)state;
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
        begin();
        assert_int_equal(fake_server_open(world.loop, &fake_server, there[i].kind), 0);
        (void)snprintf(hosts, sizeof(hosts), "%s", fake_server.hosts);
        fails_with(there[i].code, hosts, there[i].word);
        fake_server_close(&fake_server);
        world_end(&world);
    }
}

static void test_no_such_host(void **state)
{
    (void)state;
    begin();
    assert_int_equal(name_server_open(world.loop, &names), 0); /* which knows nobody */
    uvzk__resolver_ask(names.servers);
    (void)snprintf(hosts, sizeof(hosts), "zk.test:2181");
    fails_with(UV_EAI_NONAME, "zk.test", "unknown");
    uvzk__resolver_ask(NULL);
    name_server_close(&names);
    world_end(&world);
}

/* Then nothing is waited for any more. */
static void test_credentials_refused(void **state)
{
    (void)state;
    begin();
    world.options.hosts = servers_hosts();
    world.options.auth_scheme = "no-such-scheme";
    world.options.auth = "x";
    world.options.auth_length = 1;
    process_begin(&a, &world, "a", NULL);
    hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, UVZK_EAUTH);
    assert_int_equal(last_error().code, UVZK_EAUTH);
    process_end(&a);
    world_end(&world);
}

/* It was there before. */
static void test_the_server_goes_away_meanwhile(void **state)
{
    (void)state;
    begin();
    world.options.hosts = servers_hosts();
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    hold_give_back(&first);
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    hold_try(&first, &a, NULL, A_MOMENT_MS, UVZK_EUNREACHABLE);
    int refused = UV_ECONNREFUSED;
    assert_true(world_await_that(&world, has_code, &refused));
    assert_string_equal(last_error().address, servers_hosts());
    assert_true(server_restart(live_server));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);
    process_end(&a);
    world_end(&world);
}

/* The servers have lost their data, and know less than the session has seen. */
static bool says_it_is_behind(void *unused)
{
    (void)unused;
    return strstr(last_error().text, "was recreated") != NULL;
}

static void is_made_anew(uint32_t transport)
{
    begin();
    world.options.transport = transport;
    world.options.hosts = servers_hosts();
    process_begin(&a, &world, "a", NULL);
    for (int i = 0; i < 5; i++) {
        hold_take(&first, &a);
        hold_give_back(&first);
    }
    server_kill(live_server);
    server_wipe(live_server);
    assert_true(server_restart(live_server));
    assert_true(world_await_that(&world, says_it_is_behind, NULL));
    /* The session ends, and another one begins. */
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);
    process_end(&a);
    world_end(&world);
}

static void test_the_server_is_made_anew(void **state)
{
    (void)state;
    is_made_anew(UVZK_TRANSPORT_C_CLIENT);
    is_made_anew(UVZK_TRANSPORT_NATIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_zookeeper_there),
        cmocka_unit_test(test_no_such_host),
        cmocka_unit_test(test_credentials_refused),
        cmocka_unit_test(test_the_server_goes_away_meanwhile),
        cmocka_unit_test(test_the_server_is_made_anew),
    };
    return cmocka_run_group_tests_name("why_no_connection", tests, servers_start_one,
                                       servers_stop);
}
