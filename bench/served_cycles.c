/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that acquire and release for a while: by the library, or through the daemon. The
 * tasks of both do the same, each on its own path, and all on one loop. */
#include "served.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>
#include <uvzk.h>

#include "window.h"

struct cycles;

struct task {
    struct cycles *cycles;
    size_t number;
    /* Directly: */
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    /* Through the daemon: */
    uv_pipe_t pipe;
    uv_connect_t connect;
    char answer[1024]; /* a line, as far as it has arrived */
    size_t length;
};

struct cycles {
    uv_loop_t loop;
    uv_timer_t end;
    uvzk_client_t client;
    struct task *tasks;
    size_t count, running;
    uint64_t window_ms, done, began_ns, ended_ns;
    bool over, failed;
};

static void fail(struct cycles *cycles, const char *what, int status)
{
    if (!cycles->failed) {
        fprintf(stderr, "served: %s: %s\n", what, uvzk_strerror(status));
    }
    cycles->failed = true;
    cycles->over = true;
    uv_stop(&cycles->loop);
}

static void on_end(uv_timer_t *timer)
{
    struct cycles *cycles = timer->data;

    cycles->over = true;
    cycles->ended_ns = window_now();
}

/* An acquire and its release are done. Returns whether the task goes on. The window
 * begins when the first task is done for the first time: the connections exist then. */
static bool cycle_done(struct cycles *cycles)
{
    if (cycles->began_ns == 0) {
        cycles->began_ns = window_now();
        uv_timer_start(&cycles->end, on_end, cycles->window_ms, 0);
    }
    if (!cycles->over) {
        cycles->done++;
        return true;
    }
    if (--cycles->running == 0) {
        uv_stop(&cycles->loop);
    }
    return false;
}

static void cycles_begin(struct cycles *cycles, const struct served_run *run)
{
    *cycles = (struct cycles){
        .count = run->tasks, .running = run->tasks, .window_ms = run->window_ms};
    uv_loop_init(&cycles->loop);
    uv_timer_init(&cycles->loop, &cycles->end);
    cycles->end.data = cycles;
    cycles->tasks = calloc(run->tasks, sizeof(*cycles->tasks));
    for (size_t i = 0; i < run->tasks; i++) {
        cycles->tasks[i].cycles = cycles;
        cycles->tasks[i].number = i;
    }
}

/* Closes what is left, and returns the acquires and releases a second. */
static double cycles_end(struct cycles *cycles)
{
    double seconds = (double)(cycles->ended_ns - cycles->began_ns) / 1e9;

    uv_close((uv_handle_t *)&cycles->end, NULL);
    uv_run(&cycles->loop, UV_RUN_DEFAULT);
    uv_loop_close(&cycles->loop);
    free(cycles->tasks);
    return cycles->failed ? 0 : (double)cycles->done / seconds;
}

/* ----------------------------------------------------------------------------
 * directly */

static void acquire(struct task *task);

static void on_released(uvzk_hold_t *hold, int status)
{
    struct task *task = hold->data;

    if (status < 0) {
        fail(task->cycles, "released", status);
    } else if (cycle_done(task->cycles)) {
        acquire(task);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct task *task = hold->data;

    fail(task->cycles, "lost", reason);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct task *task = hold->data;

    if (status < 0) {
        fail(task->cycles, "acquired", status);
    } else {
        uvzk_hold_release(hold, on_released);
    }
}

static void acquire(struct task *task)
{
    task->hold.data = task;
    int status = uvzk_lock_acquire(&task->mutex, &task->hold, NULL, on_acquired, on_lost);

    if (status < 0) {
        fail(task->cycles, "acquire", status);
    }
}

static int open_client(struct cycles *cycles, const struct served_run *run)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = run->hosts;
    options.session_timeout_ms = 15000; /* the daemon's default */
    int status = uvzk_client_init(&cycles->loop, &cycles->client, &options);
    return status < 0 ? status : uvzk_client_start(&cycles->client);
}

double served_run_direct(const struct served_run *run)
{
    struct cycles cycles;
    char path[64];

    cycles_begin(&cycles, run);
    int status = open_client(&cycles, run);
    if (status < 0) {
        fail(&cycles, "client", status);
    }
    for (size_t i = 0; i < cycles.count && !cycles.failed; i++) {
        snprintf(path, sizeof(path), "/served/%zu", i);
        status = uvzk_mutex_init(&cycles.client, &cycles.tasks[i].mutex, path);
        if (status < 0) {
            fail(&cycles, path, status);
        } else {
            acquire(&cycles.tasks[i]);
        }
    }
    if (!cycles.failed) {
        uv_run(&cycles.loop, UV_RUN_DEFAULT);
    }
    uvzk_client_close(&cycles.client, NULL);
    return cycles_end(&cycles);
}

/* -------------------------------------------------------------------- through the
 * daemon */

static void ask(struct task *task, const char *format, uint64_t number)
{
    char line[128];
    uv_buf_t bytes = uv_buf_init(line, 0);

    bytes.len = (size_t)snprintf(line, sizeof(line), format, number);
    /* One short line at a time: the kernel has room for it. */
    int status = uv_try_write((uv_stream_t *)&task->pipe, &bytes, 1);
    if (status != (int)bytes.len) {
        fail(task->cycles, "write", status < 0 ? status : UV_EAGAIN);
    }
}

static void ask_for_lock(struct task *task)
{
    ask(task, "{\"id\":1,\"op\":\"acquire\",\"path\":\"/served/%" PRIu64 "\"}\n",
        task->number);
}

/* The answer to an acquire has a token, that to a release has none. */
static void on_answer(struct task *task)
{
    const char *hold = strstr(task->answer, "\"hold\":");

    if (hold == NULL || strstr(task->answer, "\"ok\":true") == NULL) {
        fail(task->cycles, task->answer, UV_EINVAL);
    } else if (strstr(task->answer, "\"token\":") != NULL) {
        ask(task, "{\"id\":2,\"op\":\"release\",\"hold\":%" PRIu64 "}\n",
            strtoull(hold + strlen("\"hold\":"), NULL, 10));
    } else if (cycle_done(task->cycles)) {
        ask_for_lock(task);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct task *task = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(task->answer + task->length,
                          (unsigned)(sizeof(task->answer) - 1 - task->length));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct task *task = stream->data;

    (void)buffer;
    if (length < 0) {
        fail(task->cycles, "read", (int)length);
        return;
    }
    task->length += (size_t)length;
    if (task->length > 0 && task->answer[task->length - 1] == '\n') {
        task->answer[task->length] = '\0';
        task->length = 0;
        on_answer(task);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct task *task = connect->data;

    if (status < 0) {
        fail(task->cycles, "connect", status);
    } else {
        uv_read_start((uv_stream_t *)&task->pipe, on_room, on_read);
        ask_for_lock(task);
    }
}

double served_run_through_daemon(const struct served_run *run)
{
    struct cycles cycles;

    cycles_begin(&cycles, run);
    for (size_t i = 0; i < cycles.count; i++) {
        struct task *task = &cycles.tasks[i];
        uv_pipe_init(&cycles.loop, &task->pipe, 0);
        task->pipe.data = task->connect.data = task;
        uv_pipe_connect(&task->connect, &task->pipe, run->socket, on_connected);
    }
    uv_run(&cycles.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < cycles.count; i++) {
        uv_close((uv_handle_t *)&cycles.tasks[i].pipe, NULL);
    }
    return cycles_end(&cycles);
}
