/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tools of the live tests, with real servers and processes: the other tests
 * rely on what the tools report. The argument is the path of the program
 * with_zookeeper. */
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fenced_resource.h"
#include "journal.h"
#include "peer.h"
#include "proxy.h"
#include "raw.h"
#include "run_loop.h"
#include "scratch.h"
#include "server.h"
#include "stall.h"

static const char *with_zookeeper;
static struct server *server;

static int start_server(void **state)
{
    (void)state;
    server = server_start(NULL);
    return server == NULL ? -1 : 0;
}

static int stop_server(void **state)
{
    (void)state;
    server_stop(server);
    return 0;
}

/* ------------------------------------------------------------------ server */

static void ignore_stat(int status, const struct Stat *stat, const void *context)
{
    (void)status;
    (void)stat;
    (void)context;
}

static void test_counts_watches_and_ephemerals(void **state)
{
    zhandle_t *zh = raw_open(server_hosts(server));
    struct Stat stat;
    char made[128], data[16];
    (void)state;
    assert_non_null(zh);
    assert_int_equal(server_watch_count(server), 0);
    assert_int_equal(server_ephemeral_count(server), 0);
    assert_int_equal(raw_children_count(zh, "/counts"), 0);
    assert_int_equal(raw_create(zh, "/counts"), ZOK);
    assert_int_equal(raw_contend(zh, "/counts", made, sizeof(made)), ZOK);
    assert_int_equal(raw_exists(zh, made, &stat), ZOK);
    assert_int_equal(raw_set(zh, made, "text"), ZOK);
    assert_int_equal(raw_get(zh, made, data, sizeof(data)), ZOK);
    assert_string_equal(data, "text");
    assert_int_equal(server_ephemeral_count(server), 1);
    assert_int_equal(raw_delete(zh, made), ZOK);
    assert_int_equal(raw_children_count(zh, "/counts"), 0);
    assert_int_equal(raw_creation_count(zh, "/counts"), 1);
    assert_int_equal(zoo_aexists(zh, "/counts", 1, ignore_stat, NULL), ZOK);
    /* The reply to this request comes after the watch is armed. */
    assert_int_equal(raw_exists(zh, "/counts", NULL), ZOK);
    assert_int_equal(server_watch_count(server), 1);
    assert_int_equal(raw_delete(zh, "/counts"), ZOK);
    assert_int_equal(server_watch_count(server), 0);
    raw_close(zh);
}

static void test_lists_contenders_in_queue_order(void **state)
{
    zhandle_t *zh = raw_open(server_hosts(server));
    struct raw_names names;
    char made[5][128];
    (void)state;
    assert_int_equal(raw_create(zh, "/queue"), ZOK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(raw_contend(zh, "/queue", made[i], sizeof(made[i])), ZOK);
    }
    assert_int_equal(raw_children(zh, "/queue", &names), ZOK);
    assert_int_equal(names.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(names.names[i], made[i] + strlen("/queue/"));
    }
    raw_names_free(&names);
    raw_close(zh);
}

static void test_restart_keeps_and_wipe_forgets(void **state)
{
    (void)state;
    zhandle_t *zh = raw_open(server_hosts(server));
    assert_int_equal(raw_create(zh, "/kept"), ZOK);
    raw_close(zh);
    assert_true(server_restart(server));
    zh = raw_open(server_hosts(server));
    assert_int_equal(raw_exists(zh, "/kept", NULL), ZOK);
    raw_close(zh);
    server_kill(server);
    assert_int_equal(server_watch_count(server), -1);
    server_wipe(server);
    assert_true(server_restart(server));
    zh = raw_open(server_hosts(server));
    assert_int_equal(raw_exists(zh, "/kept", NULL), ZNONODE);
    raw_close(zh);
}

/* ------------------------------------------------------------------- proxy */

/* A client behind the proxy. The C client's thread writes the atomic fields. */
struct caller {
    uv_loop_t loop;
    struct proxy proxy;
    zhandle_t *zh;
    atomic_int state;   /* of the latest session event */
    atomic_int replies; /* completions so far */
    atomic_int status;  /* of the latest completion */
};

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct caller *caller = context;
    (void)zh;
    (void)path;
    if (type == ZOO_SESSION_EVENT) {
        atomic_store(&caller->state, state);
    }
}

static void on_made(int status, const char *path, const void *context)
{
    union {
        const void *constant;
        struct caller *caller;
    } subject = {context};
    (void)path;
    atomic_store(&subject.caller->status, status);
    atomic_fetch_add(&subject.caller->replies, 1);
}

static bool is_connected(void *context)
{
    struct caller *caller = context;
    return atomic_load(&caller->state) == ZOO_CONNECTED_STATE;
}

static bool is_disconnected(void *context)
{
    return !is_connected(context);
}

static bool is_expired(void *context)
{
    struct caller *caller = context;
    return atomic_load(&caller->state) == ZOO_EXPIRED_SESSION_STATE;
}

static bool has_reply(void *context)
{
    struct caller *caller = context;
    return atomic_load(&caller->replies) > 0;
}

static void silence(const char *line)
{
    (void)line;
}

static void caller_open(struct caller *caller)
{
    memset(caller, 0, sizeof(*caller));
    uv_loop_init(&caller->loop);
    assert_int_equal(proxy_open(&caller->loop, &caller->proxy, server_port(server)), 0);
    caller->zh =
        zookeeper_init2(caller->proxy.hosts, on_event, 10000, NULL, caller, 0, silence);
    assert_non_null(caller->zh);
    assert_true(run_until(&caller->loop, is_connected, caller, PATIENCE_MS));
}

static void caller_make(struct caller *caller, const char *path, int mode)
{
    atomic_store(&caller->replies, 0);
    assert_int_equal(
        zoo_acreate(caller->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, on_made, caller),
        ZOK);
}

static void caller_close(struct caller *caller)
{
    proxy_close(&caller->proxy);
    zookeeper_close(caller->zh);
    assert_int_equal(run_down(&caller->loop), 0);
}

static void test_proxy_passes_holds_and_cuts(void **state)
{
    struct caller caller;
    zhandle_t *zh = raw_open(server_hosts(server));
    (void)state;
    caller_open(&caller);
    caller_make(&caller, "/passed", ZOO_PERSISTENT);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));
    assert_int_equal(atomic_load(&caller.status), ZOK);

    proxy_hold_requests(&caller.proxy);
    caller_make(&caller, "/held", ZOO_PERSISTENT);
    assert_false(run_until(&caller.loop, has_reply, &caller, 200));
    assert_int_equal(raw_exists(zh, "/held", NULL), ZNONODE);
    proxy_pass(&caller.proxy);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));
    assert_int_equal(atomic_load(&caller.status), ZOK);

    /* The server executes the create, but the reply never arrives. */
    proxy_hold_replies(&caller.proxy);
    caller_make(&caller, "/applied", ZOO_PERSISTENT);
    assert_false(run_until(&caller.loop, has_reply, &caller, 200));
    assert_int_equal(raw_exists(zh, "/applied", NULL), ZOK);
    proxy_refuse(&caller.proxy);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));
    assert_int_equal(atomic_load(&caller.status), ZCONNECTIONLOSS);
    assert_false(run_until(&caller.loop, is_connected, &caller, 200));
    proxy_pass(&caller.proxy);
    assert_true(run_until(&caller.loop, is_connected, &caller, PATIENCE_MS));
    caller_close(&caller);
    raw_close(zh);
}

static void test_proxy_drops_the_reply_to_a_contender(void **state)
{
    struct caller caller;
    zhandle_t *zh = raw_open(server_hosts(server));
    (void)state;
    assert_int_equal(raw_create(zh, "/drop"), ZOK);
    caller_open(&caller);
    proxy_drop_reply(&caller.proxy, false);
    caller_make(&caller, "/drop/other", ZOO_PERSISTENT);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));
    assert_int_equal(atomic_load(&caller.status), ZOK);
    caller_make(&caller, "/drop/contender-", ZOO_EPHEMERAL_SEQUENTIAL);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));
    assert_int_equal(atomic_load(&caller.status), ZCONNECTIONLOSS);
    assert_int_equal(caller.proxy.dropped, 1);
    assert_int_equal(raw_creation_count(zh, "/drop"), 2);
    assert_true(run_until(&caller.loop, is_connected, &caller, PATIENCE_MS));
    caller_close(&caller);
    raw_close(zh);
}

static void ignore_names(int status, const struct String_vector *names,
                         const void *context)
{
    (void)status;
    (void)names;
    (void)context;
}

/* While answers are held, the connection opens, but no reply arrives. A listing that is
 * lost closes its connection. */
static void test_proxy_withholds_answers_and_loses_a_listing(void **state)
{
    struct caller caller;
    zhandle_t *zh = raw_open(server_hosts(server));
    (void)state;
    caller_open(&caller);
    proxy_refuse(&caller.proxy);
    assert_true(run_until(&caller.loop, is_disconnected, &caller, PATIENCE_MS));
    proxy_pass(&caller.proxy);
    proxy_hold_answers(&caller.proxy);
    assert_true(run_until(&caller.loop, is_connected, &caller, PATIENCE_MS));
    caller_make(&caller, "/unheard", ZOO_PERSISTENT);
    assert_false(run_until(&caller.loop, has_reply, &caller, 200));
    assert_int_equal(caller.proxy.requests[PROXY_CREATE], 1);
    assert_int_equal(raw_exists(zh, "/unheard", NULL), ZOK);
    proxy_pass(&caller.proxy);
    assert_true(run_until(&caller.loop, has_reply, &caller, PATIENCE_MS));

    proxy_lose_listing(&caller.proxy);
    assert_int_equal(zoo_aget_children(caller.zh, "/", 0, ignore_names, NULL), ZOK);
    assert_true(
        run_until_count(&caller.loop, &caller.proxy.lost_listings, 1, PATIENCE_MS));
    assert_int_equal(caller.proxy.requests[PROXY_CHILDREN], 0);
    assert_true(run_until(&caller.loop, is_disconnected, &caller, PATIENCE_MS));
    proxy_pass(&caller.proxy);
    assert_true(run_until(&caller.loop, is_connected, &caller, PATIENCE_MS));
    caller_close(&caller);
    raw_close(zh);
}

static void test_proxy_knows_the_session_to_expire(void **state)
{
    struct caller caller;
    (void)state;
    caller_open(&caller);
    assert_int_equal(caller.proxy.session_id, zoo_client_id(caller.zh)->client_id);
    assert_int_equal(raw_expire_session(server_hosts(server), caller.proxy.session_id,
                                        caller.proxy.session_password),
                     0);
    assert_true(run_until(&caller.loop, is_expired, &caller, PATIENCE_MS));
    caller_close(&caller);
}

/* ---------------------------------------------------------- journal, fence */

/* Writes the text as a journal and checks it; one permit is checked as a mutex. */
static void check_text(const char *text, unsigned permits, struct journal_result *result)
{
    struct scratch scratch;
    char path[128];
    assert_true(scratch_make(&scratch));
    snprintf(path, sizeof(path), "%s/journal", scratch.path);
    int fd = journal_open(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    assert_true(permits == 1 ? journal_check(path, result)
                             : journal_check_permits(path, permits, result));
    scratch_remove(&scratch);
}

static void test_journal_finds_faults(void **state)
{
    struct journal_result result;
    (void)state;
    check_text("E a 1\nL a 1\nE b 2\nL b 2\nE b 3\nL b 3\n", 1, &result);
    assert_true(result.exclusive && result.tokens_grow);
    assert_int_equal(result.entries, 3);
    assert_int_equal(result.handovers, 1);
    check_text("E a 1\nE b 2\nL a 1\nL b 2\n", 1, &result);
    assert_false(result.exclusive);
    check_text("E a 1\nL b 1\n", 1, &result);
    assert_false(result.exclusive);
    check_text("E a 2\nL a 2\nE b 2\nL b 2\n", 1, &result);
    assert_true(result.exclusive);
    assert_false(result.tokens_grow);
    check_text("E a 2\nL a 2\nE j 0\nL j 0\nE a 3\nL a 3\n", 1, &result);
    assert_true(result.exclusive && result.tokens_grow);
}

static void test_journal_counts_permits(void **state)
{
    struct journal_result result;
    (void)state;
    check_text("E a 1 1\nE b 2 2\nL a 1 1\nE j 0 1\nL b 2 2\nL j 0 1\n", 3, &result);
    assert_true(result.exclusive && result.tokens_grow);
    assert_int_equal(result.peak, 2);
    assert_int_equal(result.handovers, 2);
    assert_int_equal(result.crossings, 2);
    assert_int_equal(result.inside, 0);
    check_text("E a 1 1\nE b 2 2\nE j 0 1\n", 3, &result);
    assert_false(result.exclusive);
    assert_int_equal(result.inside, 3);
    check_text("E a 1 2\nL a 1 3\n", 3, &result);
    assert_false(result.exclusive);
    check_text("E a 1 1\nE a 2 1\n", 3, &result);
    assert_false(result.exclusive);
    /* After a writer's downgrade readers may enter, but no writer. */
    check_text("E a 1 9\nL a 1 8\nE b 3 1\nL a 1 1\nL b 3 1\nE c 4 9\n", 9, &result);
    assert_true(result.exclusive && result.tokens_grow);
    check_text("E a 1 9\nL a 1 8\nE c 4 9\n", 9, &result);
    assert_false(result.exclusive);
    /* Readers may enter in any order among themselves, but not among writers. */
    check_text("E b 3 1\nE a 2 1\nL b 3 1\nL a 2 1\nE c 4 9\nL c 4 9\n", 9, &result);
    assert_true(result.exclusive && result.tokens_grow);
    check_text("E c 4 9\nL c 4 9\nE a 2 1\n", 9, &result);
    assert_false(result.tokens_grow);
    check_text("E a 3 1\nL a 3 1\nE c 2 9\n", 9, &result);
    assert_false(result.tokens_grow);
}

static void test_fence_refuses_old_tokens(void **state)
{
    struct scratch scratch;
    char path[128];
    (void)state;
    assert_true(scratch_make(&scratch));
    snprintf(path, sizeof(path), "%s/fence", scratch.path);
    assert_true(fenced_resource_accept(path, 5));
    assert_false(fenced_resource_accept(path, 5));
    assert_false(fenced_resource_accept(path, 4));
    assert_true(fenced_resource_accept(path, 6));
    scratch_remove(&scratch);
}

/* ----------------------------------------------------------------- scratch */

static bool others_sweep; /* another test begins before each flock() of this process */

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (others_sweep) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct scratch scratch;
            others_sweep = false;
            bool made = scratch_make(&scratch);
            scratch_remove(&scratch);
            _exit(made ? 0 : 1);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    return __real_flock(fd, operation);
}

static void test_scratch_is_not_removed_by_others(void **state)
{
    struct scratch scratch;
    (void)state;
    others_sweep = true;
    assert_true(scratch_make(&scratch));
    others_sweep = false;
    assert_int_equal(access(scratch.path, F_OK), 0);
    assert_true(scratch.lock >= 0);
    scratch_remove(&scratch);
}

/* ------------------------------------------------------------ with_zookeeper */

static char *writable(const char *text)
{
    union {
        const char *constant;
        char *text;
    } argument = {text};
    return argument.text;
}

static void test_with_zookeeper_runs_a_command(void **state)
{
    uv_loop_t loop;
    struct peer peer;
    char *arguments[] = {writable(with_zookeeper),
                         writable("--"),
                         writable("sh"),
                         writable("-c"),
                         writable("echo at {hosts}; exit 7"),
                         NULL};
    (void)state;
    uv_loop_init(&loop);
    assert_int_equal(peer_start(&loop, &peer, arguments), 0);
    assert_non_null(peer_expect(&peer, "at 127.0.0.1:"));
    assert_true(peer_wait(&peer));
    assert_int_equal(peer.exit_status, 7);
    peer_close(&peer);
    assert_int_equal(run_down(&loop), 0);
}

static bool is_gone(void *context)
{
    const int *pid = context;
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", *pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return true;
    }
    bool dead = fgets(line, sizeof(line), file) == NULL || strstr(line, ") Z") != NULL;
    fclose(file);
    return dead;
}

/* The command and its server end with with_zookeeper, whatever signal ends that. */
static void test_with_zookeeper_ends_everything(void **state)
{
    const int signals[] = {SIGTERM, SIGKILL};
    char *arguments[] = {writable(with_zookeeper),
                         writable("--"),
                         writable("sh"),
                         writable("-c"),
                         writable("cat /proc/$PPID/task/$PPID/children; echo; "
                                  "exec sleep 100"),
                         NULL};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uv_loop_t loop;
        struct peer peer;
        int server_pid, command_pid;
        uv_loop_init(&loop);
        assert_int_equal(peer_start(&loop, &peer, arguments), 0);
        const char *pids = peer_expect(&peer, "");
        assert_non_null(pids);
        assert_int_equal(sscanf(pids, "%d %d", &server_pid, &command_pid), 2);
        assert_false(is_gone(&server_pid));
        peer_signal(&peer, signals[i]);
        assert_true(peer_wait(&peer));
        assert_true(peer.exit_signal == SIGKILL || peer.exit_status == 128 + SIGTERM);
        assert_true(run_until(&loop, is_gone, &server_pid, PATIENCE_MS));
        assert_true(run_until(&loop, is_gone, &command_pid, PATIENCE_MS));
        peer_close(&peer);
        assert_int_equal(run_down(&loop), 0);
    }
}

/* ------------------------------------------------------------------ stalls */

#define STALL_MS 1000
#define QUIET_MS 100 /* time in which a wrong answer would arrive */

/* A child process that echoes bytes. */
struct other {
    pid_t pid;
    int hears[2], says[2];
};

static bool echoes(const struct other *other)
{
    char byte;
    return read(other->hears[0], &byte, 1) == 1 && write(other->says[1], &byte, 1) == 1;
}

static bool has_said(const struct other *other, int ms)
{
    struct pollfd said = {.fd = other->says[0], .events = POLLIN};
    char byte;
    return poll(&said, 1, ms) == 1 && read(other->says[0], &byte, 1) == 1;
}

static void tell(const struct other *other)
{
    assert_int_equal(write(other->hears[1], "x", 1), 1);
}

/* Forks a process with this name. It echoes one byte. Then it echoes further bytes; or,
 * if at_work, calls the kernel without a pause. */
static void other_begin(struct other *other, const char *name, bool at_work)
{
    int word = 0;
    assert_int_equal(pipe(other->hears) | pipe(other->says), 0);
    tell(other);
    other->pid = fork();
    if (other->pid != 0) {
        assert_true(has_said(other, PATIENCE_MS));
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    while (echoes(other)) {
        while (at_work) {
            syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
    }
    _exit(0);
}

static void other_end(struct other *other)
{
    kill(other->pid, SIGKILL);
    assert_int_equal(waitpid(other->pid, NULL, 0), other->pid);
    for (int end = 0; end < 2; end++) {
        close(other->hears[end]);
        close(other->says[end]);
    }
}

static void test_stall_stops_who_waits(void **state)
{
    struct other other;
    (void)state;
    other_begin(&other, "echo", false);
    assert_int_equal(stall_begin(other.pid, "nobody", STALL_MS), 0);
    pid_t stalled = stall_begin(other.pid, "echo", PATIENCE_MS);
    assert_int_equal(stalled, other.pid);
    tell(&other);
    assert_false(has_said(&other, QUIET_MS));
    stall_end(stalled);
    assert_true(has_said(&other, PATIENCE_MS));
    other_end(&other);
}

/* The thread is in a system call whenever it is looked at, but it does not wait. */
static void test_stall_stops_nobody_at_work(void **state)
{
    struct other other;
    (void)state;
    other_begin(&other, "worker", true);
    assert_int_equal(stall_begin(other.pid, "worker", STALL_MS), 0);
    other_end(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_watches_and_ephemerals),
        cmocka_unit_test(test_lists_contenders_in_queue_order),
        cmocka_unit_test(test_restart_keeps_and_wipe_forgets),
        cmocka_unit_test(test_proxy_passes_holds_and_cuts),
        cmocka_unit_test(test_proxy_drops_the_reply_to_a_contender),
        cmocka_unit_test(test_proxy_withholds_answers_and_loses_a_listing),
        cmocka_unit_test(test_proxy_knows_the_session_to_expire),
        cmocka_unit_test(test_journal_finds_faults),
        cmocka_unit_test(test_journal_counts_permits),
        cmocka_unit_test(test_fence_refuses_old_tokens),
        cmocka_unit_test(test_scratch_is_not_removed_by_others),
        cmocka_unit_test(test_with_zookeeper_runs_a_command),
        cmocka_unit_test(test_with_zookeeper_ends_everything),
        cmocka_unit_test(test_stall_stops_who_waits),
        cmocka_unit_test(test_stall_stops_nobody_at_work),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: kit_test WITH_ZOOKEEPER\n");
        return 2;
    }
    with_zookeeper = argv[1];
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
