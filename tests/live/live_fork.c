/* SPDX-License-Identifier: Apache-2.0 */
/* live_fork [CONFIG HOSTS TLS]: children that fork() has made of a process with open clients.
 * What a child does with its copy of a client reaches no server: sessions, holds and places
 * stay the parent's. With arguments the server also has the lines of the file CONFIG, and
 * the clients go to HOSTS over TLS, which the native transport alone has (tls_fork). */
#include "world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK "/fork"
#define OWN_LOCK "/fork-own"
#define SESSION_MS 6000

static struct world world;
static struct process a, b;
static struct hold held, waits;
static const char *tls_hosts, *tls; /* NULL: plain text */

/* a holds, b waits. */
static void begin(uvzk_transport_t transport)
{
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = SESSION_MS;
    world.options.transport = transport;
    world.options.hosts = tls == NULL ? world.options.hosts : tls_hosts;
    world.options.tls = tls;
    process_begin(&a, &world, "a", NULL);
    hold_take(&held, &a);
    process_begin(&b, &world, "b", NULL);
    hold_begin(&waits, &b, UVZK_WAIT_FOREVER);
    hold_await_queued(&waits);
}

static void end(void)
{
    hold_give_back(&held);
    hold_acquire_release(&waits, PATIENCE_MS);
    process_end(&a);
    process_end(&b);
    world_end(&world);
}

/* ----------------------------------------------------------------------------- a child */

/* Instead of the C client's: a child must not call it, as its threads are the parent's. */
static pid_t parent;
static int calls_in_a_child;
static bool uses_its_own; /* a client of the child's */

static bool is_parents(void)
{
    bool is = getpid() == parent || uses_its_own;

    calls_in_a_child += !is;
    return is;
}

#define ORIGINAL(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

int zookeeper_close(zhandle_t *zh)
{
    return is_parents() ? ORIGINAL(zookeeper_close)(zh) : ZOK;
}

int zoo_adelete(zhandle_t *zh, const char *path, int version,
                void_completion_t completion, const void *data)
{
    return is_parents() ? ORIGINAL(zoo_adelete)(zh, path, version, completion, data)
                        : ZOK;
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *data)
{
    return is_parents() ? ORIGINAL(zoo_amulti)(zh, count, ops, results, completion, data)
                        : ZOK;
}

static bool closed;

static void client_closed(uvzk_client_t *client)
{
    (void)client;
    closed = true;
}

/* In the child, whose loop has handles of its own. */
static int run_until_closed(uv_loop_t *loop)
{
    uint64_t until = uvzk_now() + PATIENCE_MS;

    while (!closed && uvzk_now() < until) {
        run_once(loop);
    }
    return !closed ? 1 : calls_in_a_child > 0 ? 4 : 0;
}

static void ignore(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
}

static int close_client(void)
{
    if (uv_loop_fork(world.loop) != 0) {
        return 2;
    }
    return uvzk_client_close(&a.client, client_closed) != 0
               ? 3
               : run_until_closed(world.loop);
}

/* ... although that would give the lock to b. */
static int release_and_close(void)
{
    if (uv_loop_fork(world.loop) != 0) {
        return 2;
    }
    (void)uvzk_hold_release(&held.request, ignore);
    return uvzk_client_close(&a.client, client_closed) != 0
               ? 3
               : run_until_closed(world.loop);
}

/* For longer than a proof, so that the child's copies would send one, and read answers. */
static int run_on(void)
{
    if (uv_loop_fork(world.loop) != 0) {
        return 2;
    }
    run_for(world.loop, SESSION_MS / 3);
    return 0;
}

/* What the child itself opens works there. */
static struct {
    uv_loop_t loop;
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    int status; /* of the acquire */
} own;

static void own_acquired(uvzk_hold_t *hold, int status)
{
    own.status = status;
    if (status == 0) {
        (void)uvzk_hold_release(hold, ignore);
    }
    (void)uvzk_client_close(&own.client, client_closed);
}

static int use_its_own(void)
{
    uvzk_client_options_t options;

    uses_its_own = true;
    uvzk_client_options_init(&options);
    options.hosts = world.options.hosts;
    options.transport = world.options.transport;
    options.tls = world.options.tls;
    if (uv_loop_init(&own.loop) != 0 ||
        uvzk_client_init(&own.loop, &own.client, &options) != 0 ||
        uvzk_client_start(&own.client) != 0 ||
        uvzk_mutex_init(&own.client, &own.mutex, OWN_LOCK) != 0 ||
        uvzk_lock_acquire(&own.mutex, &own.hold, NULL, own_acquired, ignore) != 0) {
        return 2;
    }
    int status = run_until_closed(&own.loop);
    return own.status != 0 ? 3 : status;
}

static int execute(void)
{
    (void)execlp("true", "true", (char *)NULL);
    return 2;
}

struct child {
    pid_t pid;
    int status;
};

static bool has_ended(void *context)
{
    struct child *child = context;

    return waitpid(child->pid, &child->status, WNOHANG) == child->pid;
}

/* The parent's loop runs while the child does this. */
static void run_child(int (*work)(void))
{
    struct child child = {fork(), 0};

    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        _exit(work());
    }
    assert_true(world_await_that(&world, has_ended, &child));
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), 0);
}

static void assert_nothing_has_happened(int64_t session)
{
    hold_verify(&held, PATIENCE_MS, 0);
    assert_true(uvzk_hold_is_valid(&held.request));
    assert_int_equal(held.lost, 0);
    assert_int_equal(waits.answered, 0);
    assert_int_equal(a.suspended, 0);
    assert_int_equal(b.suspended, 0);
    assert_true(uvzk_client_session_id(&a.client) == session);
}

static void a_child_changes_nothing(uvzk_transport_t transport, int (*work)(void))
{
    begin(transport);
    int64_t session = uvzk_client_session_id(&a.client);
    run_child(work);
    assert_nothing_has_happened(session);
    run_child(work);
    assert_nothing_has_happened(session);
    end();
}

static void test_native_closed_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_NATIVE, close_client);
}

/* ThreadSanitizer ends a child of fork() that starts a thread, because the parent has several
 * ("starting new threads after multi-threaded fork is not supported"). A child starts one
 * when it closes a client of the C client's transport, and when it opens one. */
#ifdef __SANITIZE_THREAD__
#define NEEDS_THREADS_IN_A_CHILD() skip()
#else
#define NEEDS_THREADS_IN_A_CHILD() ((void)0)
#endif

static void test_c_client_closed_in_a_child(void **state)
{
    (void)state;
    NEEDS_THREADS_IN_A_CHILD();
    a_child_changes_nothing(UVZK_TRANSPORT_C_CLIENT, close_client);
}

static void test_native_released_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_NATIVE, release_and_close);
}

static void test_c_client_released_in_a_child(void **state)
{
    (void)state;
    NEEDS_THREADS_IN_A_CHILD();
    a_child_changes_nothing(UVZK_TRANSPORT_C_CLIENT, release_and_close);
}

static void test_native_opened_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_NATIVE, use_its_own);
}

static void test_c_client_opened_in_a_child(void **state)
{
    (void)state;
    NEEDS_THREADS_IN_A_CHILD();
    a_child_changes_nothing(UVZK_TRANSPORT_C_CLIENT, use_its_own);
}

static void test_native_left_open_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_NATIVE, run_on);
}

static void test_c_client_left_open_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_C_CLIENT, run_on);
}

/* -------------------------------------------------------------------------------- exec */

static void test_native_executed_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_NATIVE, execute);
}

static void test_c_client_executed_in_a_child(void **state)
{
    (void)state;
    a_child_changes_nothing(UVZK_TRANSPORT_C_CLIENT, execute);
}

/* How many descriptors a program that is executed now would have. */
static int inherited(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    return count;
}

static int inherited_of(uvzk_transport_t transport)
{
    world_begin(&world, LOCK);
    world.options.transport = transport;
    int before = inherited();
    process_begin(&a, &world, "a", NULL);
    hold_take(&held, &a);
    int more = inherited() - before;
    hold_give_back(&held);
    process_end(&a);
    world_end(&world);
    return more;
}

static void test_native_leaves_programs_nothing(void **state)
{
    (void)state;
    assert_int_equal(inherited_of(UVZK_TRANSPORT_NATIVE), 0);
}

/* Its socket and its pipe, which have no close-on-exec: docs/guide/fork.md. */
static void test_c_client_leaves_programs_three_descriptors(void **state)
{
    (void)state;
    assert_int_equal(inherited_of(UVZK_TRANSPORT_C_CLIENT), 3);
}

#define SERVER_DID_NOT_COME_UP 125

static int run_over_tls(char **arguments)
{
    const struct server_options options = {.config = arguments[1]};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_closed_in_a_child),
        cmocka_unit_test(test_native_released_in_a_child),
        cmocka_unit_test(test_native_left_open_in_a_child),
        cmocka_unit_test(test_native_opened_in_a_child),
        cmocka_unit_test(test_native_executed_in_a_child),
    };

    tls_hosts = arguments[2];
    tls = arguments[3];
    if (servers_start_one_with(&options) != 0) {
        return SERVER_DID_NOT_COME_UP;
    }
    return cmocka_run_group_tests(tests, NULL, servers_stop);
}

static int run_in_plain_text(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_closed_in_a_child),
        cmocka_unit_test(test_native_released_in_a_child),
        cmocka_unit_test(test_native_left_open_in_a_child),
        cmocka_unit_test(test_c_client_closed_in_a_child),
        cmocka_unit_test(test_c_client_released_in_a_child),
        cmocka_unit_test(test_c_client_left_open_in_a_child),
        cmocka_unit_test(test_native_opened_in_a_child),
        cmocka_unit_test(test_c_client_opened_in_a_child),
        cmocka_unit_test(test_native_executed_in_a_child),
        cmocka_unit_test(test_c_client_executed_in_a_child),
        cmocka_unit_test(test_native_leaves_programs_nothing),
        cmocka_unit_test(test_c_client_leaves_programs_three_descriptors),
    };

    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}

int main(int argc, char **argv)
{
    parent = getpid();
    return argc == 4 ? run_over_tls(argv) : run_in_plain_text();
}
