/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `uvzk serve`. serve.c calls daemon_run. */
#include "serve/daemon.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utlist.h>

#include "base/machine.h"
#include "diagnostics.h"
#include "event_loop.h"
#include "exit_code.h"
#include "job_signals.h"
#include "output.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"
#include "serve/served_listing.h"
#include "serve/served_memory.h"
#include "serve/served_multilock.h"
#include "serve/served_object.h"
#include "serve/served_status.h"
#include "serve/served_wait.h"
#include "serve/served_watch.h"
#include "terminal.h"

#define BACKLOG 4096
/* Descriptors besides those of the connections. */
#define OTHER_DESCRIPTORS (64U + METRICS_CONNECTIONS_MAX)
/* How often the daemon checks the socket file. */
#define SOCKET_FILE_MS 1000U
/* How long the daemon's end waits for answers of the servers when no hold is left. */
#define LAST_ANSWERS_MS 1000U

static const struct uvzk__state table[] = {
    UVZK__STATE(DAEMON_, SERVING, ENDING),
    UVZK__STATE(DAEMON_, ENDING, CLOSING),
    UVZK__STATE(DAEMON_, CLOSING, DONE),
    UVZK__FINAL(DAEMON_, DONE),
};

/* No connection outlives the session. */
static bool invariant_holds(const void *object)
{
    const struct daemon *daemon = object;

    return daemon->state != DAEMON_DONE || daemon->connections == NULL;
}

const struct uvzk__machine daemon_machine =
    UVZK__MACHINE("the daemon", table, struct daemon, state, invariant_holds);

bool daemon_is_ending(const struct daemon *daemon)
{
    return daemon->state != DAEMON_SERVING;
}

/* -------------------------------------------------------------------------- the end */

static void on_handle_closed(uv_handle_t *handle)
{
    struct daemon *daemon = handle->loop->data;

    if (--daemon->open_handles == 0) {
        uvzk__machine_move(&daemon_machine, daemon, DAEMON_DONE);
    }
}

static void close_handle(struct daemon *daemon, uv_handle_t *handle)
{
    daemon->open_handles++;
    uv_close(handle, on_handle_closed);
}

/* No hold is left. Only listings and watches end with the connections now. */
static void close_all(struct daemon *daemon)
{
    struct served_connection *connection, *next;

    uvzk__machine_move(&daemon_machine, daemon, DAEMON_CLOSING);
    DL_FOREACH_SAFE(daemon->connections, connection, next)
    {
        served_connection_cut(connection, SERVED_EENDING, SERVED_ENDING_TEXT);
    }
    metrics_listener_close(&daemon->metrics);
    parent_process_close(&daemon->parent);
    validity_file_close(&daemon->validity);
    for (size_t i = 0; i < daemon->signal_count; i++) {
        close_handle(daemon, (uv_handle_t *)&daemon->signals[i]);
    }
    close_handle(daemon, (uv_handle_t *)&daemon->checks);
    close_handle(daemon, (uv_handle_t *)&daemon->answers);
    close_handle(daemon, (uv_handle_t *)&daemon->socket_file);
    close_handle(daemon, (uv_handle_t *)&daemon->last_answers);
    close_handle(daemon, (uv_handle_t *)&daemon->expiring.timer);
    daemon->open_handles++; /* the connect timer */
    connection_close(&daemon->zookeeper, on_handle_closed);
}

static bool has_pending(const struct daemon *daemon)
{
    const struct served_connection *connection;

    DL_FOREACH(daemon->connections, connection)
    {
        if (connection->pending > 0) {
            return true;
        }
    }
    return false;
}

static void on_late(uv_timer_t *last_answers)
{
    close_all(last_answers->loop->data);
}

/* Runs before the loop waits. Requests that were read are answered before the connections
 * end, a release among them: but not if the servers are silent. */
static void on_check(uv_prepare_t *checks)
{
    struct daemon *daemon = checks->loop->data;

    if (daemon->state != DAEMON_ENDING || daemon->hold_count > 0) {
        return;
    }
    if (!has_pending(daemon)) {
        close_all(daemon);
    } else if (!uv_is_active((uv_handle_t *)&daemon->last_answers)) {
        uv_timer_start(&daemon->last_answers, on_late, LAST_ANSWERS_MS, 0);
    }
}

static void end(struct daemon *daemon, int exit_code)
{
    struct served_connection *connection, *next;

    if (daemon->state != DAEMON_SERVING) {
        return;
    }
    uvzk__machine_move(&daemon_machine, daemon, DAEMON_ENDING);
    daemon->exit_code = exit_code;
    /* The daemon may be about to create it again. */
    if (!uv_is_closing((uv_handle_t *)&daemon->socket)) {
        uv_close((uv_handle_t *)&daemon->socket, NULL);
    }
    uv_timer_stop(&daemon->socket_file);
    listener_close(&daemon->listener);
    DL_FOREACH_SAFE(daemon->connections, connection, next)
    {
        served_holds_expire(connection);
        served_listings_expire(connection);
        served_watches_expire(connection);
        served_objects_expire(connection);
        served_waits_expire(connection);
    }
    uv_prepare_start(&daemon->checks, on_check);
}

void daemon_connection_ended(struct daemon *daemon)
{
    if (parent_process_is_served(&daemon->options->parent)) {
        end(daemon, EX_OK);
    }
}

/* A process that it has forked may still have the connection open, but works under none of
 * its locks. */
static void on_parent_ended(struct parent_process *parent)
{
    struct daemon *daemon = parent->poll.loop->data;
    struct served_connection *connection, *next;

    DL_FOREACH_SAFE(daemon->connections, connection, next)
    {
        served_connection_end(connection);
    }
    expiring_holds_end(&daemon->expiring);
}

void daemon_fail(struct daemon *daemon, int status)
{
    if (daemon->state == DAEMON_SERVING) {
        output_report("%s", uvzk_strerror(status));
        end(daemon, exit_code_of(status));
    }
}

/* The second signal ends the process at once. The servers free the locks when the session
 * ends, which is later than every validity that a program was told. */
static void on_signal(uv_signal_t *handle, int signal_number)
{
    struct daemon *daemon = handle->loop->data;

    if (daemon->state != DAEMON_SERVING) {
        _exit(128 + signal_number);
    }
    end(daemon, EX_OK);
}

/* ------------------------------------------------------------------------- the begin */

static void on_connection(uv_stream_t *socket, int status)
{
    if (status == 0) {
        served_connection_accept(socket->loop->data, socket);
    }
}

/* connection.c has printed the reason. */
static void on_connected(struct connection *zookeeper, int status)
{
    if (status < 0) {
        end(zookeeper->data, exit_code_of(status));
    }
}

static void on_each_connection(struct connection *zookeeper)
{
    served_waits_end(zookeeper->data);
}

static void raise_descriptor_limit(const struct daemon_options *options)
{
    struct rlimit limit;
    rlim_t wanted = options->max_connections + OTHER_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted) {
        return;
    }
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted) {
        output_report("only %lu descriptors can be opened, fewer than connections",
                      (unsigned long)limit.rlim_cur);
    }
}

static int begin_socket(struct daemon *daemon)
{
    uv_pipe_init(&daemon->loop, &daemon->socket, 0);
    int failed = listener_open(&daemon->listener);
    if (failed != EX_OK) {
        return failed;
    }
    int status = uv_pipe_open(&daemon->socket, daemon->listener.fd);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)&daemon->socket, BACKLOG, on_connection);
    }
    if (status < 0) {
        output_report("cannot listen: %s", uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

static int begin_parent(struct daemon *daemon)
{
    uv_pipe_init(&daemon->loop, &daemon->socket, 0); /* for end(), which closes it */
    int failed = parent_process_begin(&daemon->parent, &daemon->loop,
                                      &daemon->options->parent, on_parent_ended);
    if (failed != EX_OK) {
        return failed;
    }
    validity_file_begin(daemon);
    int status = served_connection_open(daemon);
    if (status < 0) {
        output_report("the connection to the parent: %s", uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

/* ------------------------------------------------------------------ the socket file */

static void on_socket_file(uv_fs_t *);

/* Each check compares the file with the one that was made. uv_fs_poll would compare it
 * with the first file that it finds, which may be another one by then. */
static void look_at_socket_file(uv_timer_t *timer)
{
    struct daemon *daemon = timer->loop->data;

    if (!daemon->looking) {
        daemon->looking = uv_fs_lstat(timer->loop, &daemon->look, daemon->listener.path,
                                      on_socket_file) == 0;
    }
}

/* The first look, at once, also starts the threads of libuv's pool before the daemon
 * reports that it serves. ThreadSanitizer loses a signal that a thread gets while it
 * begins. */
static void watch_socket_file(struct daemon *daemon)
{
    if (daemon->listener.path[0] != '\0') { /* else an abstract address was passed in */
        look_at_socket_file(&daemon->socket_file);
        (void)uv_timer_start(&daemon->socket_file, look_at_socket_file, SOCKET_FILE_MS,
                             SOCKET_FILE_MS);
    }
}

/* The old socket is closed by now, so it is not mistaken for a socket of another
 * process. */
static void on_socket_closed(uv_handle_t *handle)
{
    struct daemon *daemon = handle->loop->data;

    if (daemon->state != DAEMON_SERVING) {
        return;
    }
    int failed = begin_socket(daemon);
    if (failed != EX_OK) {
        end(daemon, failed);
        return;
    }
    watch_socket_file(daemon);
}

/* The programs' holds do not depend on the file, but no program can find the daemon
 * without it. If the file's place is taken or gone, the daemon ends: begin_socket has
 * printed why. */
static void on_socket_file(uv_fs_t *look)
{
    struct daemon *daemon = look->loop->data;
    uv_handle_t *socket = (uv_handle_t *)&daemon->socket;
    bool stands =
        look->result == 0 &&
        listener_is_file(&daemon->listener, look->statbuf.st_dev, look->statbuf.st_ino);

    uv_fs_req_cleanup(look);
    daemon->looking = false;
    if (stands || daemon->state != DAEMON_SERVING || uv_is_closing(socket) ||
        listener_has_file(&daemon->listener)) {
        return;
    }
    uv_timer_stop(&daemon->socket_file);
    if (!daemon->listener.made) {
        output_report("%s was removed or replaced: restart the unit of the socket",
                      daemon->listener.path);
        return;
    }
    output_report("%s was removed or replaced: creating it again", daemon->listener.path);
    listener_close(&daemon->listener);
    uv_close(socket, on_socket_closed);
}

static int take_signal(struct daemon *daemon, int signal_number)
{
    uv_signal_t *handle = &daemon->signals[daemon->signal_count];
    int status = uv_signal_init(&daemon->loop, handle);

    if (status == 0) {
        daemon->signal_count++;
        status = uv_signal_start(handle, on_signal, signal_number);
    }
    return status;
}

/* They may be sent to the parent and its children together, and the parent goes on under its
 * locks until it has ended. The daemon hears of that. */
static void leave_signals_to_parent(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

/* A signal that ended the process would cost each program its lock, and the next one a session
 * timeout. So signals that end programs end the daemon as SIGTERM does, and signals that
 * ask a daemon for something that it does not support are ignored: a hang-up without a
 * terminal asks it to read its configuration again. */
static int begin_signals(struct daemon *daemon)
{
    static const int to_end[DAEMON_SIGNALS] = {SIGTERM, SIGINT, SIGQUIT, SIGALRM, SIGHUP};
    static const int ignored[] = {SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2};
    bool has_parent = parent_process_is_served(&daemon->options->parent);
    int status = 0;

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
    if (has_parent || !terminal_exists()) {
        signal(SIGHUP, SIG_IGN);
    }
    if (has_parent) {
        leave_signals_to_parent();
    }
    for (size_t i = 0; status == 0 && i < DAEMON_SIGNALS; i++) {
        /* A shell ignores SIGINT for a daemon in the background. */
        bool always = !has_parent && (to_end[i] == SIGTERM || to_end[i] == SIGINT);
        if (always || !job_signals_is_ignored(to_end[i])) {
            status = take_signal(daemon, to_end[i]);
        }
    }
    if (status < 0) {
        output_report("cannot catch signals: %s", uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

/* Returns EX_OK or an exit code. After a failure the process must exit. */
static int begin_loop(struct daemon *daemon)
{
    int failed = event_loop_begin(&daemon->loop);
    if (failed != EX_OK) {
        return failed;
    }
    daemon->loop.data = daemon;
    uv_prepare_init(&daemon->loop, &daemon->checks);
    uv_idle_init(&daemon->loop, &daemon->answers);
    uv_timer_init(&daemon->loop, &daemon->socket_file);
    uv_timer_init(&daemon->loop, &daemon->last_answers);
    expiring_holds_init(&daemon->expiring, &daemon->loop);
    failed = begin_signals(daemon);
    return failed == EX_OK && diagnostics_begin() < 0 ? EX_OSERR : failed;
}

/* The client counts from its begin, whether or not somebody asks. */
static int begin_metrics(struct daemon *daemon)
{
    int status = uvzk_client_start_metrics(&daemon->zookeeper.client);

    if (status < 0) {
        output_report("no metrics: %s", uvzk_strerror(status));
        return exit_code_of(status);
    }
    return metrics_listener_open(&daemon->metrics, daemon);
}

/* Returns what status shows of the daemon's contenders. The text is static. */
static const char *node_data(void)
{
    static char data[256];
    char host[128] = "?";

    gethostname(host, sizeof(host) - 1);
    snprintf(data, sizeof(data), "%s pid %ld: uvzk serve", host, (long)getpid());
    return data;
}

static int begin_service(struct daemon *daemon)
{
    const char *path = daemon->options->listener.path;
    bool has_parent = parent_process_is_served(&daemon->options->parent);
    int failed = has_parent ? begin_parent(daemon) : begin_socket(daemon);

    if (failed == EX_OK) {
        failed = begin_metrics(daemon);
    }
    if (failed == EX_OK && has_parent) {
        output_report("serving the parent, process %ld", (long)daemon->parent.pid);
    } else if (failed == EX_OK) {
        watch_socket_file(daemon);
        output_report("serving %s", path == NULL ? "LISTEN_FDS" : path);
    }
    return failed;
}

int daemon_run(const struct daemon_options *options)
{
    static struct daemon daemon; /* zeroed; libuv keeps pointers to its handles */

    daemon.options = options;
    if (parent_process_is_served(&options->parent)) {
        int wrong = parent_process_open_streams(&daemon.parent, &options->parent);
        if (wrong != EX_OK) {
            return wrong;
        }
    }
    if (!served_memory_begin(options->max_line)) {
        output_report("%s", uvzk_strerror(UV_ENOMEM));
        return EX_OSERR;
    }
    listener_init(&daemon.listener, &options->listener);
    raise_descriptor_limit(options);
    int failed = begin_loop(&daemon);
    if (failed != EX_OK) {
        return failed;
    }
    daemon.zookeeper.data = &daemon;
    daemon.zookeeper.connected = on_each_connection;
    daemon.locks.client = &daemon.zookeeper.client;
    failed = connection_open(&daemon.zookeeper, &daemon.loop, &options->connection,
                             node_data(), on_connected);
    if (failed == EX_OK) {
        failed = begin_service(&daemon);
    } else {
        uv_pipe_init(&daemon.loop, &daemon.socket, 0);
    }
    if (failed != EX_OK) {
        end(&daemon, failed);
    }
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon.loop);
    served_statuses_free(&daemon);
    served_multilocks_free(&daemon.locks);
    served_locks_free(&daemon.locks);
    diagnostics_end();
    return daemon.exit_code;
}
