/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses in the same loop what uvzk uses, too: c-ares, libuv's thread pool,
 * signals that interrupt system calls. Both go on as if they were alone. */
#include "world.h"

#include <ares.h>
#include <dirent.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#include "discovery/host_names.h"
#include "name_server.h"

#define LOCK "/host"
#define POOL 4 /* of libuv, by default */
#define TURNS 60
#define SIGNALS 32
#define TICK_US 1000

static struct world world;
static struct process a;
static struct name_server names;

/* ----------------------------------------------------------------- the program's c-ares */

static ares_channel channel;
static uv_poll_t answers;
static bool is_found;

static void readable(uv_poll_t *handle, int status, int events)
{
    ares_socket_t sockets[1];
    (void)handle;
    (void)status;
    (void)events;
    (void)ares_getsock(channel, sockets, 1);
    ares_process_fd(channel, sockets[0], ARES_SOCKET_BAD);
}

static void found(void *context, int status, int timeouts, struct hostent *host)
{
    (void)context;
    (void)timeouts;
    is_found = status == ARES_SUCCESS && host != NULL;
}

/* The last use of c-ares by the program, whose cleanup must not be that of uvzk's. */
static void look_up_and_clean_up(void)
{
    ares_socket_t sockets[1];

    is_found = false;
    assert_int_equal(ares_library_init(ARES_LIB_INIT_ALL), ARES_SUCCESS);
    assert_int_equal(ares_init(&channel), ARES_SUCCESS);
    assert_int_equal(ares_set_servers_ports_csv(channel, names.servers), ARES_SUCCESS);
    ares_gethostbyname(channel, "own.test", AF_INET, found, NULL);
    assert_true((ares_getsock(channel, sockets, 1) & 1) != 0);
    assert_int_equal(uv_poll_init(world.loop, &answers, sockets[0]), 0);
    assert_int_equal(uv_poll_start(&answers, UV_READABLE, readable), 0);
    assert_true(run_until_set(world.loop, &is_found));
    uv_close((uv_handle_t *)&answers, NULL);
    ares_destroy(channel);
    ares_library_cleanup();
}

/* ------------------------------------------------------------------- the program's pool */

static sem_t free_again;
static uv_work_t works[POOL];
static int worked;

static void keep_busy(uv_work_t *work)
{
    (void)work;
    while (sem_wait(&free_again) != 0) {
    }
}

static void worked_off(uv_work_t *work, int status)
{
    (void)work;
    assert_int_equal(status, 0);
    worked++;
}

static void keep_pool_busy(void)
{
    worked = 0;
    assert_int_equal(sem_init(&free_again, 0, 0), 0);
    for (int i = 0; i < POOL; i++) {
        assert_int_equal(uv_queue_work(world.loop, &works[i], keep_busy, worked_off), 0);
    }
}

static void free_pool(void)
{
    assert_int_equal(worked, 0);
    for (int i = 0; i < POOL; i++) {
        (void)sem_post(&free_again);
    }
    assert_true(world_await_count(&world, &worked, POOL, PATIENCE_MS));
    sem_destroy(&free_again);
}

/* ---------------------------------------------------------------- the program's signals */

static atomic_int ticks; /* a pending signal may come to any thread */
static uv_signal_t user_signal;
static int user_signals;
static struct sigaction before[SIGNALS];

static void tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
}

static void signaled(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    user_signals++;
}

/* Without SA_RESTART, so that system calls are interrupted. */
static void interrupt_system_calls(suseconds_t us)
{
    const struct sigaction action = {.sa_handler = tick};
    const struct itimerval timer = {{0, us}, {0, us}};

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Returns true if signals may come to the thread of which /proc has this directory. */
static bool takes_signals(const char *task)
{
    unsigned long long blocked = 0;
    char path[300], line[256];

    snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "SigBlk: %llx", &blocked);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return file != NULL && (blocked >> (SIGALRM - 1) & 1) == 0;
}

static int threads_that_take_signals(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int count = 0;

    assert_non_null(tasks);
    while ((task = readdir(tasks)) != NULL) {
        count += task->d_name[0] != '.' && takes_signals(task->d_name);
    }
    (void)closedir(tasks);
    return count;
}

static void begin_signals(void)
{
    atomic_store(&ticks, 0);
    user_signals = 0;
    assert_int_equal(uv_signal_init(world.loop, &user_signal), 0);
    assert_int_equal(uv_signal_start(&user_signal, signaled, SIGUSR1), 0);
    interrupt_system_calls(TICK_US);
    for (int i = 1; i < SIGNALS; i++) {
        assert_int_equal(sigaction(i, NULL, &before[i]), 0);
    }
}

/* uvzk has changed none. */
static void end_signals(void)
{
    struct sigaction now;

    for (int i = 1; i < SIGNALS; i++) {
        assert_int_equal(sigaction(i, NULL, &now), 0);
        assert_true(now.sa_handler == before[i].sa_handler);
        assert_int_equal(now.sa_flags, before[i].sa_flags);
    }
    interrupt_system_calls(0);
    uv_close((uv_handle_t *)&user_signal, NULL);
    assert_true(atomic_load(&ticks) > 0);
    assert_true(user_signals > 0);
}

/* --------------------------------------------------------------------------- the tests */

static void begin(uvzk_transport_t transport)
{
    static char hosts[32];

    world_begin(&world, LOCK);
    world_use_proxy(&world);
    assert_int_equal(name_server_open(world.loop, &names), 0);
    snprintf(names.address, sizeof(names.address), "127.0.0.1");
    uvzk__resolver_ask(names.servers);
    snprintf(hosts, sizeof(hosts), "zk.test:%u", world.proxy.port);
    world.options.hosts = hosts;
    world.options.transport = transport;
}

static void end(void)
{
    process_end(&a);
    uvzk__resolver_ask(NULL);
    name_server_close(&names);
    world_end(&world);
}

static void take_turns(void)
{
    for (int i = 0; i < TURNS; i++) {
        process_take_turn(&a);
        assert_int_equal(raise(SIGUSR1), 0);
    }
}

static void goes_on_beside(uvzk_transport_t transport)
{
    begin(transport);
    begin_signals();
    keep_pool_busy();
    look_up_and_clean_up();
    int threads = threads_that_take_signals();
    process_begin(&a, &world, "a", NULL);
    take_turns();
    assert_int_equal(threads_that_take_signals(), threads);
    proxy_cut(&world.proxy);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    look_up_and_clean_up();
    proxy_refuse(&world.proxy);
    assert_true(world_await_count(&world, &a.suspended, 2, PATIENCE_MS));
    proxy_pass(&world.proxy);
    assert_true(world_await_count(&world, &a.reconnected, 2, PATIENCE_MS));
    take_turns();
    free_pool();
    process_close(&a);
    assert_true(world_await(&world, &a.closed, PATIENCE_MS));
    end_signals();
    end();
}

static void test_native_goes_on_beside_its_program(void **state)
{
    (void)state;
    goes_on_beside(UVZK_TRANSPORT_NATIVE);
}

static void test_c_client_goes_on_beside_its_program(void **state)
{
    (void)state;
    goes_on_beside(UVZK_TRANSPORT_C_CLIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_goes_on_beside_its_program),
        cmocka_unit_test(test_c_client_goes_on_beside_its_program),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
