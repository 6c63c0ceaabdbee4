/* SPDX-License-Identifier: Apache-2.0 */
/* A port on a libuv loop, as far as it does not depend on the transport (loop_port.h).
 * native_port.c and zk_port.c embed the struct and add their own calls. Everything runs on
 * the loop's thread.
 *
 * The libuv handles are an async handle, which other threads signal, an idle handle, which
 * the loop's own thread starts (to_loop.h), and a timer. A program may close them at any time
 * (uv_walk). Until the port is ENDING this has no effect but silence. From then on they are
 * replaced at once (on_gone), because the port must come to its end: a pipe reports when the
 * program closes them. The timer serves the alarm, and after the close, when there is no
 * longer an alarm, the end of draining. */
#include "port/loop_port.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "platform/entropy.h"
#include "platform/forks.h"
#include "uvzk.h"

/* In ms. A libuv timer stands still while the machine is suspended, but an alarm must
 * not, so the timer fires at least this often. */
#define ALARM_STEP_MS 1000U

/* How long close() waits for the requests in flight before it closes the handle. The C
 * client loses memory for a request that it never answers (ZOOKEEPER-2894). */
#define DRAIN_MS 500U

/* ------------------------------------------------------------------------- its life */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__PORT_, OPEN, ENDING),
    UVZK__STATE(UVZK__PORT_, ENDING, CLOSING),
    UVZK__STATE(UVZK__PORT_, CLOSING, FINISHING),
    UVZK__FINAL(UVZK__PORT_, FINISHING),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__loop_port *port = object;

    switch (port->life.state) {
    case UVZK__PORT_CLOSING:
        return !port->port_loop.unreferenced && !port->port_loop.turn_wanted &&
               port->port_loop.alarm_at == UINT64_MAX;
    case UVZK__PORT_FINISHING:
        return port->transport->is_empty(port);
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__port_machine =
    UVZK__MACHINE("port", table, struct uvzk__loop_port, life.state, invariant_holds);

/* ----------------------------------------------------------------- the libuv handles */

/* While the port closes, it must learn at once that the program has closed its handles,
 * because nothing else would wake it. So the port keeps a write pending on a full pipe that
 * is never read. When the pipe's handle is closed, libuv cancels the write and calls its
 * callback, no matter who closed the handle. */
struct uvzk__loop_handles {
    uv_async_t async;
    uv_idle_t idle; /* never referenced: async and timer keep the loop alive, or do not */
    uv_timer_t timer;
    /* The next three are valid only if detects_close is true. */
    uv_pipe_t close_pipe;   /* the write end; its pipe is full */
    uv_write_t close_write; /* pending until close_pipe is closed */
    int pipe_read_end;      /* Nobody reads from it. Closed by loop_handles_free. */
    bool detects_close;     /* the pipe has been created */
    /* Earlier loop handles of the port, which the program has closed; NULL: none. libuv
     * may still refer to them, so the memory is freed together with the newest one. */
    struct uvzk__loop_handles *previous;
};

static struct uvzk__loop_handles *loop_handles_new(struct uvzk__loop_handles *previous)
{
    struct uvzk__loop_handles *loop_handles = uvzk__calloc(1, sizeof(*loop_handles));
    if (loop_handles != NULL) {
        loop_handles->previous = previous;
    }
    return loop_handles;
}

static void loop_handles_free(struct uvzk__loop_handles *loop_handles)
{
    while (loop_handles != NULL) {
        struct uvzk__loop_handles *previous = loop_handles->previous;
        if (loop_handles->detects_close) {
            (void)close(loop_handles->pipe_read_end);
        }
        uvzk__free(loop_handles);
        loop_handles = previous;
    }
}

static void loop_handles_init(struct uvzk__loop_handles *loop_handles, uv_loop_t *loop,
                              void *data, uv_async_cb async_cb)
{
    uv_timer_init(loop, &loop_handles->timer);
    /* uv_async_init cannot fail here: all async handles of a loop share one descriptor,
     * which uv_loop_init has already opened for the thread pool. */
    if (uv_async_init(loop, &loop_handles->async, async_cb) != 0) {
        abort();
    }
    uv_idle_init(loop, &loop_handles->idle);
    uv_unref((uv_handle_t *)&loop_handles->idle);
    loop_handles->timer.data = data;
    loop_handles->async.data = data;
    loop_handles->idle.data = data;
}

static bool loop_handles_are_closed(const struct uvzk__loop_handles *loop_handles)
{
    return uv_is_closing((const uv_handle_t *)&loop_handles->async) ||
           uv_is_closing((const uv_handle_t *)&loop_handles->idle) ||
           uv_is_closing((const uv_handle_t *)&loop_handles->timer) ||
           (loop_handles->detects_close &&
            uv_is_closing((const uv_handle_t *)&loop_handles->close_pipe));
}

static void loop_handles_set_ref(struct uvzk__loop_handles *loop_handles, bool keep)
{
    uv_handle_t *const handles[] = {(uv_handle_t *)&loop_handles->async,
                                    (uv_handle_t *)&loop_handles->timer};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        if (keep) {
            uv_ref(handles[i]);
        } else {
            uv_unref(handles[i]);
        }
    }
}

/* Opens a pipe and fills its buffer, so that a further write stays pending. The buffer is
 * made small first, so that filling it takes little memory. */
static bool open_full_pipe(int ends[2])
{
    static const char nothing[4096];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    (void)fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof(nothing));
    /* Smaller and smaller writes: a large write fails with EAGAIN although a small one
     * still fits. */
    for (size_t size = sizeof(nothing); size > 0; size /= 2) {
        while (write(ends[1], nothing, size) > 0) {
        }
    }
    return true;
}

static void loop_handles_detect_close(struct uvzk__loop_handles *loop_handles,
                                      uv_write_cb gone_cb)
{
    static char byte;
    uv_buf_t buffer = uv_buf_init(&byte, 1);
    int ends[2];

    if (loop_handles->detects_close || loop_handles_are_closed(loop_handles) ||
        !open_full_pipe(ends)) {
        return;
    }
    uv_pipe_init(loop_handles->async.loop, &loop_handles->close_pipe, 0);
    loop_handles->close_pipe.data = loop_handles->async.data;
    loop_handles->detects_close = true;
    loop_handles->pipe_read_end = ends[0];
    /* detects_close is already set, so that close_pipe and the read end are closed with
     * the other handles. */
    if (uv_pipe_open(&loop_handles->close_pipe, ends[1]) != 0) {
        (void)close(ends[1]);
        return;
    }
    (void)uv_write(&loop_handles->close_write, (uv_stream_t *)&loop_handles->close_pipe,
                   &buffer, 1, gone_cb);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void loop_handles_close(struct uvzk__loop_handles *loop_handles)
{
    close_handle((uv_handle_t *)&loop_handles->async);
    close_handle((uv_handle_t *)&loop_handles->idle);
    close_handle((uv_handle_t *)&loop_handles->timer);
    if (loop_handles->detects_close) {
        close_handle((uv_handle_t *)&loop_handles->close_pipe);
    }
}

/* ------------------------------------------------------------------------ the timer */

static void on_timer(uv_timer_t *timer);

static void start_timer(struct uvzk__port_loop *port_loop)
{
    uint64_t now = uvzk_now();
    uint64_t delay = port_loop->alarm_at > now ? port_loop->alarm_at - now : 0;
    /* Otherwise the time since the loop's iteration began would be missing. */
    uv_update_time(port_loop->loop);
    uv_timer_start(&port_loop->handles->timer, on_timer,
                   delay < ALARM_STEP_MS ? delay : ALARM_STEP_MS, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct uvzk__port_loop *port_loop = timer->data;
    /* The timer fires every ALARM_STEP_MS to compare the clock. */
    if (uvzk_now() < port_loop->alarm_at) {
        start_timer(port_loop);
    } else {
        port_loop->alarm_at = UINT64_MAX;
        port_loop->user->alarm(port_loop);
    }
}

static void port_loop_set_alarm(struct uvzk__port_loop *port_loop, uint64_t at_ms)
{
    if (uvzk__port_is_closing(port_loop->life) || at_ms == port_loop->alarm_at) {
        return;
    }
    port_loop->alarm_at = at_ms;
    if (!uvzk__to_loop_is_attached(port_loop->to_loop)) {
        return; /* open_handles starts the timer */
    }
    if (at_ms == UINT64_MAX) {
        uv_timer_stop(&port_loop->handles->timer);
    } else {
        start_timer(port_loop);
    }
}

static void on_drain_timeout(uv_timer_t *timer)
{
    struct uvzk__port_loop *port_loop = timer->data;
    if (port_loop->draining) {
        port_loop->draining = false;
        port_loop->user->drain_timeout(port_loop);
    }
}

/* The timer is free: a closed port has no alarm. */
void uvzk__port_loop_drain(struct uvzk__port_loop *port_loop)
{
    port_loop->draining = true;
    uv_timer_start(&port_loop->handles->timer, on_drain_timeout, DRAIN_MS, 0);
}

void uvzk__port_loop_drained(struct uvzk__port_loop *port_loop)
{
    port_loop->draining = false;
}

/* ------------------------------------------------------------------------- waking up */

static void port_loop_woken(struct uvzk__port_loop *port_loop)
{
    uvzk__to_loop_drain(port_loop->to_loop);
    uvzk__to_loop_take_wake(port_loop->to_loop);
    port_loop->user->woken(port_loop);
}

static void on_async(uv_async_t *async)
{
    port_loop_woken(async->data);
}

/* The idle handle stays active for one iteration more, in which the loop does not sleep.
 * Otherwise uv_run(UV_RUN_ONCE) of libuv before 1.45 would sleep after the idle handles,
 * although the program may have got what it waited for. */
static void on_idle(uv_idle_t *idle)
{
    struct uvzk__port_loop *port_loop = idle->data;

    if (uvzk__to_loop_is_woken(port_loop->to_loop)) {
        port_loop_woken(port_loop);
    } else {
        uv_idle_stop(idle);
    }
}

void uvzk__port_loop_want_turn(struct uvzk__port_loop *port_loop)
{
    if (!uvzk__port_is_closing(port_loop->life)) {
        port_loop->turn_wanted = true;
        if (!port_loop->entered) {
            uvzk__to_loop_wake(port_loop->to_loop);
        }
    }
}

void uvzk__port_loop_enter(struct uvzk__port_loop *port_loop)
{
    port_loop->entered = true;
}

void uvzk__port_loop_leave(struct uvzk__port_loop *port_loop)
{
    port_loop->entered = false;
    if (port_loop->turn_wanted) {
        uvzk__to_loop_wake(port_loop->to_loop);
    }
}

bool uvzk__port_loop_take_turn(struct uvzk__port_loop *port_loop)
{
    bool wanted = port_loop->turn_wanted;
    port_loop->turn_wanted = false;
    return wanted;
}

static void port_loop_silence(struct uvzk__port_loop *port_loop)
{
    port_loop->turn_wanted = false;
    port_loop->alarm_at = UINT64_MAX;
    uv_timer_stop(&port_loop->handles->timer);
}

/* --------------------------------------------------- opening and replacing the handles */

static void on_gone(uv_write_t *write, int status);

/* Opens the handles and restores what they were doing. Called at the start, and when the
 * program has closed the earlier ones. */
static void open_handles(struct uvzk__port_loop *port_loop)
{
    loop_handles_init(port_loop->handles, port_loop->loop, port_loop, on_async);
    loop_handles_set_ref(port_loop->handles, !port_loop->unreferenced);
    if (uvzk__port_is_ending(port_loop->life)) {
        loop_handles_detect_close(port_loop->handles, on_gone);
    }
    uvzk__to_loop_attach(port_loop->to_loop, &port_loop->handles->async,
                         &port_loop->handles->idle, on_idle);
    if (port_loop->draining) {
        uvzk__port_loop_drain(port_loop);
    } else if (port_loop->alarm_at != UINT64_MAX) {
        start_timer(port_loop);
    }
}

/* Replaces handles that the program has closed. If there is no memory, the port remains
 * without handles, and no callback runs. */
static void renew_handles(struct uvzk__port_loop *port_loop)
{
    struct uvzk__loop_handles *handles = loop_handles_new(port_loop->handles);
    if (handles != NULL) {
        /* Some of the handles may still be open. */
        loop_handles_close(port_loop->handles);
        port_loop->handles = handles;
        open_handles(port_loop);
    }
}

/* libuv has canceled the write to the full pipe, because close_pipe was closed. If the
 * port did not close it, the program did. */
static void on_gone(uv_write_t *write, int status)
{
    struct uvzk__port_loop *port_loop = write->handle->data;
    (void)status;
    if (!uvzk__port_is_finishing(port_loop->life) &&
        loop_handles_are_closed(port_loop->handles)) {
        renew_handles(port_loop);
    }
}

static void port_loop_detect_close(struct uvzk__port_loop *port_loop)
{
    port_loop->unreferenced = false;
    if (loop_handles_are_closed(port_loop->handles)) {
        renew_handles(port_loop);
    } else {
        loop_handles_set_ref(port_loop->handles, true);
        loop_handles_detect_close(port_loop->handles, on_gone);
    }
}

void uvzk__port_loop_set_ref(struct uvzk__port_loop *port_loop, bool keep)
{
    if (!uvzk__port_is_ending(port_loop->life)) {
        port_loop->unreferenced = !keep;
        loop_handles_set_ref(port_loop->handles, keep);
    }
}

static int port_loop_init(struct uvzk__port_loop *port_loop, uv_loop_t *loop,
                          struct uvzk__to_loop *to_loop,
                          const struct uvzk__port_life *life,
                          const struct uvzk__port_loop_user *user)
{
    port_loop->loop = loop;
    port_loop->to_loop = to_loop;
    port_loop->life = life;
    port_loop->user = user;
    port_loop->alarm_at = UINT64_MAX;
    port_loop->handles = loop_handles_new(NULL);
    return port_loop->handles == NULL ? UV_ENOMEM : 0;
}

static void port_loop_free(struct uvzk__port_loop *port_loop)
{
    loop_handles_free(port_loop->handles);
}

void uvzk__port_loop_start(struct uvzk__port_loop *port_loop)
{
    open_handles(port_loop);
}

static void on_closed(uv_handle_t *uv)
{
    struct uvzk__port_loop *port_loop = uv->data;
    port_loop->user->closed(port_loop);
}

/* libuv calls the close callbacks of one iteration in reverse order, so this timer's
 * comes first. */
static void close_last(struct uvzk__port_loop *port_loop, uv_close_cb close_cb)
{
    uv_timer_init(port_loop->loop, &port_loop->last_timer);
    port_loop->last_timer.data = port_loop;
    uv_close((uv_handle_t *)&port_loop->last_timer, close_cb);
}

/* When this callback runs, other handles that were closed in the same iteration of the
 * loop may not be finished. They are finished in the next iteration, so the timer is
 * opened and closed once more. */
static void on_all_closed(uv_handle_t *uv)
{
    close_last(uv->data, on_closed);
}

static void port_loop_close(struct uvzk__port_loop *port_loop)
{
    uvzk__to_loop_detach(port_loop->to_loop);
    loop_handles_close(port_loop->handles);
    close_last(port_loop, on_all_closed);
}

/* ---------------------------------------------------------------------- its options */

static bool port_options_copy(struct uvzk__port_options *into,
                              const uvzk_client_options_t *from)
{
    into->session_timeout_ms = from->session_timeout_ms;
    into->hosts = uvzk__strdup(from->hosts);
    if (from->auth_scheme == NULL) {
        return into->hosts != NULL;
    }
    size_t length = from->auth != NULL ? from->auth_length : 0;
    into->auth_scheme = uvzk__strdup(from->auth_scheme);
    into->auth = uvzk__memdup(length > 0 ? from->auth : "", length);
    into->auth_length = length;
    return into->hosts != NULL && into->auth_scheme != NULL && into->auth != NULL;
}

/* The credentials must not stay in freed memory. */
static void port_options_free(struct uvzk__port_options *options)
{
    if (options->auth != NULL) {
        explicit_bzero(options->auth, options->auth_length);
    }
    uvzk__free(options->auth);
    uvzk__free(options->auth_scheme);
    uvzk__free(options->hosts);
}

/* ------------------------------------------------------------------------ the calls */

/* port is the first member. */
static struct uvzk__loop_port *self_of(struct uvzk__port *port)
{
    return (struct uvzk__loop_port *)(void *)port;
}

static void close_soon(struct uvzk__port *public_port)
{
    struct uvzk__loop_port *port = self_of(public_port);

    if (!uvzk__port_is_ending(&port->life)) {
        uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_ENDING);
        port_loop_detect_close(&port->port_loop);
    }
}

static void set_alarm(struct uvzk__port *public_port, uint64_t at_ms)
{
    port_loop_set_alarm(&self_of(public_port)->port_loop, at_ms);
}

static void loop_port_wake(struct uvzk__port *public_port)
{
    uvzk__port_loop_want_turn(&self_of(public_port)->port_loop);
}

static uint64_t loop_port_now(struct uvzk__port *public_port)
{
    (void)public_port;
    return uvzk_now();
}

static int random_bytes(struct uvzk__port *public_port, void *bytes, size_t length)
{
    (void)public_port;
    return uvzk__entropy(bytes, length);
}

bool uvzk__loop_port_is_inherited(const struct uvzk__loop_port *port)
{
    return port->forks != uvzk__forks();
}

void uvzk__loop_port_tell(struct uvzk__loop_port *port,
                          enum uvzk__session_event_kind kind, int status)
{
    const struct uvzk__session_event event = {
        .kind = kind, .status = status, .local_address = "", .server = ""};

    port->port.user->session(port->port.user, &event);
}

/* -------------------------------------------------------------------- begin and end */

static void set_calls(struct uvzk__port *port, const struct uvzk__transport *transport)
{
    port->open = transport->open;
    port->abandon = transport->abandon;
    port->leave_server = transport->leave_server;
    port->end_session = transport->end_session;
    port->close_soon = close_soon;
    port->close = transport->close;
    port->submit = transport->submit;
    port->unwatch = transport->unwatch;
    port->alarm = set_alarm;
    port->wake = loop_port_wake;
    port->now = loop_port_now;
    port->random = random_bytes;
}

struct uvzk__loop_port *uvzk__loop_port_new(size_t size, uv_loop_t *loop,
                                            const uvzk_client_options_t *options,
                                            const struct uvzk__transport *transport)
{
    struct uvzk__loop_port *port = uvzk__calloc(1, size);

    if (port == NULL || uvzk__forks_begin() < 0 ||
        uvzk__to_loop_init(&port->to_loop) < 0) {
        uvzk__free(port);
        return NULL;
    }
    port->transport = transport;
    port->forks = uvzk__forks();
    set_calls(&port->port, transport);
    uvzk__dialect_init(&port->dialect, &port->port);
    if (port_loop_init(&port->port_loop, loop, &port->to_loop, &port->life,
                       &transport->loop_user) < 0 ||
        !port_options_copy(&port->options, options)) {
        uvzk__loop_port_free(port);
        return NULL;
    }
    return port;
}

void uvzk__loop_port_free(struct uvzk__loop_port *port)
{
    uvzk__to_loop_destroy(&port->to_loop);
    port_loop_free(&port->port_loop);
    port_options_free(&port->options);
    uvzk__free(port);
}

bool uvzk__loop_port_begin_close(struct uvzk__loop_port *port)
{
    if (!uvzk__port_expect(&port->port, !uvzk__loop_port_is_closing(port),
                           "port: closed twice")) {
        return false;
    }
    /* Also for a port whose close_soon was not called. */
    close_soon(&port->port);
    port_loop_silence(&port->port_loop);
    uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_CLOSING);
    return true;
}

void uvzk__loop_port_finish(struct uvzk__loop_port *port)
{
    uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_FINISHING);
    port_loop_close(&port->port_loop);
}
