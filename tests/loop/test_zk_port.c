/* SPDX-License-Identifier: Apache-2.0 */
/* What only the real port has: names, credentials, several servers, the C
 * client's manners, a loop that never stands still. */
#include "cmocka_test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "requests/send_window.h"
#include "run_loop.h"
#include "session/handle.h"
#include "session/zk_port.h"
#include "world_probe.h"
#include "world_real.h"

/* ------------------------------------------------------------------- memory */

static _Thread_local bool on_the_loop;
static atomic_bool loop_lacks, clients_lack; /* memory: the loop's thread, the others */

static atomic_uint elsewhere; /* asked for so often on other threads */

static bool lacks(void)
{
    elsewhere += !on_the_loop;
    return on_the_loop ? loop_lacks : clients_lack;
}

static void *lacking_malloc(size_t size)
{
    return lacks() ? NULL : malloc(size);
}

static void *lacking_calloc(size_t count, size_t size)
{
    return lacks() ? NULL : calloc(count, size);
}

static void *lacking_realloc(void *memory, size_t size)
{
    return lacks() ? NULL : realloc(memory, size);
}

static int begin_world(void **state)
{
    (void)state;
    on_the_loop = true;
    if (uvzk_replace_allocator(lacking_malloc, lacking_realloc, lacking_calloc, free) <
        0) {
        return -1;
    }
    return world_begin();
}

static int end_world(void **state)
{
    (void)state;
    world_end();
    return 0;
}

static int reset(void **state)
{
    (void)state;
    memset(&world_settings, 0, sizeof(world_settings));
    return 0;
}

/* Cases of which the state is a probe, connected, with these settings. */

static int connect_probe(void **state)
{
    *state = probe_in_world_connected();
    return 0;
}

static int connect_as_usual(void **state)
{
    (void)reset(state);
    return connect_probe(state);
}

static int connect_directly(void **state)
{
    (void)reset(state);
    world_settings.no_proxy = true;
    return connect_probe(state);
}

static int connect_with_credentials(void **state)
{
    (void)reset(state);
    world_settings.auth_scheme = "digest";
    world_settings.auth = "user:secret";
    return connect_probe(state);
}

static int leave(void **state)
{
    probe_leave(*state);
    return 0;
}

/* -------------------------------------------------------------------- names */

static void open_fails_without_an_address(void **state)
{
    (void)state;
    world_settings.only_hosts = "nowhere.invalid:2181";
    struct probe *probe = probe_in_world();
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_OPEN_FAILED, 1);
    assert_true(probe->open_status < 0);
    probe_open(probe); /* the handle is down: again */
    probe_await_session(probe, UVZK__SESSION_OPEN_FAILED, 2);
    probe_leave(probe);
}

static void open_waits_for_a_server(void **state)
{
    (void)state;
    struct probe *probe = probe_in_world();
    world_lose(probe->world);
    probe_open(probe);
    world_run_for(probe->world, 100);
    assert_int_equal(probe->told, 0);
    world_restore(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 1);
    assert_true(probe->log_lines > 0); /* the client complained, and to us */
    probe_leave(probe);
}

/* ZOOKEEPER-2466: of two servers, one dead, the client left to itself may try
 * the dead one for ever. */
static void two_hosts_do_not_starve(void **state)
{
    (void)state;
    world_settings.more_hosts = "127.0.0.1:1,";
    struct probe *probe = probe_in_world_connected();
    for (unsigned i = 1; i <= 3; i++) {
        probe_lose(probe);
        world_run_for(probe->world, 20);
        probe_regain(probe);
    }
    probe_leave(probe);
}

/* While the search for it goes on, while neither handle is open, and after. */
static void close_while_the_server_moves(void **state)
{
    (void)state;
    for (unsigned ms = 300; ms <= 700; ms += 25) {
        struct probe *probe = probe_in_world_connected();
        world_move(probe->world);
        probe_await_session(probe, UVZK__SESSION_SUSPENDED, 1);
        world_run_for(probe->world, ms);
        probe_leave(probe);
    }
}

/* -------------------------------------------------------------- credentials */

static const uvzk_acl_t private_entries[] = {{UVZK_PERM_ALL, "auth", ""}};
static const struct uvzk__acl private_acl = {private_entries, 1};

static void credentials_come_before_requests(void **state)
{
    struct probe *probe = *state;
    probe->acl = &private_acl;
    assert_int_equal(create(probe, "/private", UVZK__PERSISTENT), 0);
    probe_reconnect(probe); /* and again after a reconnection */
    assert_int_equal(read_once(probe, UVZK__RPC_GET, "/private"), 0);
}

static void an_acl_without_credentials_is_invalid(void **state)
{
    struct probe *probe = *state;
    probe->acl = &private_acl;
    assert_int_equal(create(probe, "/private", UVZK__PERSISTENT), UVZK_EINVALIDACL);
}

static void bad_credentials_end_the_handle(void **state)
{
    (void)state;
    world_settings.auth_scheme = "nosuchscheme";
    world_settings.auth = "x";
    struct probe *probe = probe_in_world();
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_AUTH_FAILED, 1);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENOTSENT);
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_AUTH_FAILED, 2);
    probe_leave(probe);
}

/* On the first connection the questions of the dialect have been answered. */
static void have_nothing_answered(struct probe *probe)
{
    probe_reconnect(probe);
}

/* While the server's answers do not come through, nothing of a multi is done; a reply
 * to anything opens the way, and all is replied in the order of submission. */
static void assert_multi_waits(struct probe *probe)
{
    const struct uvzk__op early = op_create("/early/a", UVZK__PERSISTENT);
    proxy_hold_replies(world_proxy(probe->world));
    struct ask *multi = ask_multi(probe, &early, 1);
    struct ask *behind = ask_read(probe, UVZK__RPC_EXISTS, "/early", false);
    world_run_for(probe->world, 150);
    assert_int_equal(world_children_count(probe->world, "/early"), 0);
    assert_int_equal(multi->replied, 0);
    proxy_pass(world_proxy(probe->world));
    (void)ask_done(behind);
    assert_int_equal(multi->status, 0);
}

/* zoo_amulti does not survive a refusal of the credentials while it runs. */
static void no_multi_before_the_credentials_are_answered(void **state)
{
    struct probe *probe = *state;
    world_create(probe->world, "/early");
    for (int i = 0; i < 2; i++) { /* each connection has its own credentials */
        have_nothing_answered(probe);
        assert_multi_waits(probe);
        world_delete(probe->world, "/early/a");
    }
}

/* Backing off it has not been sent. */
static void a_multi_held_back_is_lost_unsent(void **state)
{
    const struct uvzk__op early = op_create("/early/a", UVZK__PERSISTENT);
    struct probe *probe = *state;
    world_create(probe->world, "/early");
    have_nothing_answered(probe);
    proxy_hold_replies(world_proxy(probe->world));
    struct ask *multi = ask_multi(probe, &early, 1);
    world_lose(probe->world);
    assert_int_equal(ask_wait(multi), UVZK_ENOTSENT);
    assert_int_equal(world_children_count(probe->world, "/early"), 0);
}

/* The session ends for refused credentials, and the loop has not heard of it. A request
 * fails with the reason, and not as if the connection were lost. */
static void a_request_of_unheard_refused_credentials(void **state)
{
    (void)state;
    world_settings.no_proxy = true;
    struct probe *probe = probe_in_world_connected();
    zhandle_t *zh = ((struct uvzk__zk_port *)(void *)probe->port)->handle->zh;
    uint64_t deadline_ns = uv_hrtime() + PATIENCE_MS * UINT64_C(1000000);
    assert_int_equal(zoo_add_auth(zh, "nosuchscheme", "x", 1, NULL, NULL), ZOK);
    while (zoo_state(zh) != ZOO_AUTH_FAILED_STATE) {
        assert_true(uv_hrtime() < deadline_ns);
        sched_yield();
    }
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_EAUTH);
    probe_await_session(probe, UVZK__SESSION_AUTH_FAILED, 1);
    probe_leave(probe);
}

/* ------------------------------------------------------ names of new znodes */

/* Makes two znodes at once, with these names, or fails. */
static void assert_pair(struct probe *probe, const char *one, const char *other)
{
    const struct uvzk__op pair[] = {op_create("/named/a-", UVZK__PERSISTENT_SEQUENTIAL),
                                    op_create("/named/b-", UVZK__PERSISTENT_SEQUENTIAL)};
    const struct ask *ask = ask_done(ask_multi(probe, pair, 2));
    assert_string_equal(ask->made[0], one);
    assert_string_equal(ask->made[1], other);
}

/* The same names, whether or not the server calls them something longer. */
static void assert_names(bool no_chroot)
{
    world_settings.no_chroot = no_chroot;
    struct probe *probe = probe_in_world_connected();
    assert_int_equal(create(probe, "/named", UVZK__PERSISTENT), 0);
    const struct ask *ask =
        ask_done(ask_create(probe, "/named/a-", UVZK__PERSISTENT_SEQUENTIAL));
    assert_string_equal(ask->name, "/named/a-0000000000");
    assert_pair(probe, "/named/a-0000000001", "/named/b-0000000002");
    assert_int_equal(world_children_count(probe->world, "/named"), no_chroot ? 0 : 3);
    probe_leave(probe);
}

static void names_are_without_the_chroot(void **state)
{
    (void)state;
    assert_names(false);
    assert_names(true);
}

static bool pair_is_made(void *context)
{
    return world_children_count(context, "/named") == 2;
}

static void a_multi_whose_reply_is_lost_was_done(void **state)
{
    const struct uvzk__op pair[] = {op_create("/named/a-", UVZK__PERSISTENT_SEQUENTIAL),
                                    op_create("/named/b-", UVZK__PERSISTENT_SEQUENTIAL)};
    struct probe *probe = *state;
    assert_int_equal(create(probe, "/named", UVZK__PERSISTENT), 0);
    proxy_hold_replies(world_proxy(probe->world));
    struct ask *lost = ask_multi(probe, pair, 2);
    assert_true(world_run_until(probe->world, pair_is_made, probe->world));
    world_lose(probe->world);
    assert_int_equal(ask_wait(lost), UVZK_ECONNLOSS);
    assert_null(lost->made);
    world_restore(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_pair(probe, "/named/a-0000000002", "/named/b-0000000003");
}

static void refuses_a_multi_of_an_unheard_end(bool no_chroot)
{
    const struct uvzk__op checks[] = {op_of(UVZK__OP_CHECK, "/a", -1),
                                      op_of(UVZK__OP_CHECK, "/b", -1),
                                      op_of(UVZK__OP_DELETE, "/c", -1)};
    world_settings.no_proxy = true;
    world_settings.no_chroot = no_chroot;
    struct probe *probe = probe_in_world_connected();
    assert_true(world_expire_unheard(probe->world));
    assert_int_equal(ask_wait(ask_multi(probe, checks, 3)), UVZK_ENOTSENT);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    probe_leave(probe);
}

/* The client knows, the loop does not yet. Of a session that has ended zoo_amulti
 * frees paths twice, or the caller's. */
static void a_multi_of_an_ended_session_is_not_sent(void **state)
{
    (void)state;
    refuses_a_multi_of_an_unheard_end(false);
    refuses_a_multi_of_an_unheard_end(true);
}

/* Whoever is told ENOTSENT asks again when connected, and takes itself for that until
 * the end is told: it would ask for ever. */
static void what_is_asked_at_the_end_is_told_the_end(void **state)
{
    struct probe *probe = *state;
    assert_true(world_expire_unheard(probe->world));
    struct ask *first = ask_new(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *second = first->again = ask_new(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *third = second->again = ask_new(probe, UVZK__RPC_EXISTS, "/a");
    ask_submit(first); /* the second inside a reply after SUSPENDED */
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    assert_int_equal(third->replied, 1); /* asked inside one of those before EXPIRED */
    assert_int_equal(third->status, UVZK_EEXPIRED);
}

/* ------------------------------------------------------ no data, empty data */

static void make(struct probe *probe, enum uvzk__rpc_kind kind, const char *path,
                 const void *data)
{
    struct ask *ask = ask_new(probe, kind, path);
    ask->rpc.data = data;
    (void)ask_done(ask_submit(ask));
}

static void make_in_multi(struct probe *probe, enum uvzk__op_kind kind, const char *path,
                          const void *data)
{
    struct uvzk__op op = op_of(kind, path, -1);
    op.data = data;
    (void)ask_done(ask_multi(probe, &op, 1));
}

static void assert_data(struct probe *probe, const void *data, long length)
{
    make(probe, UVZK__RPC_CREATE, "/alone", data);
    assert_int_equal(world_data_length(probe->world, "/alone"), length);
    make_in_multi(probe, UVZK__OP_CREATE, "/together", data);
    assert_int_equal(world_data_length(probe->world, "/together"), length);

    world_set(probe->world, "/alone");
    make_in_multi(probe, UVZK__OP_SET, "/alone", data);
    assert_int_equal(world_data_length(probe->world, "/alone"), length);
    world_set(probe->world, "/together");
    make(probe, UVZK__RPC_SET, "/together", data);
    assert_int_equal(world_data_length(probe->world, "/together"), length);
    world_delete(probe->world, "/alone");
    world_delete(probe->world, "/together");
}

/* Others can tell them apart; in our replies both are nothing. */
static void no_data_is_not_empty_data(void **state)
{
    assert_data(*state, NULL, -1);
    assert_data(*state, "", 0);
}

/* ------------------------------------------------------- watches and memory */

/* A watch of before on this path must not take the new one with it when the port comes
 * back and has the server forget what it does not want any more. */
static void assert_watch_survives_a_disconnection(struct probe *probe)
{
    struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_GET, "/a", true));
    probe_reconnect(probe);
    probe_round_trip(probe);
    world_set(probe->world, "/a");
    ask_await_event(ask, UVZK__WATCH_CHANGED);
}

static struct ask *watch_without_memory(struct probe *probe)
{
    clients_lack = true;
    struct ask *unfit = watch_on(probe, UVZK__RPC_GET, "/a");
    clients_lack = false;
    assert_int_equal(unfit->status, UV_ENOMEM);
    return unfit;
}

/* As uvzk_replace_allocator says. */
static void answers_are_copied_on_other_threads(void **state)
{
    struct probe *probe = *state;
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    elsewhere = 0;
    assert_int_equal(read_once(probe, UVZK__RPC_CHILDREN, "/"), 0);
    assert_true(elsewhere > 0);
}

/* The server has armed it all the same. */
static void a_watch_whose_answer_does_not_fit_is_taken_down(void **state)
{
    struct probe *probe = *state;
    world_create(probe->world, "/a");
    struct ask *unfit = watch_without_memory(probe);
    assert_null(unfit->watch.armed);
    assert_watch_survives_a_disconnection(probe);
    assert_int_equal(unfit->fired, 0);
    (void)watch_without_memory(probe);
    probe_await_watches(probe, 0);
}

static void unwatch_without_memory_spares_the_next(void **state)
{
    struct probe *probe = *state;
    world_create(probe->world, "/a");
    struct ask *old = ask_done(ask_read(probe, UVZK__RPC_GET, "/a", true));
    loop_lacks = true;
    ask_unwatch(old);
    loop_lacks = false;
    assert_watch_survives_a_disconnection(probe);
    assert_int_equal(old->fired, 0);
}

/* ------------------------------------------------------------------ manners */

/* The client would reseed the process's generators each time it resolves. */
static void random_of_the_process_is_left_alone(void **state)
{
    long expected[4];
    (void)state;
    srandom(42);
    for (int i = 0; i < 4; i++) {
        expected[i] = random();
    }
    srandom(42);
    struct probe *probe = probe_in_world_connected();
    probe_reconnect(probe);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(random(), expected[i]);
    }
    probe_leave(probe);
}

/* Only so many are with the client at once; the rest is certainly not sent. */
static void the_window_holds_requests_back(void **state)
{
    enum { COUNT = UVZK__SEND_WINDOW + 500 };
    struct ask *asks[COUNT];
    struct probe *probe = *state;
    have_nothing_answered(probe);
    for (size_t i = 0; i < COUNT; i++) {
        asks[i] = ask_sync(probe, "/");
    }
    world_lose(probe->world);
    ask_wait(asks[COUNT - 1]);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->status,
                         i < UVZK__SEND_WINDOW ? UVZK_ECONNLOSS : UVZK_ENOTSENT);
    }
}

/* -------------------------------------------------------------------- the submit thread */

/* Of this process. */
static unsigned threads(void)
{
    unsigned count = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (count == 0 && fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "Threads:", 8) == 0) {
            count = (unsigned)strtoul(line + 8, NULL, 10);
        }
    }
    fclose(status);
    return count;
}

static void ask_many(struct probe *probe, struct ask *asks[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
}

/* Who asks for few things has no thread for it, and no way around by one. */
static void only_who_asks_for_many_has_a_submit_thread(void **state)
{
    struct ask *asks[UVZK__DIRECT_SENDS + 1];
    struct probe *probe = *state;
    probe_round_trip(probe);
    unsigned before = threads();
    for (int i = 0; i < 10; i++) {
        ask_many(probe, asks, UVZK__DIRECT_SENDS);
        assert_int_equal(ask_wait(asks[UVZK__DIRECT_SENDS - 1]), UVZK_ENONODE);
    }
    assert_int_equal(threads(), before);
    ask_many(probe, asks, UVZK__DIRECT_SENDS + 1);
    assert_int_equal(ask_wait(asks[UVZK__DIRECT_SENDS]), UVZK_ENONODE);
    assert_int_equal(threads(), before + 1);
}

/* What the submit thread still has is certainly not sent, and it lets go of what is
 * replied. */
static void what_the_submit_thread_has_is_lost_unsent(void **state)
{
    enum { COUNT = UVZK__SEND_WINDOW, TIMES = 10 };
    struct ask *asks[COUNT];
    struct probe *probe = *state;
    for (int i = 0; i < TIMES; i++) {
        probe_round_trip(probe);
        ask_many(probe, asks, COUNT);
        probe_lose(probe);
        for (size_t k = 1; k < COUNT; k++) {
            assert_int_equal(asks[k]->replied, 1);
            assert_true(asks[k]->status == UVZK_ENOTSENT ||
                        asks[k - 1]->status != UVZK_ENOTSENT);
        }
        probe_regain(probe);
    }
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
}

/* As what the loop would have given. */
static void what_the_submit_thread_cannot_submit_is_replied(void **state)
{
    struct ask *asks[UVZK__DIRECT_SENDS];
    struct probe *probe = *state;
    int status = read_once(probe, UVZK__RPC_GET, "without-a-slash");
    assert_true(status < 0);
    ask_many(probe, asks, UVZK__DIRECT_SENDS);
    struct ask *bad = ask_read(probe, UVZK__RPC_GET, "without-a-slash", true);
    struct ask *behind = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    assert_int_equal(ask_wait(behind), UVZK_ENONODE);
    assert_int_equal(bad->status, status);
    assert_null(bad->watch.armed);
}

/* The client knows of the end and refuses all, the loop does not know yet. */
static void what_is_submitted_at_the_end_is_told_the_end(void **state)
{
    enum { COUNT = 50 };
    const struct uvzk__op check = op_of(UVZK__OP_CHECK, "/a", -1);
    struct ask *asks[UVZK__DIRECT_SENDS + COUNT];
    struct probe *probe = *state;
    probe_round_trip(probe);
    ask_many(probe, asks, UVZK__DIRECT_SENDS);
    assert_true(world_expire_unheard(probe->world));
    for (size_t i = 0; i < COUNT; i++) {
        asks[UVZK__DIRECT_SENDS + i] = i % 2 == 0
                                           ? ask_multi(probe, &check, 1)
                                           : ask_read(probe, UVZK__RPC_GET, "/a", true);
    }
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    for (size_t i = UVZK__DIRECT_SENDS; i < UVZK__DIRECT_SENDS + COUNT; i++) {
        assert_int_equal(asks[i]->replied, 1);
        assert_true(asks[i]->status < 0);
    }
}

static void all_is_sent_before_a_close(void **state)
{
    enum { COUNT = 500 };
    struct probe *probe = *state;
    char path[32];
    probe_round_trip(probe);
    world_create(probe->world, "/closed");
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof(path), "/closed/%d", i);
        (void)ask_create(probe, path, UVZK__PERSISTENT);
    }
    probe_close(probe);
    probe_await(probe, &probe->closed, 1);
    assert_int_equal(world_children_count(probe->world, "/closed"), COUNT);
}

static void on_tick(uv_timer_t *timer)
{
    ++*(unsigned *)timer->data;
}

/* The server is silent, so that closing the session takes the client more than
 * a second; the loop ticks on for at least half of it. */
static void the_loop_runs_while_a_session_is_closed(void **state)
{
    enum { COUNT = 50, TICK_MS = 10 };
    struct ask *last = NULL;
    struct probe *probe = *state;
    unsigned ticks = 0;
    static uv_timer_t timer; /* its close is told after the test */
    proxy_hold_replies(world_proxy(probe->world));
    for (size_t i = 0; i < COUNT; i++) {
        last = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
    uv_timer_init(world_loop(probe->world), &timer);
    timer.data = &ticks;
    uv_timer_start(&timer, on_tick, TICK_MS, TICK_MS);
    uint64_t begin_ns = uv_hrtime();
    probe_close(probe);
    assert_int_equal(ask_wait(last), UVZK_ECLOSED); /* long before it is closed */
    assert_int_equal(probe->closed, 0);
    probe_await(probe, &probe->closed, 1);
    uint64_t elapsed_ms = (uv_hrtime() - begin_ns) / 1000000U;
    assert_true(ticks * TICK_MS * 2 >= elapsed_ms);
    uv_close((uv_handle_t *)&timer, NULL);
}

/* Each port has its own news and its own end. */
static void many_ports_live_side_by_side(void **state)
{
    enum { COUNT = 20 };
    struct probe *probes[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        probes[i] = probe_in_world();
        probe_open(probes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        probe_await_session(probes[i], UVZK__SESSION_CONNECTED, 1);
        assert_int_equal(create(probes[i], "/e", UVZK__EPHEMERAL), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        probe_leave(probes[i]);
    }
}

/* ---------------------------------------------------------------- log lines */

enum { TALKERS = 40 };

/* A port whose server does not listen any more: the client's thread complains, and
 * says which thread it is; lines of our own do not. (Which server it says too, but
 * from a buffer that its threads share.) */
struct talker {
    struct probe *probe;
    unsigned long thread;
    unsigned lines;
};
static struct talker talkers[TALKERS];

static void on_line(struct uvzk__port_user *user, int level, const char *module,
                    const char *line)
{
    const char *at = strstr(line, "(0x");
    unsigned long thread = at != NULL ? strtoul(at + 1, NULL, 16) : 0;

    (void)module;
    (void)level;
    for (int i = 0; i < TALKERS && thread != 0; i++) {
        bool own = talkers[i].probe != NULL && &talkers[i].probe->user == user;
        if (own && talkers[i].lines++ == 0) {
            talkers[i].thread = thread;
        }
        assert_true(own == (talkers[i].thread == thread));
    }
}

/* Of a port whose connection was lost: the C client logs that as an error. */
static void on_line_of_a_lost_connection(struct uvzk__port_user *user, int level,
                                         const char *module, const char *line)
{
    (void)user;
    if (level == UVZK_LOG_ERROR && strcmp(module, "zookeeper") != 0) {
        fail_msg("%s: %s", module, line);
    }
}

static bool all_have_talked(void)
{
    int talked = 0;
    for (int i = 0; i < TALKERS; i++) {
        talked += talkers[i].lines > 1;
    }
    return talked == TALKERS;
}

static bool run_until_all_have_talked(void)
{
    uint64_t deadline_ns = uv_hrtime() + PATIENCE_MS * UINT64_C(1000000);
    while (!all_have_talked() && uv_hrtime() < deadline_ns) {
        for (int i = 0; i < TALKERS; i++) {
            world_run_for(talkers[i].probe->world, 1);
        }
    }
    return all_have_talked();
}

static void each_of_many_ports_has_its_own_log(void **state)
{
    (void)state;
    for (int i = 0; i < TALKERS; i++) {
        talkers[i].probe = probe_in_world();
        talkers[i].probe->user.log = on_line;
        probe_connect(talkers[i].probe);
    }
    for (int i = 0; i < TALKERS; i++) {
        world_lose(talkers[i].probe->world);
    }
    assert_true(run_until_all_have_talked());
    for (int i = 0; i < TALKERS; i++) {
        talkers[i].probe->user.log = on_line_of_a_lost_connection;
    }
    for (int i = 0; i < TALKERS; i++) {
        probe_leave(talkers[i].probe);
    }
}

#define CASE(test, setup) cmocka_unit_test_setup_teardown(test, setup, leave)

/* ----------------------------------------------------------------------- the end */

static void (*session_of_the_probe)(struct uvzk__port_user *,
                                    const struct uvzk__session_event *);
static const struct uvzk__handle *ends;
static bool closing_by_then;

static void look_at_the_handle(struct uvzk__port_user *user,
                               const struct uvzk__session_event *event)
{
    closing_by_then = ends->state == UVZK__HANDLE_CLOSING;
    session_of_the_probe(user, event);
}

/* What is held is lost by being told so, and the closing may end the session. */
static void an_end_is_told_before_the_handle_is_closed(void **state)
{
    struct probe *probe = *state;
    ends = ((struct uvzk__zk_port *)(void *)probe->port)->handle;
    session_of_the_probe = probe->port->user->session;
    probe_lose(probe);
    probe->port->user->session = look_at_the_handle;
    probe->port->abandon(probe->port);
    closing_by_then = true;
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    assert_false(closing_by_then);
}

static bool is_asking(void *context)
{
    const struct uvzk__handle *handle = ((struct uvzk__zk_port *)context)->handle;
    return handle != NULL && handle->state == UVZK__HANDLE_ASKING;
}

/* Answers that come after the C client has closed its socket reset the connection, and the
 * server may not read that the session ends. */
static void a_close_waits_for_what_the_port_asks(void **state)
{
    (void)state;
    struct probe *probe = probe_in_world();
    struct uvzk__zk_port *port = (struct uvzk__zk_port *)(void *)probe->port;
    probe_open(probe);
    assert_true(world_run_until(probe->world, is_asking, port));
    proxy_hold_replies(world_proxy(probe->world));
    const struct uvzk__handle *handle = port->handle;
    probe_close(probe);
    assert_int_equal(handle->state, UVZK__HANDLE_DRAINING);
    proxy_pass(world_proxy(probe->world));
    probe_await(probe, &probe->closed, 1);
    probe_leave(probe);
}

/* --------------------------------------------------------- faults of the port itself */

static char fault[UVZK__MACHINE_TEXT];
static int faults;

static void on_fault(struct uvzk__port_user *user, const char *what)
{
    (void)user;
    (void)strcpy(fault, what);
    faults++;
}

/* Its user decides what becomes of the client. The port goes on, and can be closed. */
static void faults_are_told_to_the_user(void **state)
{
    struct probe *probe = *state;
    struct uvzk__zk_port *port = (struct uvzk__zk_port *)(void *)probe->port;
    struct uvzk__handle *handle = port->handle;

    faults = 0;
    probe->user.broken = on_fault;
    probe->port->open(probe->port);
    assert_int_equal(faults, 1);
    assert_string_equal(fault, "port: opened twice, or after its close");
    assert_ptr_equal(port->handle, handle);
    uvzk__handle_connect(handle);
    assert_int_equal(faults, 2);
    assert_string_equal(fault, "handle: illegal move from CONNECTED to CONNECTED");
    probe_reconnect(probe);
    assert_int_equal(faults, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_fails_without_an_address, reset),
        cmocka_unit_test_setup(open_waits_for_a_server, reset),
        cmocka_unit_test_setup(two_hosts_do_not_starve, reset),
        cmocka_unit_test_setup(close_while_the_server_moves, reset),
        CASE(credentials_come_before_requests, connect_with_credentials),
        CASE(an_acl_without_credentials_is_invalid, connect_as_usual),
        cmocka_unit_test_setup(bad_credentials_end_the_handle, reset),
        cmocka_unit_test_setup(a_request_of_unheard_refused_credentials, reset),
        CASE(no_multi_before_the_credentials_are_answered, connect_with_credentials),
        CASE(a_multi_held_back_is_lost_unsent, connect_with_credentials),
        cmocka_unit_test_setup(names_are_without_the_chroot, reset),
        CASE(a_multi_whose_reply_is_lost_was_done, connect_as_usual),
        cmocka_unit_test_setup(a_multi_of_an_ended_session_is_not_sent, reset),
        CASE(what_is_asked_at_the_end_is_told_the_end, connect_directly),
        CASE(no_data_is_not_empty_data, connect_as_usual),
        CASE(answers_are_copied_on_other_threads, connect_as_usual),
        CASE(a_watch_whose_answer_does_not_fit_is_taken_down, connect_as_usual),
        CASE(unwatch_without_memory_spares_the_next, connect_as_usual),
        cmocka_unit_test_setup(random_of_the_process_is_left_alone, reset),
        CASE(the_window_holds_requests_back, connect_as_usual),
        CASE(only_who_asks_for_many_has_a_submit_thread, connect_as_usual),
        CASE(what_the_submit_thread_has_is_lost_unsent, connect_as_usual),
        CASE(what_the_submit_thread_cannot_submit_is_replied, connect_as_usual),
        CASE(what_is_submitted_at_the_end_is_told_the_end, connect_directly),
        CASE(all_is_sent_before_a_close, connect_as_usual),
        CASE(an_end_is_told_before_the_handle_is_closed, connect_as_usual),
        CASE(the_loop_runs_while_a_session_is_closed, connect_as_usual),
        CASE(faults_are_told_to_the_user, connect_as_usual),
        cmocka_unit_test_setup(a_close_waits_for_what_the_port_asks, reset),
        cmocka_unit_test_setup(many_ports_live_side_by_side, reset),
        cmocka_unit_test_setup(each_of_many_ports_has_its_own_log, reset),
    };
    return cmocka_run_group_tests(tests, begin_world, end_world);
}
