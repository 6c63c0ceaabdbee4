/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual_loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/entropy.h"
#include "uvzk.h"

struct virtual_process {
    uv_loop_t loop; /* its data is the process; nothing else of it is used */
    struct sim *sim;
    char *name;
    uint64_t stopped_until;
    struct handle *closing; /* the last one first */
    struct virtual_event close;
    struct virtual_network network;
};

/* Set in the flags of a handle, of which libuv sees nothing here. */
#define IS_CLOSING 1U

/* What a handle of libuv has here, from its init to its close callback: u.reserved[0]
 * points to it. */
struct handle {
    struct virtual_event event; /* of a timer, an async or an idle */
    uv_handle_t *uv;
    union {
        uv_timer_cb timer;
        uv_async_cb async;
        uv_idle_cb idle;
    } cb;
    int fd;              /* of a pipe; -1: none */
    uv_write_t *writes;  /* pending until the pipe is closed; NULL: none */
    struct handle *next; /* of those that are closing */
};

static struct sim *simulation;
static struct virtual_process *current;

/* ------------------------------------------------------------- time and random bytes */

void virtual_time_begin(struct sim *sim)
{
    simulation = sim;
}

struct sim *virtual_time_sim(void)
{
    return simulation;
}

uint64_t uvzk_now(void)
{
    return simulation->now;
}

int uvzk__entropy(void *bytes, size_t length)
{
    unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++) {
        at[i] = (unsigned char)sim__random_word(simulation);
    }
    return 0;
}

/* ----------------------------------------------------------------------- a process */

static void close_all(struct virtual_event *event);

struct virtual_process *virtual_process_new(struct sim *sim, const char *name)
{
    struct virtual_process *process = sim__alloc(sizeof(*process));

    process->loop.data = process;
    process->sim = sim;
    virtual_event_init(&process->close, process, close_all);
    process->name = sim__copy(name, strlen(name) + 1);
    process->network.latency_min_ms = sim->options.latency_min_ms;
    process->network.latency_max_ms = sim->options.latency_max_ms;
    return process;
}

void virtual_process_free(struct virtual_process *process)
{
    free(process->name);
    free(process);
}

uv_loop_t *virtual_process_loop(struct virtual_process *process)
{
    return &process->loop;
}

struct virtual_network *virtual_process_network(struct virtual_process *process)
{
    return &process->network;
}

const char *virtual_process_name(const struct virtual_process *process)
{
    return process->name;
}

void virtual_process_stop(struct virtual_process *process, uint64_t until)
{
    if (process->stopped_until < until) {
        process->stopped_until = until;
    }
}

struct virtual_process *virtual_process_current(void)
{
    return current;
}

static void event_fires(struct sim *sim, struct sim__event *sim_event)
{
    struct virtual_event *event =
        UVZK__CONTAINER_OF(sim_event, struct virtual_event, event);

    if (sim->now < event->process->stopped_until) {
        sim__event_set(sim, sim_event, event->process->stopped_until);
        return;
    }
    current = event->process;
    event->fire(event);
    current = NULL;
}

void virtual_event_init(struct virtual_event *event, struct virtual_process *process,
                        void (*fire)(struct virtual_event *))
{
    memset(event, 0, sizeof(*event));
    event->event.fire = event_fires;
    event->process = process;
    event->fire = fire;
}

void virtual_event_set(struct virtual_event *event, uint64_t at)
{
    sim__event_set(event->process->sim, &event->event, at);
}

void virtual_event_clear(struct virtual_event *event)
{
    sim__event_clear(event->process->sim, &event->event);
}

/* --------------------------------------------------------------------- libuv's handles */

static struct handle *handle_of(const uv_handle_t *uv)
{
    return uv->u.reserved[0];
}

static void handle_new(uv_loop_t *loop, uv_handle_t *uv, uv_handle_type type,
                       void (*fire)(struct virtual_event *))
{
    struct handle *handle = sim__alloc(sizeof(*handle));

    uv->loop = loop;
    uv->type = type;
    uv->flags = 0;
    uv->u.reserved[0] = handle;
    handle->uv = uv;
    handle->fd = -1;
    virtual_event_init(&handle->event, loop->data, fire);
}

int uv_is_closing(const uv_handle_t *uv)
{
    return (uv->flags & IS_CLOSING) != 0;
}

/* libuv cancels what is being written before it reports the end of the handle. */
static void finish_closing(struct handle *handle)
{
    uv_handle_t *uv = handle->uv;
    uv_write_t *writes = handle->writes;
    uv_close_cb close_cb = uv->close_cb;

    if (handle->fd >= 0) {
        close(handle->fd);
    }
    uv->u.reserved[0] = NULL;
    free(handle);
    if (writes != NULL) {
        writes->cb(writes, UV_ECANCELED);
    }
    if (close_cb != NULL) {
        close_cb(uv);
    }
}

/* As libuv at the end of an iteration: all that have been closed, the last one first. What
 * their callbacks close comes in the next iteration. The last callback may free the
 * process. */
static void close_all(struct virtual_event *event)
{
    struct virtual_process *process =
        UVZK__CONTAINER_OF(event, struct virtual_process, close);
    struct handle *handle = process->closing;

    process->closing = NULL;
    while (handle != NULL) {
        struct handle *next = handle->next;
        finish_closing(handle);
        handle = next;
    }
}

void uv_close(uv_handle_t *uv, uv_close_cb close_cb)
{
    struct handle *handle = handle_of(uv);
    struct virtual_process *process = uv->loop->data;

    uv->flags |= IS_CLOSING;
    uv->close_cb = close_cb;
    virtual_event_clear(&handle->event);
    handle->next = process->closing;
    process->closing = handle;
    virtual_event_set(&process->close, simulation->now);
}

void uv_ref(uv_handle_t *uv)
{
    (void)uv;
}

void uv_unref(uv_handle_t *uv)
{
    (void)uv;
}

void uv_update_time(uv_loop_t *loop)
{
    (void)loop;
}

/* ---------------------------------------------------------- timers, asyncs and idles */

static void timer_fires(struct virtual_event *event)
{
    struct handle *handle = UVZK__CONTAINER_OF(event, struct handle, event);

    handle->cb.timer((uv_timer_t *)handle->uv);
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    handle_new(loop, (uv_handle_t *)timer, UV_TIMER, timer_fires);
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb timer_cb, uint64_t timeout,
                   uint64_t repeat)
{
    struct handle *handle = handle_of((uv_handle_t *)timer);

    if (uv_is_closing((uv_handle_t *)timer) || repeat != 0) {
        return UV_EINVAL;
    }
    handle->cb.timer = timer_cb;
    virtual_event_set(&handle->event, simulation->now + timeout);
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    if (!uv_is_closing((uv_handle_t *)timer)) {
        virtual_event_clear(&handle_of((uv_handle_t *)timer)->event);
    }
    return 0;
}

static void async_fires(struct virtual_event *event)
{
    struct handle *handle = UVZK__CONTAINER_OF(event, struct handle, event);

    handle->cb.async((uv_async_t *)handle->uv);
}

int uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb async_cb)
{
    handle_new(loop, (uv_handle_t *)async, UV_ASYNC, async_fires);
    handle_of((uv_handle_t *)async)->cb.async = async_cb;
    return 0;
}

int uv_async_send(uv_async_t *async)
{
    struct handle *handle = handle_of((uv_handle_t *)async);

    if (!uv_is_closing((uv_handle_t *)async) && !virtual_event_is_set(&handle->event)) {
        virtual_event_set(&handle->event, simulation->now);
    }
    return 0;
}

/* As in each iteration of libuv's loop, until it is stopped. */
static void idle_fires(struct virtual_event *event)
{
    struct handle *handle = UVZK__CONTAINER_OF(event, struct handle, event);

    virtual_event_set(event, simulation->now);
    handle->cb.idle((uv_idle_t *)handle->uv);
}

int uv_idle_init(uv_loop_t *loop, uv_idle_t *idle)
{
    handle_new(loop, (uv_handle_t *)idle, UV_IDLE, idle_fires);
    return 0;
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb idle_cb)
{
    struct handle *handle = handle_of((uv_handle_t *)idle);

    if (!virtual_event_is_set(&handle->event)) {
        handle->cb.idle = idle_cb;
        virtual_event_set(&handle->event, simulation->now);
    }
    return 0;
}

int uv_idle_stop(uv_idle_t *idle)
{
    virtual_event_clear(&handle_of((uv_handle_t *)idle)->event);
    return 0;
}

/* ----------------------------------------- the pipe by which a port notices its closing */

static void pipe_fires(struct virtual_event *event)
{
    (void)event;
}

int uv_pipe_init(uv_loop_t *loop, uv_pipe_t *pipe, int ipc)
{
    (void)ipc;
    handle_new(loop, (uv_handle_t *)pipe, UV_NAMED_PIPE, pipe_fires);
    return 0;
}

int uv_pipe_open(uv_pipe_t *pipe, uv_file fd)
{
    handle_of((uv_handle_t *)pipe)->fd = fd;
    return 0;
}

/* Nobody reads from the pipe, which is full. */
int uv_write(uv_write_t *write, uv_stream_t *stream, const uv_buf_t buffers[],
             unsigned count, uv_write_cb write_cb)
{
    (void)buffers;
    (void)count;
    write->handle = stream;
    write->cb = write_cb;
    handle_of((uv_handle_t *)stream)->writes = write;
    return 0;
}
