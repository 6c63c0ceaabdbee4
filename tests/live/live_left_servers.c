/* SPDX-License-Identifier: Apache-2.0 */
/* A client that leaves its servers for others: what it holds stays, whatever its connection
 * comes to meanwhile, however late its loop is, and whatever the program has given to
 * libuv's thread pool. One server at two addresses. */
#include "world.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "client/create.h"
#include "relay.h"
#include "session/close_keep_session.h"
#include "session/handle.h"
#include "session/zk_port.h"

extern ZooLogLevel logLevel; /* zookeeper_log.h */

#define SESSION_MS 16000U /* a handle is left after an eighth of it */
#define POOL 4            /* threads of libuv's */
#define SESSIONS 32U
#define ROUNDS 6
#define MANY 30

static struct world world;
static struct process a, b;
static struct hold held, waits;
static struct relay *there, *elsewhere;
static char hosts[64];

static void cut(struct relay *relay)
{
    relay_hold(relay, true, true);
    relay_hang_up(relay);
}

static void pass(struct relay *relay)
{
    relay_hold(relay, false, false);
}

static void begin(uint32_t session_ms)
{
    world_begin(&world, NULL);
    there = relay_open("127.0.0.1", server_port(live_server));
    elsewhere = relay_open("127.0.0.1", server_port(live_server));
    assert_true(there != NULL && elsewhere != NULL);
    snprintf(hosts, sizeof(hosts), "127.0.0.1:%u,127.0.0.1:%u", relay_port(there),
             relay_port(elsewhere));
    world.options.hosts = hosts;
    world.options.session_timeout_ms = session_ms;
    cut(elsewhere);
}

/* a holds by way of one address, the only one that its handle knows, and b waits. */
static void begin_held(void)
{
    begin(SESSION_MS);
    process_begin(&a, &world, "a", NULL);
    hold_take(&held, &a);
    world.options.hosts = server_hosts(live_server);
    process_begin(&b, &world, "b", NULL);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    hold_await_queued(&waits);
}

static void assert_still_held(int64_t session)
{
    assert_int_equal(held.lost, 0);
    assert_true(uvzk_hold_is_valid(&held.request));
    assert_int_equal(waits.answered, 0);
    assert_true(uvzk_client_session_id(&a.client) == session);
}

static void end(void)
{
    relay_close(there);
    relay_close(elsewhere);
    world_end(&world);
}

static void end_held(void)
{
    hold_give_back(&held);
    hold_acquire_release(&waits, PATIENCE_MS);
    process_end(&a);
    process_end(&b);
    end();
}

static struct uvzk__zk_port *port_of(struct process *process)
{
    return (struct uvzk__zk_port *)(void *)uvzk__client_port_of(&process->client, 0);
}

/* For the client's own threads, while this one does nothing else. */
static void await_through(zhandle_t *zh)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    while (zoo_state(zh) != ZOO_CONNECTED_STATE) {
        (void)nanosleep(&moment, NULL);
    }
}

/* ------------------------------------------------------------------ the last moment */

static atomic_int leaving;

/* The address that is being left comes back, and the client with it, when it is decided. */
static void come_back(zhandle_t *zh)
{
    pass(there);
    await_through(zh);
    atomic_fetch_add(&leaving, 1);
}

static void test_who_comes_back_at_the_last_moment_keeps_the_session(void **state)
{
    (void)state;
    begin_held();
    int64_t session = uvzk_client_session_id(&a.client);
    atomic_store(&leaving, 0);
    uvzk__close_keep_session_hook(come_back);
    cut(there);
    pass(elsewhere);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    uvzk__close_keep_session_hook(NULL);
    assert_int_equal(atomic_load(&leaving), 1);
    hold_verify(&held, PATIENCE_MS, 0);
    assert_still_held(session);
    end_held();
}

/* So many at once that requests leave by a thread of the handle's. */
static void take_many(void)
{
    static uvzk_mutex_t locks[MANY];
    static struct hold holds[MANY];
    char path[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "/many/%d", i);
        assert_int_equal(uvzk_mutex_init(&a.client, &locks[i], path), 0);
        hold_begin_on(&holds[i], &a, &locks[i], 1, UVZK_WAIT_FOREVER);
    }
    for (int i = 0; i < MANY; i++) {
        hold_acquire_release(&holds[i], PATIENCE_MS);
        assert_int_equal(uvzk_lock_close(&locks[i], NULL), 0);
    }
}

/* The level of the client's log, too. */
static void test_all_is_as_it_was(void **state)
{
    (void)state;
    begin_held();
    take_many();
    cut(there);
    pass(elsewhere);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_int_equal(logLevel, ZOO_LOG_LEVEL_WARN);
    take_many();
    end_held();
}

/* Instead of the client's: for close_keep_session.c, and, if that is in a library, for
 * all. */
static atomic_bool deaf;

void log_message(log_callback_fn callback, ZooLogLevel level, int line,
                 const char *function, const char *format, ...);

void log_message(log_callback_fn callback, ZooLogLevel level, int line,
                 const char *function, const char *format, ...)
{
    static const char *const names[] = {"INVALID", "ERROR", "WARN", "INFO", "DEBUG"};
    char text[200];
    (void)format;
    if (callback != NULL && !(atomic_load(&deaf) && level == ZOO_LOG_LEVEL_INFO)) {
        (void)snprintf(text, sizeof(text), "ZOO_%s@%s@%d: said", names[level], function,
                       line);
        callback(text);
    }
}

/* The session may end with its handle: then the loss is told, and only then it is
 * closed. */
static void test_who_cannot_be_heard_tells_the_end_first(void **state)
{
    (void)state;
    begin_held();
    int64_t session = uvzk_client_session_id(&a.client);
    atomic_store(&deaf, true);
    cut(there);
    pass(elsewhere);
    hold_await_lost(&held, PATIENCE_MS, UVZK_EEXPIRED);
    assert_int_equal(waits.answered, 0);
    atomic_store(&deaf, false);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_true(uvzk_client_session_id(&a.client) != session);
    hold_acquire_release(&waits, PATIENCE_MS);
    process_end(&a);
    process_end(&b);
    end();
}

/* ------------------------------------------------------------------------ a late loop */

/* libuv runs timers before what other threads have told the loop. */
static void test_a_late_loop_leaves_no_servers_that_it_has(void **state)
{
    (void)state;
    begin_held();
    struct uvzk__zk_port *port = port_of(&a);
    int64_t session = uvzk_client_session_id(&a.client);
    cut(there);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    pass(there);
    await_through(port->handle->zh);
    for (int i = 0; i < 3;
         i++) { /* only unknown servers have been found, again and again */
        port->reconnect.user.done(&port->reconnect.user, 0);
        assert_int_equal(port->handle->state, UVZK__HANDLE_OPEN);
    }
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_still_held(session);
    end_held();
}

/* ------------------------------------------------------------------ restarts, in passing */

static bool is_connected(void *context)
{
    struct process *process = context;
    return uvzk_client_state(&process->client) == UVZK_STATE_CONNECTED ||
           uvzk_client_state(&process->client) == UVZK_STATE_RECONNECTED;
}

/* The address that the client knows is away for about as long as that it is left. */
static void test_a_short_absence_costs_nothing(void **state)
{
    (void)state;
    begin_held();
    int64_t session = uvzk_client_session_id(&a.client);
    struct relay *here = there, *other = elsewhere;
    for (int i = 0; i < ROUNDS; i++) {
        int reconnected = a.reconnected;
        cut(here);
        pass(other);
        world_run_for(&world, SESSION_MS / 16 * 3 / 2 + (uint64_t)i * SESSION_MS / 64);
        pass(here);
        assert_true(
            world_await_count(&world, &a.reconnected, reconnected + 1, PATIENCE_MS));
        hold_verify(&held, PATIENCE_MS, 0);
        assert_still_held(session);
        cut(other);
        assert_true(world_await_that(&world, is_connected, &a));
    }
    end_held();
}

/* ------------------------------------------------------------------------- threads */

static sem_t free_again;
static int worked;

static void keep_busy(uv_work_t *work)
{
    (void)work;
    while (sem_wait(&free_again) != 0) {
    }
}

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void worked_off(uv_work_t *work, int status)
{
    (void)work;
    assert_int_equal(status, 0);
    worked++;
}

/* All of libuv's threads are the program's. */
static void test_a_busy_pool_keeps_nobody(void **state)
{
    static uv_work_t works[POOL];
    (void)state;
    worked = 0;
    assert_int_equal(sem_init(&free_again, 0, 0), 0);
    begin_held();
    for (int i = 0; i < POOL; i++) {
        assert_int_equal(uv_queue_work(world.loop, &works[i], keep_busy, worked_off), 0);
    }
    cut(there);
    pass(elsewhere);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    static struct process c;
    process_begin(&c, &world, "c", NULL);
    assert_true(world_await(&world, &c.connected, PATIENCE_MS));
    process_end(&c);
    assert_int_equal(worked, 0);
    for (int i = 0; i < POOL; i++) {
        (void)sem_post(&free_again);
    }
    assert_true(world_await_count(&world, &worked, POOL, PATIENCE_MS));
    sem_destroy(&free_again);
    end_held();
}

/* Each of them waits a second and a half for the server's word. */
static void test_many_that_close_keep_nobody(void **state)
{
    uv_work_t work;
    (void)state;
    begin(SESSION_MS);
    world.options.sessions = SESSIONS;
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    worked = 0;
    relay_hold(there, true, true);
    process_close(&a);
    for (int i = 0; i < 3; i++) { /* they have begun to close */
        run_once(world.loop);
    }
    assert_int_equal(uv_queue_work(world.loop, &work, nothing, worked_off), 0);
    assert_true(world_await(&world, &worked, PATIENCE_MS));
    assert_int_equal(a.closed, 0);
    pass(there);
    assert_true(world_await(&world, &a.closed, PATIENCE_MS));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_comes_back_at_the_last_moment_keeps_the_session),
        cmocka_unit_test(test_all_is_as_it_was),
        cmocka_unit_test(test_who_cannot_be_heard_tells_the_end_first),
        cmocka_unit_test(test_a_late_loop_leaves_no_servers_that_it_has),
        cmocka_unit_test(test_a_short_absence_costs_nothing),
        cmocka_unit_test(test_a_busy_pool_keeps_nobody),
        cmocka_unit_test(test_many_that_close_keep_nobody),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
