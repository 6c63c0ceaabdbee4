/* SPDX-License-Identifier: Apache-2.0 */
/* libevent [HOSTS]: uvzk in a program with a libevent loop.
 *
 *   $ ./libevent 127.0.0.1:2181
 *
 * Two events run libuv's loop: one for its descriptor, one for its timers. The program has
 * an event of its own, every 10 ms: the first one acquires a lock, and the third one while
 * the lock is held releases it. */
#include <event2/event.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uv_loop_t loop;
static struct event *readable, *timer, *tick;
static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static int ticks_held;
static bool acquiring, held;

/* ----------------------------------------------------------------- libuv in libevent */

/* Runs libuv's loop once, and asks it how long it may sleep from now on. */
static void turn(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    (void)data;
    uv_run(&loop, UV_RUN_NOWAIT);
    if (!uv_loop_alive(&loop)) { /* then uv_backend_timeout returns 0 */
        event_del(readable);
        event_del(timer);
        event_del(tick); /* this program has nothing else to do */
        return;
    }
    uv_update_time(&loop);
    int timeout = uv_backend_timeout(&loop);
    if (timeout < 0) {
        event_del(timer);
    } else {
        const struct timeval after = {.tv_sec = timeout / 1000,
                                      .tv_usec = timeout % 1000 * 1000};
        event_add(timer, &after);
    }
}

/* Call it after calls of uvzk or libuv from a callback of libevent: these calls may have
 * started a timer, or a descriptor that libuv's epoll set does not have yet. libevent 2.1
 * has no callback before it sleeps that could ask libuv. */
static void turn_soon(void)
{
    event_active(timer, EV_TIMEOUT, 0);
}

/* ------------------------------------------------------------------------- with uvzk */

static void finish(const char *what, int status)
{
    printf("%s: %s\n", what, status == 0 ? "yes" : uvzk_strerror(status));
    uvzk_client_close(&client, NULL);
}

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    finish("released", status);
}

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    held = false;
    finish("still held", reason);
}

static void on_acquired(uvzk_hold_t *acquired, int status)
{
    if (status < 0) {
        finish("granted", status);
        return;
    }
    printf("granted, token %" PRId64 "\n", uvzk_hold_token(acquired));
    held = true;
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    (void)data;
    if (!acquiring) {
        acquiring = true;
        int status = uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost);
        if (status < 0) {
            finish("acquiring", status);
        }
    } else if (held && ++ticks_held == 3) {
        printf("%d ticks while the lock was held\n", ticks_held);
        held = false;
        uvzk_hold_release(&hold, on_released);
    }
    turn_soon();
}

static int start(const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int status = uvzk_client_init(&loop, &client, &options);
    if (status == 0) {
        status = uvzk_mutex_init(&client, &mutex, "/examples/libevent");
        if (status < 0 || (status = uvzk_client_start(&client)) < 0) {
            uvzk_client_close(&client, NULL);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    const struct timeval every = {.tv_usec = 10000};
    struct event_base *base = event_base_new();

    uv_loop_init(&loop);
    int status = start(argc > 1 ? argv[1] : "127.0.0.1:2181");
    if (status < 0) {
        fprintf(stderr, "cannot start: %s\n", uvzk_refusal(status));
    }
    readable = event_new(base, uv_backend_fd(&loop), EV_READ | EV_PERSIST, turn, NULL);
    timer = event_new(base, -1, 0, turn, NULL);
    tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
    event_add(readable, NULL);
    event_add(tick, &every);
    turn_soon();
    event_base_dispatch(base); /* until no event is left */
    event_free(tick);
    event_free(timer);
    event_free(readable);
    event_base_free(base);
    printf("libuv's loop is closed: %s\n", uv_loop_close(&loop) == 0 ? "yes" : "no");
    return status < 0;
}
