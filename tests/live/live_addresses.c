/* From the connect string to a server: names, addresses that are none, servers
 * that have moved. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "impostor.h"
#include "name_server.h"
#include "resolver.h"

#define SESSION_MS 4000U
#define SEARCH_MS 1000U /* between two searches at most, of those that come first */
#define RUNS 20
#define PLAIN_IMPOSTORS IMPOSTOR_TWO_FACED /* all before it: a probe finds them out */

static struct live live;
static struct name_server names;
static char hosts[400];
static char log_text[20000];

static void keep_line(uvzk_client_t *client, int level, const char *line)
{
    size_t length = strlen(log_text);
    (void)client;
    (void)level;
    snprintf(log_text + length, sizeof(log_text) - length, "%s\n", line);
}

static bool is_logged(void *text)
{
    return strstr(log_text, text) != NULL;
}

static bool wait_logged(const char *text)
{
    char copy[200];
    snprintf(copy, sizeof(copy), "%s", text);
    return run_until(live.loop, is_logged, copy, PATIENCE_MS);
}

static void begin(void)
{
    log_text[0] = '\0';
    live_begin(&live);
    live.options.hosts = hosts;
    live.options.session_timeout_ms = SESSION_MS;
    live.options.log_cb = keep_line;
}

/* Names are asked of a name server of the test's own, which knows this address. */
static void begin_with_names(const char *address)
{
    begin();
    assert_int_equal(name_server_open(live.loop, &names), 0);
    snprintf(names.address, sizeof(names.address), "%s", address);
    uvzk__resolver_ask(names.servers);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", server_port(live_server));
}

static void end_with_names(void)
{
    uvzk__resolver_ask(NULL);
    name_server_close(&names);
    live_end(&live);
}

/* ------------------------------------------------------------ wrong entries */

static void end_connected_beside(struct impostor impostors[PLAIN_IMPOSTORS])
{
    live_close_client(&live);
    for (int kind = 0; kind < PLAIN_IMPOSTORS; kind++) {
        impostor_close(&impostors[kind]);
    }
    live_end(&live);
}

static size_t list_all(struct impostor impostors[PLAIN_IMPOSTORS])
{
    size_t length = 0;
    for (int kind = 0; kind < PLAIN_IMPOSTORS; kind++) {
        assert_int_equal(
            impostor_open(live.loop, &impostors[kind], (enum impostor_kind)kind), 0);
        length += (size_t)snprintf(hosts + length, sizeof(hosts) - length, "%s,",
                                   impostors[kind].hosts);
    }
    return length;
}

static void assert_told_of(const struct impostor *impostor, const char *why)
{
    char line[200];
    snprintf(line, sizeof(line), "%s: %s", impostor->hosts, why);
    assert_true(wait_logged(line));
}

static void test_wrong_entries_keep_nobody_from_the_good_ones(void **state)
{
    static const char garbage[] = "what answers is no ZooKeeper server";
    (void)state;
    uint64_t longest = 0;
    for (int run = 0; run < RUNS; run++) {
        struct impostor impostors[PLAIN_IMPOSTORS];
        begin();
        size_t length = list_all(impostors);
        assert_int_equal(proxy_open(live.loop, &live.proxy, server_port(live_server)), 0);
        live.proxied = true;
        snprintf(hosts + length, sizeof(hosts) - length, "%s,%s",
                 server_hosts(live_server), live.proxy.hosts);
        uint64_t before = uvzk_now();
        live_start(&live);
        assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
        uint64_t took = uvzk_now() - before;
        longest = took > longest ? took : longest;
        assert_told_of(&impostors[IMPOSTOR_SSH], garbage);
        assert_told_of(&impostors[IMPOSTOR_HTTP], garbage);
        assert_told_of(&impostors[IMPOSTOR_GARBAGE], garbage);
        assert_told_of(&impostors[IMPOSTOR_ECHO], garbage);
        assert_told_of(&impostors[IMPOSTOR_SESSION], garbage);
        if (run == RUNS - 1) { /* it takes its time */
            assert_told_of(&impostors[IMPOSTOR_SILENT], "no answer");
        }
        assert_told_of(&impostors[IMPOSTOR_HANGS_UP], "hangs up");
        end_connected_beside(impostors);
    }
    printf("connected after %lu ms at most, of 2 T = %u ms\n", (unsigned long)longest,
           2 * SESSION_MS);
    assert_true(longest <= 2 * SESSION_MS);
}

/* The C client takes it for a server; which one it tries first is left to chance. */
static void assert_makes_no_session(enum impostor_kind kind)
{
    bool met = false;
    for (int run = 0; run < RUNS && !met; run++) {
        struct impostor impostor;
        begin();
        assert_int_equal(impostor_open(live.loop, &impostor, kind), 0);
        snprintf(hosts, sizeof(hosts), "%s,%s", impostor.hosts,
                 server_hosts(live_server));
        live_start(&live);
        assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
        assert_true(uvzk_client_session_id(&live.client) != 0);
        char line[100];
        snprintf(line, sizeof(line), "%s: made a session without", impostor.hosts);
        met = is_logged(line);
        live_close_client(&live);
        impostor_close(&impostor);
        live_end(&live);
    }
    assert_true(met);
}

static void test_a_session_without_id_or_timeout_is_none(void **state)
{
    (void)state;
    assert_makes_no_session(IMPOSTOR_TWO_FACED);
    assert_makes_no_session(IMPOSTOR_NO_ID);
    assert_makes_no_session(IMPOSTOR_NO_TIMEOUT);
}

/* Neither an entry nor a name server. A probe has a third of the session's timeout, which
 * is longer than we wait. */
static void test_nobody_waits_for_the_silent_ones(void **state)
{
    struct impostor silent;
    (void)state;
    begin_with_names("127.0.0.1");
    names.hold = true;
    assert_int_equal(impostor_open(live.loop, &silent, IMPOSTOR_SILENT), 0);
    snprintf(hosts, sizeof(hosts), "%s,zk.test:1,%s", silent.hosts,
             server_hosts(live_server));
    live.options.session_timeout_ms = 10 * PATIENCE_MS;
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    live_close_client(&live);
    impostor_close(&silent);
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
    live_start(&live);
    assert_true(wait_logged(four));
    assert_true(wait_logged(six));
    live_close_client(&live);
    end_with_names();
}

static void test_a_wrong_address_is_looked_up_again(void **state)
{
    (void)state;
    begin_with_names("127.0.0.2");
    live_start(&live);
    assert_true(wait_logged("connection refused"));
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_LATENT);
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    live_close_client(&live);
    end_with_names();
}

static void test_a_name_that_comes_to_exist_is_found(void **state)
{
    (void)state;
    begin_with_names("");
    live.options.retry.base_ms = 10;
    live.options.retry.max_retries = 1;
    live_start(&live);
    assert_true(wait_logged("zk.test: unknown node or service"));
    assert_true(wait_logged("cannot connect"));
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    live_close_client(&live);
    end_with_names();
}

/* While there is a connection the list does not matter. */
static void move_in_silence(void)
{
    int asked = names.asked;
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    run_for(live.loop, 2 * SEARCH_MS);
    assert_int_equal(names.asked, asked);
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_CONNECTED);
}

static void test_a_server_that_moves_keeps_the_session(void **state)
{
    static uvzk_mutex_t mutex;
    static struct attempt held, waits;
    struct proxy there, elsewhere;
    (void)state;
    begin_with_names("127.0.0.2");
    live.options.session_timeout_ms = 5 * SESSION_MS;
    assert_int_equal(proxy_open(live.loop, &there, server_port(live_server)), 0);
    assert_int_equal(proxy_open_at(live.loop, &elsewhere, "127.0.0.2", there.port,
                                   server_port(live_server)),
                     0);
    proxy_refuse(&there);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", there.port);
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/moved"), 0);
    assert_int_equal(attempt_start_for(&held, &mutex, &held), 0);
    assert_true(attempt_wait_granted(live.loop, &held));
    assert_int_equal(attempt_start_for(&waits, &mutex, &waits), 0);
    assert_true(attempt_wait_queued(live.loop, &waits));
    int64_t session = elsewhere.session_id;

    move_in_silence();
    proxy_refuse(&elsewhere);
    proxy_pass(&there);
    assert_true(live_wait_state(&live, 1, UVZK_STATE_RECONNECTED));
    assert_true(there.session_id == session);
    assert_int_equal(held.lost, 0);
    assert_true(attempt_release_and_wait(live.loop, &held));
    assert_true(attempt_wait_granted(live.loop, &waits));
    assert_true(attempt_release_and_wait(live.loop, &waits));
    live_close_client(&live);
    proxy_close(&there);
    proxy_close(&elsewhere);
    end_with_names();
}

static bool is_answered_anew(void *before)
{
    return names.answered >= *(int *)before + 2; /* once for each family */
}

static void answer_from_now_on(const char *address)
{
    int before = names.answered;
    snprintf(names.address, sizeof(names.address), "%s", address);
    assert_true(run_until(live.loop, is_answered_anew, &before, PATIENCE_MS));
}

/* It moves, and before it answers there nobody knows its name any more. */
static void test_a_name_that_ceases_to_exist_is_known_still(void **state)
{
    struct proxy there, elsewhere;
    (void)state;
    begin_with_names("127.0.0.1");
    live.options.session_timeout_ms = 5 * SESSION_MS;
    assert_int_equal(proxy_open(live.loop, &there, server_port(live_server)), 0);
    assert_int_equal(proxy_open_at(live.loop, &elsewhere, "127.0.0.2", there.port,
                                   server_port(live_server)),
                     0);
    proxy_refuse(&elsewhere);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", there.port);
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));

    proxy_refuse(&there);
    answer_from_now_on("127.0.0.2");
    answer_from_now_on("");
    proxy_pass(&elsewhere);
    assert_true(live_wait_state(&live, 1, UVZK_STATE_RECONNECTED));
    live_close_client(&live);
    proxy_close(&there);
    proxy_close(&elsewhere);
    end_with_names();
}

/* --------------------------------------------------------------- slow names */

#define MANY 8 /* twice as many as libuv's pool has threads */

static void stated(uv_fs_t *request)
{
    *(bool *)request->data = true;
}

static void count_closed(uvzk_client_t *client)
{
    (*(int *)client->data)++;
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
    static uvzk_client_t clients[MANY];
    uv_fs_t request;
    bool done = false;
    int closed = 0;
    (void)state;
    begin_with_names("127.0.0.1");
    names.hold = true;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(uvzk_client_init(live.loop, &clients[i], &live.options), 0);
        clients[i].data = &closed;
        assert_int_equal(uvzk_client_start(&clients[i]), 0);
    }
    assert_true(run_until_count(live.loop, &names.asked, 2 * MANY));
    request.data = &done;
    uv_fs_stat(live.loop, &request, "/", stated);
    assert_true(run_until_set(live.loop, &done));
    uv_fs_req_cleanup(&request);
    int open = open_sockets();
    for (int i = 0; i < MANY; i++) {
        uvzk_client_close(&clients[i], count_closed);
    }
    assert_true(run_until_count(live.loop, &closed, MANY));
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
    live_start(&live);
    assert_true(run_until_count(live.loop, &names.asked, 4));
    names.held_count = 2; /* of the first tries alone */
    name_server_go_on(&names);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    live_close_client(&live);
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
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
