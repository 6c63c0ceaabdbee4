/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of a program. The daemon's listener calls served_connection_accept, and the
 * daemon of a parent served_connection_open; served_operations.c carries out the lines. The
 * answers of one turn of the loop are written together at its end. libuv queues what the
 * kernel does not take then: max_unsent limits what is queued. */
#include "serve/served_connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <utlist.h>
#include <uvzk.h>

#include "output.h"
#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_atomic.h"
#include "serve/served_hold.h"
#include "serve/served_metrics.h"
#include "serve/served_object.h"
#include "serve/served_operations.h"
#include "serve/served_owner.h"
#include "serve/served_validity.h"
#include "serve/served_wait.h"
#include "serve/served_watch.h"

#define FIRST_CAPACITY 512U
/* Of answers: so many bytes are written at once, and so much memory is kept for the next ones. */
#define WRITE_SIZE 16384U
#define KEPT_CAPACITY (2 * WRITE_SIZE)

static void say_verbose(const struct served_connection *connection, const char *what,
                        const char *why)
{
    if (connection->daemon->options->connection.verbose) {
        output_report("process %ld %s%s", (long)connection->pid, what, why);
    }
}

/* ------------------------------------------------------------------------- sending */

struct sending {
    uv_write_t request;
    char bytes[];
};

static void on_sent(uv_write_t *request, int status)
{
    (void)status; /* the read side sees the end of the connection, too */
    free(request);
}

/* Returns false if there is no memory. */
static bool queue(struct served_connection *connection, const char *bytes, size_t length)
{
    struct sending *sending = malloc(sizeof(*sending) + length);

    if (sending == NULL) {
        return false;
    }
    memcpy(sending->bytes, bytes, length);
    uv_buf_t buffer = uv_buf_init(sending->bytes, (unsigned)length);
    if (uv_write(&sending->request, connection->output, &buffer, 1, on_sent) < 0) {
        free(sending);
        return false;
    }
    return true;
}

/* What the kernel takes at once needs no memory, and no turn of the loop. Returns false if
 * there is no memory for the rest. */
static bool flush(struct served_connection *connection)
{
    size_t length = connection->unsent_length;
    uv_buf_t buffer = uv_buf_init(connection->unsent, (unsigned)length);

    if (length == 0) {
        return true;
    }
    int taken = uv_try_write(connection->output, &buffer, 1);
    size_t sent = taken < 0 ? 0 : (size_t)taken;
    bool done =
        sent == length || queue(connection, connection->unsent + sent, length - sent);

    connection->unsent_length = 0;
    if (connection->unsent_capacity > KEPT_CAPACITY) {
        free(connection->unsent);
        connection->unsent = NULL;
        connection->unsent_capacity = 0;
    }
    DL_DELETE2(connection->daemon->unsent, connection, unsent_prev, unsent_next);
    return done;
}

/* Returns false if there is no memory. */
static bool add(struct served_connection *connection, const char *line, size_t length)
{
    size_t wanted = connection->unsent_length + length;
    size_t capacity =
        connection->unsent_capacity == 0 ? FIRST_CAPACITY : connection->unsent_capacity;

    while (capacity < wanted) {
        capacity *= 2;
    }
    if (capacity > connection->unsent_capacity) {
        char *bytes = realloc(connection->unsent, capacity);
        if (bytes == NULL) {
            return false;
        }
        connection->unsent = bytes;
        connection->unsent_capacity = capacity;
    }
    if (connection->unsent_length == 0) {
        DL_APPEND2(connection->daemon->unsent, connection, unsent_prev, unsent_next);
    }
    memcpy(connection->unsent + connection->unsent_length, line, length);
    connection->unsent_length = wanted;
    return true;
}

/* ------------------------------------------------------------------------- the end */

static void leave(struct served_connection *connection)
{
    if (--connection->users == 0) {
        served_owners_free(&connection->owners);
        line_buffer_free(&connection->lines);
        free(connection->unsent);
        free(connection);
    }
}

static void on_closed(uv_handle_t *handle)
{
    leave(handle->data);
}

/* believed: the program may continue as if it had its locks. */
static void end(struct served_connection *connection, bool believed)
{
    if (connection->ended) {
        return;
    }
    connection->ended = true;
    flush(connection);
    DL_DELETE(connection->daemon->connections, connection);
    connection->daemon->connection_count--;
    served_holds_end(connection, believed);
    served_watches_end(connection);
    served_objects_end(connection);
    served_atomics_end(connection);
    served_waits_expire(connection);
    if (connection->output != (uv_stream_t *)&connection->pipe) {
        connection->users++;
        uv_close((uv_handle_t *)connection->output, on_closed);
    }
    uv_close((uv_handle_t *)&connection->pipe, on_closed);
    daemon_connection_ended(connection->daemon);
}

void served_connection_end(struct served_connection *connection)
{
    end(connection, false);
}

/* Writes as much as the kernel takes now: nothing waits for the program. */
static void write_now(struct served_connection *connection, json_t *object)
{
    size_t length = 0;
    char *line = served_answer_line(object, &length);

    if (line != NULL) {
        uv_buf_t bytes = uv_buf_init(line, (unsigned)length);
        uv_try_write(connection->output, &bytes, 1);
        free(line);
    }
}

void served_connection_cut(struct served_connection *connection, const char *error,
                           const char *message)
{
    if (!connection->ended) {
        served_counts_cut_off(&connection->daemon->counts, error);
        flush(connection);
        write_now(connection, served_answer_event_of("closing", error, message));
        say_verbose(connection, "is cut off: ", message);
        end(connection, true);
    }
}

/* ------------------------------------------------------------------------- answers */

static void on_idle(uv_idle_t *idle)
{
    struct daemon *daemon = idle->loop->data;

    while (daemon->unsent != NULL) {
        struct served_connection *connection = daemon->unsent;
        if (!flush(connection)) {
            served_connection_cut(connection, "UV_ENOMEM", "no memory");
        }
    }
    uv_idle_stop(idle);
}

void served_connection_send(struct served_connection *connection, json_t *object)
{
    struct daemon *daemon = connection->daemon;
    size_t length = 0;

    if (connection->ended) {
        json_decref(object);
        return;
    }
    if (uv_stream_get_write_queue_size(connection->output) >
        daemon->options->max_unsent) {
        json_decref(object);
        served_connection_cut(connection, SERVED_EUNREAD, "answers are not read");
        return;
    }
    char *line = served_answer_line(object, &length);
    bool added = line != NULL && add(connection, line, length);
    free(line);
    if (!added || (connection->unsent_length >= WRITE_SIZE && !flush(connection))) {
        served_connection_cut(connection, "UV_ENOMEM", "no memory");
    } else {
        uv_idle_start(&daemon->answers, on_idle);
    }
}

/* ----------------------------------------------------------------------- receiving */

bool served_connection_begin(struct served_connection *connection, int64_t id)
{
    if (connection->pending >= connection->daemon->options->max_pending) {
        served_connection_send(
            connection,
            served_answer_error(id, SERVED_EPENDING,
                                "the connection has too many requests and holds", 1));
        return false;
    }
    connection->pending++;
    connection->users++;
    return true;
}

void served_connection_done(struct served_connection *connection)
{
    connection->pending--;
    leave(connection);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct served_connection *connection = handle->data;
    size_t size = 0;
    char *room = line_buffer_room(&connection->lines, &size);

    (void)suggested;
    *buffer = uv_buf_init(room, room == NULL ? 0 : (unsigned)size);
}

static void run_lines(struct served_connection *connection)
{
    enum line_result result = LINE_NONE;
    const char *line;
    size_t length;

    /* A line may end the connection. */
    while (!connection->ended && (result = line_buffer_next(&connection->lines, &line,
                                                            &length)) == LINE_FOUND) {
        connection->daemon->counts.requests++;
        served_operations_run(connection, line, length);
    }
    if (!connection->ended && result == LINE_TOO_LONG) {
        served_connection_cut(connection, SERVED_ELINE, "a line is too long");
    }
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct served_connection *connection = stream->data;

    (void)buffer;
    if (connection->ended || length == 0) {
        return;
    }
    if (length == UV_ENOBUFS) {
        served_connection_cut(connection, "UV_ENOMEM", "no memory");
        return;
    }
    /* End of file or a reset: the program has closed the connection or has died. */
    if (length < 0) {
        say_verbose(connection, "has disconnected", "");
        end(connection, false);
        return;
    }
    /* After the bytes were read, and not before (served_validity.h). */
    connection->received = served_validity_now().monotonic;
    line_buffer_add(&connection->lines, (size_t)length);
    run_lines(connection);
}

/* ----------------------------------------------------------------------- the begin */

static void log_peer(struct served_connection *connection)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t length = sizeof(peer);
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)&connection->pipe, &fd) == 0) {
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    }
    connection->pid = peer.pid;
    if (connection->daemon->options->connection.verbose) {
        output_report("process %ld of user %ld, group %ld has connected", (long)peer.pid,
                      (long)peer.uid, (long)peer.gid);
    }
}

static struct served_connection *connection_new(struct daemon *daemon)
{
    struct served_connection *connection = calloc(1, sizeof(*connection));

    if (connection != NULL) {
        connection->daemon = daemon;
        connection->users = 1;
        line_buffer_init(&connection->lines, daemon->options->max_line);
        uv_pipe_init(&daemon->loop, &connection->pipe, 0);
        connection->pipe.data = connection;
        connection->output = (uv_stream_t *)&connection->pipe;
        DL_APPEND(daemon->connections, connection);
        daemon->connection_count++;
    }
    return connection;
}

void served_connection_accept(struct daemon *daemon, uv_stream_t *listener)
{
    struct served_connection *connection = connection_new(daemon);

    /* libuv reports no other connection before this one is accepted. */
    if (connection == NULL) {
        daemon_fail(daemon, UV_ENOMEM);
        return;
    }
    int status = uv_accept(listener, (uv_stream_t *)&connection->pipe);
    if (status == 0) {
        daemon->counts.accepted++;
        log_peer(connection);
        status = uv_read_start((uv_stream_t *)&connection->pipe, on_room, on_read);
    }
    if (status < 0) {
        served_connection_cut(connection, uvzk_err_name(status), uvzk_strerror(status));
    } else if (daemon->connection_count > daemon->options->max_connections) {
        served_connection_cut(connection, SERVED_ECONNECTIONS, "too many connections");
    }
}

int served_connection_open(struct daemon *daemon)
{
    const struct parent_process *parent = &daemon->parent;
    struct served_connection *connection = connection_new(daemon);

    if (connection == NULL) {
        return UV_ENOMEM;
    }
    daemon->counts.accepted++;
    connection->pid = parent->pid;
    int status = uv_pipe_open(&connection->pipe, parent->in);
    if (status == 0 && parent->out != parent->in) {
        uv_pipe_init(&daemon->loop, &daemon->output, 0);
        daemon->output.data = connection;
        connection->output = (uv_stream_t *)&daemon->output;
        status = uv_pipe_open(&daemon->output, parent->out);
    }
    return status < 0 ? status
                      : uv_read_start((uv_stream_t *)&connection->pipe, on_room, on_read);
}
