/* The libuv handles of a port (port_loop.h): an async handle, which the to_loop queue
 * signals, and a timer. The ports call it on the loop's thread.
 *
 * A program may close these handles at any time (uv_walk). Until the port is ENDING this
 * has no effect but silence. From then on they are replaced at once (on_gone), because
 * the port must come to its end. The timer serves the alarm, and after the close, when
 * there is no longer an alarm, the end of draining. */
#include "port/port_loop.h"

#include "port/loop_handles.h"
#include "uvzk.h"

/* In ms. A libuv timer stands still while the machine is suspended, but an alarm must
 * not, so the timer fires at least this often. */
#define ALARM_STEP_MS 1000U

/* How long close() waits for the requests in flight before it closes the handle. The C
 * client loses memory for a request that it never answers (ZOOKEEPER-2894). */
#define DRAIN_MS 500U

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

void uvzk__port_loop_set_alarm(struct uvzk__port_loop *port_loop, uint64_t at_ms)
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

static void on_async(uv_async_t *async)
{
    struct uvzk__port_loop *port_loop = async->data;
    uvzk__to_loop_drain(port_loop->to_loop);
    port_loop->user->woken(port_loop);
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

void uvzk__port_loop_silence(struct uvzk__port_loop *port_loop)
{
    port_loop->turn_wanted = false;
    port_loop->alarm_at = UINT64_MAX;
    uv_timer_stop(&port_loop->handles->timer);
}

/* ----------------------------------------------------------------- the libuv handles */

static void on_gone(uv_write_t *write, int status);

/* Opens the handles and restores what they were doing. Called at the start, and when the
 * program has closed the earlier ones. */
static void open_handles(struct uvzk__port_loop *port_loop)
{
    uvzk__loop_handles_init(port_loop->handles, port_loop->loop, port_loop, on_async);
    uvzk__loop_handles_set_ref(port_loop->handles, !port_loop->unreferenced);
    if (uvzk__port_is_ending(port_loop->life)) {
        uvzk__loop_handles_detect_close(port_loop->handles, on_gone);
    }
    uvzk__to_loop_attach(port_loop->to_loop, &port_loop->handles->async);
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
    struct uvzk__loop_handles *handles = uvzk__loop_handles_new(port_loop->handles);
    if (handles != NULL) {
        /* Some of the handles may still be open. */
        uvzk__loop_handles_close(port_loop->handles);
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
        uvzk__loop_handles_are_closed(port_loop->handles)) {
        renew_handles(port_loop);
    }
}

void uvzk__port_loop_detect_close(struct uvzk__port_loop *port_loop)
{
    port_loop->unreferenced = false;
    if (uvzk__loop_handles_are_closed(port_loop->handles)) {
        renew_handles(port_loop);
    } else {
        uvzk__loop_handles_set_ref(port_loop->handles, true);
        uvzk__loop_handles_detect_close(port_loop->handles, on_gone);
    }
}

void uvzk__port_loop_set_ref(struct uvzk__port_loop *port_loop, bool keep)
{
    if (!uvzk__port_is_ending(port_loop->life)) {
        port_loop->unreferenced = !keep;
        uvzk__loop_handles_set_ref(port_loop->handles, keep);
    }
}

/* ------------------------------------------------------------------- begin and end */

int uvzk__port_loop_init(struct uvzk__port_loop *port_loop, uv_loop_t *loop,
                         struct uvzk__to_loop *to_loop,
                         const struct uvzk__port_life *life,
                         const struct uvzk__port_loop_user *user)
{
    port_loop->loop = loop;
    port_loop->to_loop = to_loop;
    port_loop->life = life;
    port_loop->user = user;
    port_loop->alarm_at = UINT64_MAX;
    port_loop->handles = uvzk__loop_handles_new(NULL);
    return port_loop->handles == NULL ? UV_ENOMEM : 0;
}

void uvzk__port_loop_free(struct uvzk__port_loop *port_loop)
{
    uvzk__loop_handles_free(port_loop->handles);
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

void uvzk__port_loop_close(struct uvzk__port_loop *port_loop)
{
    uvzk__to_loop_detach(port_loop->to_loop);
    uvzk__loop_handles_close(port_loop->handles);
    close_last(port_loop, on_all_closed);
}
