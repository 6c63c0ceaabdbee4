/* SPDX-License-Identifier: Apache-2.0 */
#include "run_loop.h"

#include <stdio.h>

#define POLL_MS 10

/* A timer that wakes the loop every POLL_MS, so that a condition is evaluated that
 * often. */
struct poll {
    uv_timer_t timer;
    bool closed;
};

static void do_nothing(uv_timer_t *timer)
{
    (void)timer;
}

static void mark_closed(uv_handle_t *handle)
{
    struct poll *poll = handle->data;
    poll->closed = true;
}

static void start_poll(uv_loop_t *loop, struct poll *poll)
{
    poll->closed = false;
    uv_timer_init(loop, &poll->timer);
    poll->timer.data = poll;
    uv_timer_start(&poll->timer, do_nothing, POLL_MS, POLL_MS);
}

/* Runs the loop until the timer is closed, because its memory is on the caller's
 * stack. */
static void stop_poll(uv_loop_t *loop, struct poll *poll)
{
    uv_close((uv_handle_t *)&poll->timer, mark_closed);
    while (!poll->closed) {
        uv_run(loop, UV_RUN_NOWAIT);
    }
}

static uint64_t clock_ms(void)
{
    return uv_hrtime() / 1000000U;
}

bool run_until(uv_loop_t *loop, condition_fn condition, void *context, uint64_t ms)
{
    uint64_t deadline = clock_ms() + ms;
    struct poll poll;
    bool holds;
    start_poll(loop, &poll);
    while (!(holds = condition(context)) && clock_ms() < deadline) {
        uv_run(loop, UV_RUN_ONCE);
    }
    stop_poll(loop, &poll);
    return holds;
}

static bool is_set(void *context)
{
    const bool *flag = context;
    return *flag;
}

bool run_until_set(uv_loop_t *loop, const bool *flag)
{
    /* Removes the const for run_until; is_set only reads the flag. */
    union {
        const bool *flag;
        void *context;
    } subject = {flag};
    return run_until(loop, is_set, subject.context, PATIENCE_MS);
}

struct count {
    const int *value;
    int wanted;
};

static bool has_count(void *context)
{
    const struct count *count = context;
    return *count->value >= count->wanted;
}

bool run_until_count(uv_loop_t *loop, const int *count, int wanted, uint64_t ms)
{
    struct count subject = {count, wanted};
    return run_until(loop, has_count, &subject, ms);
}

void run_once(uv_loop_t *loop)
{
    struct poll poll;
    start_poll(loop, &poll);
    uv_run(loop, UV_RUN_ONCE);
    stop_poll(loop, &poll);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

void run_for(uv_loop_t *loop, uint64_t ms)
{
    run_until(loop, never, NULL, ms);
}

/* The timer is unreferenced, so that it does not keep the loop alive. */
static void wait_until_idle(uv_loop_t *loop)
{
    uint64_t deadline = clock_ms() + PATIENCE_MS;
    struct poll poll;
    start_poll(loop, &poll);
    uv_unref((uv_handle_t *)&poll.timer);
    while (uv_loop_alive(loop) && clock_ms() < deadline) {
        uv_run(loop, UV_RUN_ONCE);
    }
    stop_poll(loop, &poll);
}

static void print_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    fprintf(stderr, "loop: %s handle left%s\n",
            uv_handle_type_name(uv_handle_get_type(handle)),
            uv_is_closing(handle) ? ", closing" : "");
}

int run_down(uv_loop_t *loop)
{
    wait_until_idle(loop);
    int status = uv_loop_close(loop);
    if (status != 0) {
        uv_walk(loop, print_handle, NULL);
    }
    return status;
}
