/* SPDX-License-Identifier: Apache-2.0 */
/* epoll [HOSTS]: uvzk in a program with an epoll loop of its own.
 *
 *   $ ./epoll 127.0.0.1:2181
 *
 * The program's loop has a timer, which ticks every 10 ms. The first tick acquires a lock.
 * While the lock is held the timer ticks on, and the third tick releases the lock. So all
 * calls of uvzk come from the program's own loop, and all callbacks of uvzk from libuv's
 * loop, which the program's loop runs. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>
#include <uvzk.h>

static uv_loop_t loop;
static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static int ticks_held;
static bool acquiring, held;

/* ------------------------------------------------------------------------ with uvzk */

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

static void on_tick(void)
{
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
}

static int start(const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int status = uvzk_client_init(&loop, &client, &options);
    if (status == 0) {
        status = uvzk_mutex_init(&client, &mutex, "/examples/epoll");
        if (status < 0 || (status = uvzk_client_start(&client)) < 0) {
            uvzk_client_close(&client, NULL);
        }
    }
    return status;
}

/* ----------------------------------------------------------------- the program's loop */

static int timer_open(void)
{
    const struct itimerspec every = {.it_interval = {.tv_nsec = 10000000},
                                     .it_value = {.tv_nsec = 10000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd >= 0) {
        timerfd_settime(fd, 0, &every, NULL);
    }
    return fd;
}

static void add(int set, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

/* How long the program may sleep for libuv: in ms; -1 is for ever. */
static int libuv_timeout(void)
{
    if (!uv_loop_alive(&loop)) {
        return -1; /* uv_backend_timeout would return 0 */
    }
    uv_update_time(&loop);
    return uv_backend_timeout(&loop);
}

static void run(int set, int timer)
{
    struct epoll_event events[8];
    uint64_t expirations;

    while (uv_loop_alive(&loop)) {
        /* What happened in libuv's descriptors, and what the program has called since. */
        uv_run(&loop, UV_RUN_NOWAIT);
        int count = epoll_wait(set, events, 8, libuv_timeout());
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == timer &&
                read(timer, &expirations, sizeof(expirations)) > 0) {
                on_tick();
            }
        }
    }
}

int main(int argc, char **argv)
{
    uv_loop_init(&loop);
    int status = start(argc > 1 ? argv[1] : "127.0.0.1:2181");
    if (status < 0) {
        fprintf(stderr, "cannot start: %s\n", uvzk_refusal(status));
    }
    int set = epoll_create1(EPOLL_CLOEXEC), timer = timer_open();
    add(set, uv_backend_fd(&loop));
    add(set, timer);
    run(set, timer);
    close(timer);
    close(set);
    printf("libuv's loop is closed: %s\n", uv_loop_close(&loop) == 0 ? "yes" : "no");
    return status < 0;
}
