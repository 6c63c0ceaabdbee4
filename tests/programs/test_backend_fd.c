/* SPDX-License-Identifier: Apache-2.0 */
/* What docs/guide/other-loops.md says of libuv's descriptor and timeout, and of the calls of
 * uvzk, for programs that run libuv's loop inside another one. */
#include "cmocka_test.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>
#include <uvzk.h>

#define SINCE_1_44 ((1 << 16) | (44 << 8))

static uv_loop_t loop;

static int begin(void **state)
{
    (void)state;
    return uv_loop_init(&loop);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static int end(void **state)
{
    (void)state;
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

/* Returns true if a host's loop that sleeps on libuv's descriptor would wake. */
static bool is_readable(void)
{
    struct pollfd fd = {.fd = uv_backend_fd(&loop), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

static int timeout(void)
{
    uv_update_time(&loop);
    return uv_backend_timeout(&loop);
}

static void count(uv_timer_t *timer)
{
    ++*(int *)timer->data;
}

static void wait_until(uint64_t at)
{
    while (uv_hrtime() / 1000000 < at) {
        uv_sleep(1);
    }
}

/* ------------------------------------------------------------------------- of libuv */

static void a_loop_without_handles_asks_for_no_sleep(void **state)
{
    (void)state;
    assert_false(uv_loop_alive(&loop));
    assert_int_equal(timeout(), 0);
}

static void a_timer_does_not_make_the_descriptor_readable(void **state)
{
    static uv_timer_t timer;
    int counted = 0;
    (void)state;
    uv_timer_init(&loop, &timer);
    timer.data = &counted;
    assert_int_equal(uv_timer_start(&timer, count, 1, 0), 0);
    wait_until(uv_hrtime() / 1000000 + 5);
    assert_int_equal(timeout(), 0);
    assert_false(is_readable());
    while (counted == 0) { /* libuv 1.45 runs timers after it polls */
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(timeout(), 0); /* not alive */
}

static void the_timeout_counts_from_the_last_update(void **state)
{
    static uv_timer_t timer;
    int counted = 0;
    (void)state;
    uv_timer_init(&loop, &timer);
    timer.data = &counted;
    assert_int_equal(uv_timer_start(&timer, count, 100000, 0), 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    int before = uv_backend_timeout(&loop);
    assert_true(before > 20);
    wait_until(uv_now(&loop) + 20);
    assert_int_equal(uv_backend_timeout(&loop), before);
    assert_true(timeout() <= before - 20);
}

static void ignore(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
}

static void a_new_descriptor_is_added_by_the_next_run(void **state)
{
    static uv_poll_t poll;
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(uv_poll_init(&loop, &poll, ends[0]), 0);
    assert_int_equal(uv_poll_start(&poll, UV_READABLE, ignore), 0);
    assert_false(is_readable());
    if (uv_version() >= SINCE_1_44) {
        assert_int_equal(timeout(), 0);
    }
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(is_readable());
    assert_int_equal(timeout(), -1);
    uv_poll_stop(&poll);
    close(ends[0]);
    close(ends[1]);
}

static void ignore_async(uv_async_t *async)
{
    (void)async;
}

static void a_loop_that_has_not_run_is_not_woken(void **state)
{
    static uv_async_t async;
    (void)state;
    assert_int_equal(uv_async_init(&loop, &async, ignore_async), 0);
    assert_int_equal(uv_async_send(&async), 0);
    assert_false(is_readable());
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_async_send(&async), 0);
    assert_true(is_readable());
}

/* -------------------------------------------------------------------------- of uvzk */

static void on_acquired(uvzk_hold_t *hold, int status)
{
    *(int *)hold->data = status;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
}

static void on_closed(uvzk_client_t *client)
{
    *(bool *)client->data = true;
}

/* Runs libuv's loop until it asks for a sleep. */
static void settle(void)
{
    do {
        uv_run(&loop, UV_RUN_NOWAIT);
    } while (is_readable() || timeout() == 0);
}

/* No server listens there. */
static void check_calls(uint32_t transport)
{
    uvzk_client_options_t options;
    uvzk_client_t client = {.data = NULL};
    uvzk_mutex_t mutex = {.data = NULL};
    uvzk_hold_t hold = {.data = NULL};
    int acquired = 1;
    bool closed = false;

    client.data = &closed;
    hold.data = &acquired;
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:1";
    options.transport = transport;
    assert_int_equal(uvzk_client_init(&loop, &client, &options), 0);
    assert_int_equal(uvzk_mutex_init(&client, &mutex, "/a"), 0);
    settle();
    assert_int_equal(uvzk_client_start(&client), 0);
    assert_true(is_readable() || timeout() == 0);
    settle();
    assert_int_equal(uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost), 0);
    assert_int_equal(timeout(), 0);
    settle();
    assert_int_equal(uvzk_hold_cancel(&hold), 0);
    assert_int_equal(acquired, 1); /* never inside the call */
    assert_int_equal(timeout(), 0);
    settle();
    assert_int_equal(acquired, UV_ECANCELED);
    assert_int_equal(uvzk_client_close(&client, on_closed), 0);
    assert_true(is_readable() || timeout() == 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(closed);
}

static void calls_wake_a_loop_that_has_run(void **state)
{
    (void)state;
    check_calls(UVZK_TRANSPORT_C_CLIENT);
    check_calls(UVZK_TRANSPORT_NATIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loop_without_handles_asks_for_no_sleep, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_timer_does_not_make_the_descriptor_readable,
                                        begin, end),
        cmocka_unit_test_setup_teardown(the_timeout_counts_from_the_last_update, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_new_descriptor_is_added_by_the_next_run, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_loop_that_has_not_run_is_not_woken, begin, end),
        cmocka_unit_test_setup_teardown(calls_wake_a_loop_that_has_run, begin, end),
    };
    return cmocka_run_group_tests_name("backend_fd", tests, NULL, NULL);
}
