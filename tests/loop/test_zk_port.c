/* What only the real port has: names, credentials, several servers, the C
 * client's manners, a loop that never stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run_loop.h"
#include "user.h"
#include "window.h"
#include "world_real.h"

/* ------------------------------------------------------------------- memory */

static _Thread_local bool on_the_loop;
static atomic_bool loop_lacks, clients_lack; /* memory: the loop's thread, the others */

static bool lacks(void)
{
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

/* -------------------------------------------------------------------- names */

static void open_fails_without_an_address(void **state)
{
    (void)state;
    world_settings.only_hosts = "nowhere.invalid:2181";
    struct user *user = user_new();
    user_open(user);
    assert_true(user_wait_session(user, UVZK__SESSION_OPEN_FAILED, 1));
    assert_true(user->open_status < 0);
    user_open(user); /* the handle is down: again */
    assert_true(user_wait_session(user, UVZK__SESSION_OPEN_FAILED, 2));
    assert_true(user_end(user));
}

static void open_waits_for_a_server(void **state)
{
    (void)state;
    struct user *user = user_new();
    world_lose(user->world);
    user_open(user);
    world_run_for(user->world, 100);
    assert_int_equal(user->sessions[UVZK__SESSION_CONNECTED], 0);
    assert_int_equal(user->sessions[UVZK__SESSION_SUSPENDED], 0);
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 1));
    assert_true(user->log_lines > 0); /* the client complained, and to us */
    assert_true(user_end(user));
}

/* ZOOKEEPER-2466: of two servers, one dead, the client left to itself may try
 * the dead one for ever. */
static void two_hosts_do_not_starve(void **state)
{
    (void)state;
    world_settings.more_hosts = "127.0.0.1:1,";
    struct user *user = user_new();
    assert_true(user_connect(user));
    for (unsigned i = 1; i <= 3; i++) {
        world_lose(user->world);
        assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, i));
        world_run_for(user->world, 20);
        world_restore(user->world);
        assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, i + 1));
    }
    assert_true(user_end(user));
}

/* While the search for it goes on, while neither handle is open, and after. */
static void close_while_the_server_moves(void **state)
{
    (void)state;
    for (unsigned ms = 300; ms <= 700; ms += 25) {
        struct user *user = user_new();
        assert_true(user_connect(user));
        world_move(user->world);
        assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
        world_run_for(user->world, ms);
        assert_true(user_end(user));
    }
}

/* -------------------------------------------------------------- credentials */

static void credentials_come_before_requests(void **state)
{
    static const uvzk_acl_t entries[] = {{UVZK_PERM_ALL, "auth", ""}};
    static const struct uvzk__acl mine = {entries, 1};
    (void)state;
    world_settings.auth_scheme = "digest";
    world_settings.auth = "user:secret";
    struct user *user = user_new();
    struct ask ask;
    assert_true(user_connect(user));
    ask_init(&ask, user, UVZK__RPC_CREATE, "/private");
    ask.rpc.acl = &mine;
    assert_int_equal(ask_run(&ask), 0);

    world_lose(user->world); /* and again after a reconnection */
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    ask_init(&ask, user, UVZK__RPC_GET, "/private");
    assert_int_equal(ask_run(&ask), 0);
    assert_true(user_end(user));
}

static void an_acl_without_credentials_is_invalid(void **state)
{
    static const uvzk_acl_t entries[] = {{UVZK_PERM_ALL, "auth", ""}};
    static const struct uvzk__acl mine = {entries, 1};
    (void)state;
    struct user *user = user_new();
    struct ask ask;
    assert_true(user_connect(user));
    ask_init(&ask, user, UVZK__RPC_CREATE, "/private");
    ask.rpc.acl = &mine;
    assert_int_equal(ask_run(&ask), UVZK_EINVALIDACL);
    assert_true(user_end(user));
}

static void bad_credentials_end_the_handle(void **state)
{
    (void)state;
    world_settings.auth_scheme = "nosuchscheme";
    world_settings.auth = "x";
    struct user *user = user_new();
    struct ask ask;
    user_open(user);
    assert_true(user_wait_session(user, UVZK__SESSION_AUTH_FAILED, 1));
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENOTSENT);
    user_open(user);
    assert_true(user_wait_session(user, UVZK__SESSION_AUTH_FAILED, 2));
    assert_true(user_end(user));
}

static const uvzk_acl_t open_entries[] = {{UVZK_PERM_ALL, "world", "anyone"}};
static const struct uvzk__acl open_acl = {open_entries, 1};

static const struct uvzk__op early[] = {
    {.kind = UVZK__OP_CREATE, .path = "/early/a", .acl = &open_acl}};

/* While the server's answers do not come through, nothing of a multi is done; a reply
 * to anything opens the way, and all is replied in the order of submission. */
static void assert_multi_waits(struct user *user)
{
    struct ask multi, behind;
    proxy_hold_replies(world_proxy(user->world));
    ask_init(&multi, user, UVZK__RPC_MULTI, NULL);
    multi.rpc.ops = early;
    multi.rpc.op_count = 1;
    ask_init(&behind, user, UVZK__RPC_EXISTS, "/early");
    ask_submit(&multi);
    ask_submit(&behind);
    world_run_for(user->world, 150);
    assert_int_equal(world_children_count(user->world, "/early"), 0);
    assert_int_equal(multi.replies, 0);
    proxy_pass(world_proxy(user->world));
    assert_true(ask_wait(&behind));
    assert_int_equal(multi.status, 0);
    assert_int_equal(behind.status, 0);
}

/* zoo_amulti does not survive a refusal of the credentials while it runs. */
static void no_multi_before_the_credentials_are_answered(void **state)
{
    (void)state;
    world_settings.auth_scheme = "digest";
    world_settings.auth = "user:secret";
    struct user *user = user_new();
    world_create(user->world, "/early");
    assert_true(user_connect(user));
    assert_multi_waits(user);

    world_lose(user->world); /* each connection has its own credentials */
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    world_delete(user->world, "/early/a");
    assert_multi_waits(user);
    assert_true(user_end(user));
}

/* Held back it has not been sent. */
static void a_multi_held_back_is_lost_unsent(void **state)
{
    struct ask multi;
    (void)state;
    world_settings.auth_scheme = "digest";
    world_settings.auth = "user:secret";
    struct user *user = user_new();
    world_create(user->world, "/early");
    assert_true(user_connect(user));
    proxy_hold_replies(world_proxy(user->world));
    ask_init(&multi, user, UVZK__RPC_MULTI, NULL);
    multi.rpc.ops = early;
    multi.rpc.op_count = 1;
    ask_submit(&multi);
    world_lose(user->world);
    assert_true(ask_wait(&multi));
    assert_int_equal(multi.status, UVZK_ENOTSENT);
    assert_int_equal(world_children_count(user->world, "/early"), 0);
    assert_true(user_end(user));
}

/* ------------------------------------------------------ names of new znodes */

#define NUMBERED(path_)                                                                \
    {                                                                                  \
        .kind = UVZK__OP_CREATE, .mode = UVZK__PERSISTENT_SEQUENTIAL, .path = (path_), \
        .acl = &open_acl                                                               \
    }

static const struct uvzk__op pair[] = {NUMBERED("/named/a-"), NUMBERED("/named/b-")};

/* The same names, whether or not the server calls them something longer. */
static void assert_names(bool no_chroot)
{
    char made[2][ASK_NAME];
    world_settings.no_chroot = no_chroot;
    struct user *user = user_new();
    struct ask ask;
    assert_true(user_connect(user));
    assert_int_equal(user_create(user, "/named", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_CREATE, "/named/a-");
    ask.rpc.mode = UVZK__PERSISTENT_SEQUENTIAL;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.name, "/named/a-0000000000");
    ask_init(&ask, user, UVZK__RPC_MULTI, NULL);
    ask.rpc.ops = pair;
    ask.rpc.op_count = 2;
    ask.made = made;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(made[0], "/named/a-0000000001");
    assert_string_equal(made[1], "/named/b-0000000002");
    assert_int_equal(world_children_count(user->world, "/named"), no_chroot ? 0 : 3);
    assert_true(user_end(user));
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
    char made[2][ASK_NAME];
    struct ask lost, next;
    (void)state;
    struct user *user = user_new();
    assert_true(user_connect(user));
    assert_int_equal(user_create(user, "/named", UVZK__PERSISTENT), 0);
    proxy_hold_replies(world_proxy(user->world));
    ask_init(&lost, user, UVZK__RPC_MULTI, NULL);
    lost.rpc.ops = pair;
    lost.rpc.op_count = 2;
    ask_submit(&lost);
    assert_true(world_run_until(user->world, pair_is_made, user->world));
    world_lose(user->world);
    assert_true(ask_wait(&lost));
    assert_int_equal(lost.status, UVZK_ECONNLOSS);
    assert_false(lost.made_is_told);
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    ask_init(&next, user, UVZK__RPC_MULTI, NULL);
    next.rpc.ops = pair;
    next.rpc.op_count = 2;
    next.made = made;
    assert_int_equal(ask_run(&next), 0);
    assert_string_equal(made[0], "/named/a-0000000002");
    assert_string_equal(made[1], "/named/b-0000000003");
    assert_true(user_end(user));
}

static void refuses_a_multi_of_an_unheard_end(bool no_chroot)
{
    static const struct uvzk__op checks[] = {
        {.kind = UVZK__OP_CHECK, .path = "/a", .version = -1},
        {.kind = UVZK__OP_CHECK, .path = "/b", .version = -1},
        {.kind = UVZK__OP_DELETE, .path = "/c", .version = -1}};
    world_settings.no_proxy = true;
    world_settings.no_chroot = no_chroot;
    struct user *user = user_new();
    struct ask ask;
    assert_true(user_connect(user));
    assert_true(world_expire_unheard(user->world));
    ask_init(&ask, user, UVZK__RPC_MULTI, NULL);
    ask.rpc.ops = checks;
    ask.rpc.op_count = 3;
    assert_int_equal(ask_run(&ask), UVZK_ENOTSENT);
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    assert_true(user_end(user));
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
    struct ask first, second, third;
    (void)state;
    world_settings.no_proxy = true;
    struct user *user = user_new();
    assert_true(user_connect(user));
    assert_true(world_expire_unheard(user->world));
    ask_init(&first, user, UVZK__RPC_EXISTS, "/a");
    ask_init(&second, user, UVZK__RPC_EXISTS, "/a");
    ask_init(&third, user, UVZK__RPC_EXISTS, "/a");
    first.again = &second; /* inside a reply after SUSPENDED */
    second.again = &third; /* inside one of those before EXPIRED */
    ask_submit(&first);
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    assert_int_equal(third.replies, 1);
    assert_int_equal(third.status, UVZK_EEXPIRED);
    assert_true(user_end(user));
}

/* ------------------------------------------------------ no data, empty data */

static int run_multi(struct user *user, const struct uvzk__op *op)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_MULTI, NULL);
    ask.rpc.ops = op;
    ask.rpc.op_count = 1;
    return ask_run(&ask);
}

static void assert_data(struct user *user, const void *data, long length)
{
    const struct uvzk__op create = {
        .kind = UVZK__OP_CREATE, .path = "/together", .data = data, .acl = &open_acl};
    const struct uvzk__op set = {
        .kind = UVZK__OP_SET, .path = "/alone", .version = -1, .data = data};
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, "/alone");
    ask.rpc.data = data;
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(world_data_length(user->world, "/alone"), length);
    assert_int_equal(run_multi(user, &create), 0);
    assert_int_equal(world_data_length(user->world, "/together"), length);

    world_set(user->world, "/alone");
    assert_int_equal(run_multi(user, &set), 0);
    assert_int_equal(world_data_length(user->world, "/alone"), length);
    world_set(user->world, "/together");
    ask_init(&ask, user, UVZK__RPC_SET, "/together");
    ask.rpc.data = data;
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(world_data_length(user->world, "/together"), length);
    world_delete(user->world, "/alone");
    world_delete(user->world, "/together");
}

/* Others can tell them apart; in our replies both are nothing. */
static void no_data_is_not_empty_data(void **state)
{
    (void)state;
    struct user *user = user_new();
    assert_true(user_connect(user));
    assert_data(user, NULL, -1);
    assert_data(user, "", 0);
    assert_true(user_end(user));
}

/* ------------------------------------------------------- watches and memory */

static int watch(struct ask *ask, struct user *user, const char *path)
{
    ask_init(ask, user, UVZK__RPC_GET, path);
    ask_watch(ask);
    return ask_run(ask);
}

/* A watch of before on this path must not take the new one with it when the port comes
 * back and has the server forget what it does not want any more. */
static void assert_survives_a_disconnection(struct user *user, struct ask *ask)
{
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    struct ask sync;
    ask_init(&sync, user, UVZK__RPC_SYNC, "/");
    assert_int_equal(ask_run(&sync), 0);
    world_set(user->world, ask->rpc.path);
    assert_true(ask_wait_fired(ask));
}

/* The server has armed it all the same. */
static void a_watch_whose_answer_does_not_fit_is_taken_down(void **state)
{
    (void)state;
    struct user *user = user_new();
    struct ask unfit, again;
    assert_true(user_connect(user));
    world_create(user->world, "/a");
    clients_lack = true;
    assert_int_equal(watch(&unfit, user, "/a"), UV_ENOMEM);
    clients_lack = false;
    assert_null(unfit.watch.armed);
    assert_int_equal(watch(&again, user, "/a"), 0);
    assert_survives_a_disconnection(user, &again);
    assert_int_equal(unfit.fired, 0);

    clients_lack = true;
    assert_int_equal(watch(&unfit, user, "/a"), UV_ENOMEM);
    clients_lack = false;
    assert_true(user_wait_watch_count(user, 0));
    assert_true(user_end(user));
}

static void unwatch_without_memory_spares_the_next(void **state)
{
    (void)state;
    struct user *user = user_new();
    struct ask old, again;
    assert_true(user_connect(user));
    world_create(user->world, "/a");
    assert_int_equal(watch(&old, user, "/a"), 0);
    loop_lacks = true;
    ask_unwatch(&old);
    loop_lacks = false;
    assert_int_equal(watch(&again, user, "/a"), 0);
    assert_survives_a_disconnection(user, &again);
    assert_int_equal(old.fired, 0);
    assert_true(user_end(user));
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
    struct user *user = user_new();
    assert_true(user_connect(user));
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(random(), expected[i]);
    }
    assert_true(user_end(user));
}

/* Only so many are with the client at once; the rest is certainly not sent. */
static void the_window_holds_requests_back(void **state)
{
    enum { COUNT = UVZK__WINDOW + 500 };
    static struct ask asks[COUNT];
    (void)state;
    struct user *user = user_new();
    assert_true(user_connect(user));
    for (size_t i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_SYNC, "/");
        ask_submit(&asks[i]);
    }
    world_lose(user->world);
    assert_true(ask_wait(&asks[COUNT - 1]));
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i].status,
                         i < UVZK__WINDOW ? UVZK_ECONNLOSS : UVZK_ENOTSENT);
    }
    assert_true(user_end(user));
}

static void on_tick(uv_timer_t *timer)
{
    ++*(unsigned *)timer->data;
}

static bool is_closed(void *context)
{
    return ((struct user *)context)->closed > 0;
}

/* The server is silent, so that closing the session takes the client more than
 * a second; the loop ticks on for at least half of it. */
static void the_loop_runs_while_a_session_is_closed(void **state)
{
    enum { COUNT = 50, TICK_MS = 10 };
    static struct ask asks[COUNT];
    unsigned ticks = 0;
    uv_timer_t timer;
    (void)state;
    struct user *user = user_new();
    assert_true(user_connect(user));
    proxy_hold_replies(world_proxy(user->world));
    for (size_t i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_EXISTS, "/a");
        ask_submit(&asks[i]);
    }
    uv_timer_init(world_loop(user->world), &timer);
    timer.data = &ticks;
    uv_timer_start(&timer, on_tick, TICK_MS, TICK_MS);
    uint64_t begin_ns = uv_hrtime();
    user_close(user);
    assert_true(ask_wait(&asks[COUNT - 1])); /* long before it is closed */
    assert_int_equal(asks[COUNT - 1].status, UVZK_ECLOSED);
    assert_int_equal(user->closed, 0);
    assert_true(world_run_until(user->world, is_closed, user));
    uint64_t elapsed_ms = (uv_hrtime() - begin_ns) / 1000000U;
    assert_true(ticks * TICK_MS * 2 >= elapsed_ms);
    uv_close((uv_handle_t *)&timer, NULL);
    assert_true(user_end(user));
}

/* Each port has its own news and its own end. */
static void many_ports_live_side_by_side(void **state)
{
    enum { COUNT = 20 };
    struct user *users[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        users[i] = user_new();
        user_open(users[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_true(user_wait_session(users[i], UVZK__SESSION_CONNECTED, 1));
        assert_int_equal(user_create(users[i], "/e", UVZK__EPHEMERAL), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_true(user_end(users[i]));
    }
}

/* ---------------------------------------------------------------- log lines */

enum { TALKERS = 40 };

/* A port whose server does not listen any more: the client's thread complains, and says
 * which thread it is; lines of our own do not. (Which server it says too, but from a buffer that its threads share.) */
struct talker {
    struct user *user;
    unsigned long thread;
    unsigned lines;
};
static struct talker talkers[TALKERS];

static void on_line(struct uvzk__port_user *port_user, int level, const char *line)
{
    const char *at = strstr(line, "(0x");
    unsigned long thread = at != NULL ? strtoul(at + 1, NULL, 16) : 0;
    (void)level;
    for (int i = 0; i < TALKERS && thread != 0; i++) {
        bool own = talkers[i].user != NULL && &talkers[i].user->port_user == port_user;
        if (own && talkers[i].lines++ == 0) {
            talkers[i].thread = thread;
        }
        assert_true(own == (talkers[i].thread == thread));
    }
}

static void ignore_line(struct uvzk__port_user *port_user, int level, const char *line)
{
    (void)port_user;
    (void)level;
    (void)line;
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
            world_run_for(talkers[i].user->world, 1);
        }
    }
    return all_have_talked();
}

static void each_of_many_ports_has_its_own_log(void **state)
{
    (void)state;
    for (int i = 0; i < TALKERS; i++) {
        talkers[i].user = user_new();
        talkers[i].user->port_user.log = on_line;
        assert_true(user_connect(talkers[i].user));
    }
    for (int i = 0; i < TALKERS; i++) {
        world_lose(talkers[i].user->world);
    }
    assert_true(run_until_all_have_talked());
    for (int i = 0; i < TALKERS; i++) {
        talkers[i].user->port_user.log = ignore_line;
    }
    for (int i = 0; i < TALKERS; i++) {
        assert_true(user_end(talkers[i].user));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_fails_without_an_address, reset),
        cmocka_unit_test_setup(open_waits_for_a_server, reset),
        cmocka_unit_test_setup(two_hosts_do_not_starve, reset),
        cmocka_unit_test_setup(close_while_the_server_moves, reset),
        cmocka_unit_test_setup(credentials_come_before_requests, reset),
        cmocka_unit_test_setup(an_acl_without_credentials_is_invalid, reset),
        cmocka_unit_test_setup(bad_credentials_end_the_handle, reset),
        cmocka_unit_test_setup(no_multi_before_the_credentials_are_answered, reset),
        cmocka_unit_test_setup(a_multi_held_back_is_lost_unsent, reset),
        cmocka_unit_test_setup(names_are_without_the_chroot, reset),
        cmocka_unit_test_setup(a_multi_whose_reply_is_lost_was_done, reset),
        cmocka_unit_test_setup(a_multi_of_an_ended_session_is_not_sent, reset),
        cmocka_unit_test_setup(what_is_asked_at_the_end_is_told_the_end, reset),
        cmocka_unit_test_setup(no_data_is_not_empty_data, reset),
        cmocka_unit_test_setup(a_watch_whose_answer_does_not_fit_is_taken_down, reset),
        cmocka_unit_test_setup(unwatch_without_memory_spares_the_next, reset),
        cmocka_unit_test_setup(random_of_the_process_is_left_alone, reset),
        cmocka_unit_test_setup(the_window_holds_requests_back, reset),
        cmocka_unit_test_setup(the_loop_runs_while_a_session_is_closed, reset),
        cmocka_unit_test_setup(many_ports_live_side_by_side, reset),
        cmocka_unit_test_setup(each_of_many_ports_has_its_own_log, reset),
    };
    return cmocka_run_group_tests(tests, begin_world, end_world);
}
