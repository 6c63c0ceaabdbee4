/* SPDX-License-Identifier: Apache-2.0 */
/* From the connect string to a server: names, addresses that are none, servers
 * that have moved. */
#include "world.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "discovery/host_names.h"
#include "fake_server.h"
#include "name_server.h"

#define SESSION_MS 4000U
#define SEARCH_MS 1000U /* between two searches at most, of those that come first */
#define RUNS 20
#define PLAIN_IMPOSTORS \
    FAKE_SERVER_REFUSES_SESSIONS /* all before it: a probe finds them out */

static struct world world;
static struct process a;
static struct name_server names;
static char hosts[400];
static char log_text[20000];

static void keep_line(uvzk_client_t *client, int level, const char *module,
                      const char *line)
{
    (void)module;
    size_t length = strlen(log_text);
    (void)client;
    (void)level;
    snprintf(log_text + length, sizeof(log_text) - length, "%s\n", line);
}

static bool is_logged(const char *text)
{
    return strstr(log_text, text) != NULL;
}

static void wait_logged(const char *text)
{
    uint64_t since = world_now(&world);
    while (!is_logged(text)) {
        assert_true(world_turn(&world, since));
    }
}

/* A line of its own, not the end of one that tells how long there has been no
 * connection. */
static void wait_line(const char *line)
{
    char whole[200];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    wait_logged(whole);
}

static void begin(void)
{
    snprintf(log_text, sizeof(log_text), "\n");
    world_begin(&world, NULL);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    world.options.log_cb = keep_line;
}

static void connect_now(void)
{
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
}

/* Names are asked of a name server of the test's own, which knows this address. */
static void begin_with_names(const char *address)
{
    begin();
    assert_int_equal(name_server_open(world.loop, &names), 0);
    snprintf(names.address, sizeof(names.address), "%s", address);
    uvzk__resolver_ask(names.servers);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", server_port(live_server));
}

static void end_with_names(void)
{
    if (world.processes != NULL) {
        process_end(&a);
    }
    uvzk__resolver_ask(NULL);
    name_server_close(&names);
    world_end(&world);
}

/* ------------------------------------------------------------ wrong entries */

static void end_connected_beside(struct fake_server fake_servers[PLAIN_IMPOSTORS])
{
    process_end(&a);
    for (int kind = 0; kind < PLAIN_IMPOSTORS; kind++) {
        fake_server_close(&fake_servers[kind]);
    }
    world_end(&world);
}

static size_t list_all(struct fake_server fake_servers[PLAIN_IMPOSTORS])
{
    size_t length = 0;
    for (int kind = 0; kind < PLAIN_IMPOSTORS; kind++) {
        assert_int_equal(fake_server_open(world.loop, &fake_servers[kind],
                                          (enum fake_server_kind)kind),
                         0);
        length += (size_t)snprintf(hosts + length, sizeof(hosts) - length, "%s,",
                                   fake_servers[kind].hosts);
    }
    return length;
}

static void assert_told_of(const struct fake_server *fake_server, const char *why)
{
    char line[200];
    snprintf(line, sizeof(line), "%s: %s", fake_server->hosts, why);
    wait_logged(line);
}

static void test_wrong_entries_keep_nobody_from_the_good_ones(void **state)
{
    static const char garbage[] = "not a ZooKeeper server";
    (void)state;
    uint64_t longest = 0;
    for (int run = 0; run < RUNS; run++) {
        struct fake_server fake_servers[PLAIN_IMPOSTORS];
        begin();
        size_t length = list_all(fake_servers);
        world_use_proxy(&world);
        world.options.hosts = hosts;
        snprintf(hosts + length, sizeof(hosts) - length, "%s,%s",
                 server_hosts(live_server), world.proxy.hosts);
        uint64_t before = uvzk_now();
        connect_now();
        uint64_t took = uvzk_now() - before;
        longest = took > longest ? took : longest;
        assert_told_of(&fake_servers[FAKE_SERVER_SSH], garbage);
        assert_told_of(&fake_servers[FAKE_SERVER_HTTP], garbage);
        assert_told_of(&fake_servers[FAKE_SERVER_GARBAGE], garbage);
        assert_told_of(&fake_servers[FAKE_SERVER_ECHO], garbage);
        assert_told_of(&fake_servers[FAKE_SERVER_GRANTS_NOTHING], garbage);
        if (run == RUNS - 1) { /* it takes its time */
            assert_told_of(&fake_servers[FAKE_SERVER_SESSION], "no answer");
            assert_told_of(&fake_servers[FAKE_SERVER_SILENT], "no answer");
        }
        assert_told_of(&fake_servers[FAKE_SERVER_HANGS_UP], "closes the connection");
        end_connected_beside(fake_servers);
    }
    printf("connected after %lu ms at most, of 2 T = %u ms\n", (unsigned long)longest,
           2 * SESSION_MS);
    assert_true(longest <= 2 * SESSION_MS);
}

/* The C client takes it for a server; which one it tries first is left to chance. */
static void assert_makes_no_session(enum fake_server_kind kind)
{
    bool met = false;
    uint64_t since = uvzk_now();
    while (!met &&
           uvzk_now() - since < PATIENCE_MS) { /* a busy one is not tried at all */
        struct fake_server fake_server;
        begin();
        assert_int_equal(fake_server_open(world.loop, &fake_server, kind), 0);
        snprintf(hosts, sizeof(hosts), "%s,%s", fake_server.hosts,
                 server_hosts(live_server));
        connect_now();
        assert_true(uvzk_client_session_id(&a.client) != 0);
        char line[100];
        snprintf(line, sizeof(line), "%s: created a session without", fake_server.hosts);
        met = is_logged(line);
        assert_int_equal(fake_server.questions, 0); /* no session, so no requests */
        process_end(&a);
        fake_server_close(&fake_server);
        world_end(&world);
    }
    assert_true(met);
}

static void test_a_session_without_id_or_timeout_is_none(void **state)
{
    (void)state;
    assert_makes_no_session(FAKE_SERVER_REFUSES_SESSIONS);
    assert_makes_no_session(FAKE_SERVER_NO_ID);
    assert_makes_no_session(FAKE_SERVER_NO_TIMEOUT);
}

/* Neither an entry nor a name server. A probe has a third of the session's timeout, which
 * is longer than we wait. */
static void test_nobody_waits_for_the_silent_ones(void **state)
{
    struct fake_server silent;
    (void)state;
    begin_with_names("127.0.0.1");
    names.hold = true;
    assert_int_equal(fake_server_open(world.loop, &silent, FAKE_SERVER_SILENT), 0);
    snprintf(hosts, sizeof(hosts), "%s,zk.test:1,%s", silent.hosts,
             server_hosts(live_server));
    world.options.session_timeout_ms = 10 * PATIENCE_MS;
    connect_now();
    fake_server_close(&silent);
    end_with_names();
}

/* ------------------------------------------------------------------- moving */

static void test_both_families_are_tried(void **state)
{
    char four[100], six[100];
    (void)state;
    begin_with_names("127.0.0.2");
    snprintf(names.address6, sizeof(names.address6), "::1");
    snprintf(four, sizeof(four), "zk.test, 127.0.0.2:%u: ", server_port(live_server));
    snprintf(six, sizeof(six), "zk.test, ::1:%u: ", server_port(live_server));
    process_begin(&a, &world, "a", NULL);
    wait_logged(four);
    wait_logged(six);
    end_with_names();
}

static void test_a_wrong_address_is_looked_up_again(void **state)
{
    (void)state;
    begin_with_names("127.0.0.2");
    process_begin(&a, &world, "a", NULL);
    wait_logged("connection refused");
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    end_with_names();
}

static void test_a_name_that_comes_to_exist_is_found(void **state)
{
    (void)state;
    begin_with_names("");
    world.options.retry.base_ms = 10;
    world.options.retry.max_retries = 1;
    process_begin(&a, &world, "a", NULL);
    wait_line("zk.test: unknown node or service");
    wait_logged("cannot connect");
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    end_with_names();
}

/* While there is a connection the list does not matter. */
static void move_in_silence(void)
{
    int asked = names.asked;
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    world_run_for(&world, 2 * SEARCH_MS);
    assert_int_equal(names.asked, asked);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_CONNECTED);
}

/* One server at two addresses, on one port: it is at the one that does not refuse. */
static struct proxy there, elsewhere;

static void begin_with_two_places(const char *address, struct proxy *deserted)
{
    begin_with_names(address);
    world.options.session_timeout_ms = 5 * SESSION_MS;
    assert_int_equal(proxy_open(world.loop, &there, server_port(live_server)), 0);
    assert_int_equal(proxy_open_at(world.loop, &elsewhere, "127.0.0.2", there.port,
                                   server_port(live_server)),
                     0);
    proxy_refuse(deserted);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", there.port);
    connect_now();
}

static void end_with_two_places(void)
{
    process_end(&a);
    proxy_close(&there);
    proxy_close(&elsewhere);
    end_with_names();
}

static void test_a_server_that_moves_keeps_the_session(void **state)
{
    static struct hold held, waits;
    (void)state;
    begin_with_two_places("127.0.0.2", &there);
    hold_take_for(&held, &a, NULL, &held);
    hold_begin_on_for(&waits, &a, NULL, &waits);
    hold_await_queued(&waits);
    int64_t session = elsewhere.session_id;

    move_in_silence();
    proxy_refuse(&elsewhere);
    proxy_pass(&there);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_true(there.session_id == session);
    assert_int_equal(held.lost, 0);
    hold_give_back(&held);
    hold_await(&waits, PATIENCE_MS);
    hold_give_back(&waits);
    end_with_two_places();
}

static void answer_from_now_on(const char *address)
{
    int wanted = names.answered + 2; /* once for each family */
    snprintf(names.address, sizeof(names.address), "%s", address);
    assert_true(world_await_count(&world, &names.answered, wanted, PATIENCE_MS));
}

/* It moves, and before it answers there nobody knows its name any more. */
static void test_a_name_that_ceases_to_exist_is_known_still(void **state)
{
    (void)state;
    begin_with_two_places("127.0.0.1", &elsewhere);
    proxy_refuse(&there);
    answer_from_now_on("127.0.0.2");
    answer_from_now_on("");
    proxy_pass(&elsewhere);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    end_with_two_places();
}

/* --------------------------------------------------------------- slow names */

#define MANY 8 /* twice as many as libuv's pool has threads */

static void stated(uv_fs_t *request)
{
    *(bool *)request->data = true;
}

/* Of this process. */
static int open_sockets(void)
{
    int count = 0;
    struct stat stat;
    for (int fd = 0; fd < 1024; fd++) {
        count += fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode);
    }
    return count;
}

static void test_slow_names_hold_up_nobody(void **state)
{
    static struct process processes[MANY];
    uv_fs_t request;
    bool done = false;
    (void)state;
    begin_with_names("127.0.0.1");
    names.hold = true;
    for (int i = 0; i < MANY; i++) {
        process_begin(&processes[i], &world, "one", NULL);
    }
    assert_true(world_await_count(&world, &names.asked, 2 * MANY, PATIENCE_MS));
    request.data = &done;
    uv_fs_stat(world.loop, &request, "/", stated);
    assert_true(run_until_set(world.loop, &done));
    uv_fs_req_cleanup(&request);
    int open = open_sockets();
    for (int i = 0; i < MANY; i++) {
        process_close(&processes[i]);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(world_await(&world, &processes[i].closed, PATIENCE_MS));
    }
    assert_int_equal(names.answered, 0);
    assert_true(open_sockets() <= open - MANY + 1); /* the raw session's comes and goes */
    end_with_names();
}

/* The name server answers so late that the question has been asked again. */
static void test_a_late_answer_counts(void **state)
{
    (void)state;
    begin_with_names("127.0.0.1");
    names.hold = true;
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await_count(&world, &names.asked, 4, PATIENCE_MS));
    names.held_count = 2; /* of the first tries alone */
    name_server_go_on(&names);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    end_with_names();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_entries_keep_nobody_from_the_good_ones),
        cmocka_unit_test(test_a_session_without_id_or_timeout_is_none),
        cmocka_unit_test(test_nobody_waits_for_the_silent_ones),
        cmocka_unit_test(test_both_families_are_tried),
        cmocka_unit_test(test_a_wrong_address_is_looked_up_again),
        cmocka_unit_test(test_a_name_that_comes_to_exist_is_found),
        cmocka_unit_test(test_a_server_that_moves_keeps_the_session),
        cmocka_unit_test(test_a_name_that_ceases_to_exist_is_known_still),
        cmocka_unit_test(test_slow_names_hold_up_nobody),
        cmocka_unit_test(test_a_late_answer_counts),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
