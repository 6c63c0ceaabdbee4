/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a daemon for its locks over its socket (daemon_locks.h), for `uvzk top`. A failure
 * or the timer ends the exchange and closes all handles; only then the callback runs. */
#include "daemon_locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#define ANSWER_MAX (1U << 22) /* bytes: more than the daemon sends at once */

/* ----------------------------------------------------------------------- the answer */

static int64_t number(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static enum recipe recipe_of(const json_t *row)
{
    static const struct {
        const char *name;
        enum recipe recipe;
    } kinds[] = {{"read", RECIPE_READ},
                 {"write", RECIPE_WRITE},
                 {"semaphore", RECIPE_LEASES},
                 {"latch", RECIPE_LATCH}};
    const char *name = json_string_value(json_object_get(row, "lock"));

    for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return kinds[i].recipe;
        }
    }
    return RECIPE_MUTEX;
}

/* Returns 0 or an error code. */
static int take_row(struct lock_rows *rows, const json_t *from)
{
    const char *path = json_string_value(json_object_get(from, "path"));
    struct lock_row *row = path == NULL ? NULL : lock_rows_add(rows, path);
    int64_t now = wall_ms();
    char process[32];

    if (row == NULL) {
        return path == NULL ? UV_EPROTO : UV_ENOMEM;
    }
    row->holders = (size_t)number(from, "holders");
    row->waiters = (size_t)number(from, "waiters");
    row->recipe = recipe_of(from);
    if (row->waiters > 0) {
        row->waited_since_ms = now - number(from, "longest_wait_ms");
    }
    if (row->holders > 0) {
        row->token = number(from, "token");
        row->held_since_ms = now - number(from, "held_ms");
        snprintf(process, sizeof(process), "process %" PRId64, number(from, "pid"));
        row->data = strdup(process);
        row->data_length = row->data == NULL ? 0 : strlen(row->data);
    }
    return 0;
}

static int take_answer(struct lock_rows *rows, const char *line, size_t length)
{
    json_t *answer = json_loadb(line, length, 0, NULL);
    const json_t *locks = json_object_get(answer, "locks");
    int status = json_is_array(locks) ? 0 : UV_EPROTO;

    for (size_t i = 0; status == 0 && i < json_array_size(locks); i++) {
        status = take_row(rows, json_array_get(locks, i));
    }
    rows->left_out = number(answer, "left_out") > 0;
    json_decref(answer);
    if (status < 0) {
        lock_rows_free(rows);
    }
    lock_rows_sort(rows);
    return status;
}

/* -------------------------------------------------------------------- the connection */

static void on_closed(uv_handle_t *handle)
{
    struct daemon_locks *locks = handle->data;

    if (--locks->open_handles > 0) {
        return;
    }
    line_buffer_free(&locks->lines);
    if (locks->cancelled) {
        lock_rows_free(&locks->found);
    } else {
        locks->cb(locks, locks->status);
    }
}

static void finish(struct daemon_locks *locks, int status)
{
    if (!uv_is_closing((uv_handle_t *)&locks->pipe)) {
        locks->status = status;
        uv_close((uv_handle_t *)&locks->pipe, on_closed);
        uv_close((uv_handle_t *)&locks->timer, on_closed);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct daemon_locks *locks = handle->data;
    size_t size = 0;
    char *room = line_buffer_room(&locks->lines, &size);

    (void)suggested;
    *buffer = uv_buf_init(room, room == NULL ? 0 : (unsigned)size);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct daemon_locks *locks = stream->data;
    const char *line;
    size_t length;

    (void)buffer;
    if (count < 0) {
        finish(locks, (int)count);
        return;
    }
    line_buffer_add(&locks->lines, (size_t)count);
    switch (line_buffer_next(&locks->lines, &line, &length)) {
    case LINE_FOUND:
        finish(locks, take_answer(&locks->found, line, length));
        break;
    case LINE_TOO_LONG:
        finish(locks, UV_EPROTO);
        break;
    default:
        break;
    }
}

static void on_written(uv_write_t *writing, int status)
{
    if (status < 0) {
        finish(writing->data, status);
    }
}

static void on_connected(uv_connect_t *connecting, int status)
{
    static char request[] = "{\"id\":1,\"op\":\"locks\"}\n";
    struct daemon_locks *locks = connecting->data;
    uv_buf_t buffer = uv_buf_init(request, sizeof(request) - 1);

    if (uv_is_closing((uv_handle_t *)&locks->pipe)) {
        return;
    }
    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&locks->pipe, on_room, on_read);
    }
    if (status == 0) {
        status = uv_write(&locks->writing, (uv_stream_t *)&locks->pipe, &buffer, 1,
                          on_written);
    }
    if (status < 0) {
        finish(locks, status);
    }
}

static void on_late(uv_timer_t *timer)
{
    finish(timer->data, UV_ETIMEDOUT);
}

void daemon_locks_read(struct daemon_locks *locks, daemon_locks_cb cb)
{
    lock_rows_free(&locks->found);
    locks->cb = cb;
    locks->open_handles = 2;
    line_buffer_init(&locks->lines, ANSWER_MAX);
    uv_pipe_init(locks->loop, &locks->pipe, 0);
    uv_timer_init(locks->loop, &locks->timer);
    locks->pipe.data = locks->timer.data = locks;
    locks->connecting.data = locks->writing.data = locks;
    uv_timer_start(&locks->timer, on_late, DAEMON_LOCKS_MS, 0);
    uv_pipe_connect(&locks->connecting, &locks->pipe, locks->socket, on_connected);
}

void daemon_locks_cancel(struct daemon_locks *locks)
{
    locks->cancelled = true;
    if (locks->open_handles > 0) {
        finish(locks, UV_ECANCELED);
    } else {
        lock_rows_free(&locks->found);
    }
}
