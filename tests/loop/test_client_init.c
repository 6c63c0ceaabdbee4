/* The public client over the real port: what init refuses, and that a refusal
 * leaves nothing on the loop. No server is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "uvzk.h"

static int init_with(const uvzk_client_options_t *options)
{
    uv_loop_t loop;
    uvzk_client_t client;
    memset(&client, 0, sizeof(client));
    assert_int_equal(uv_loop_init(&loop), 0);
    int rc = uvzk_client_init(&loop, &client, options);
    assert_true(rc < 0);
    assert_null(client.impl);
    assert_int_equal(uv_loop_close(&loop), 0); /* at once, without a turn */
    return rc;
}

static int init_with_hosts(const char *hosts)
{
    uvzk_client_options_t options;
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    return init_with(&options);
}

static void bad_hosts_are_refused(void **state)
{
    (void)state;
    assert_int_equal(init_with(NULL), UV_EINVAL);
    assert_int_equal(init_with_hosts(NULL), UV_EINVAL);
    assert_int_equal(init_with_hosts(""), UV_EINVAL);
    assert_int_equal(init_with_hosts("localhost"), UV_EINVAL);
    assert_int_equal(init_with_hosts("localhost:2181,"), UV_EINVAL);
    assert_int_equal(init_with_hosts("localhost:2181/a//b"), UVZK_EPATH);
}

static void bad_options_are_refused(void **state)
{
    uvzk_client_options_t options;
    (void)state;
    uvzk_client_options_init(&options);
    options.hosts = "localhost:2181";
    options.proof = 99;
    assert_int_equal(init_with(&options), UV_EINVAL);
    options.proof = UVZK_PROOF_QUORUM;
    options.size = 1;
    assert_int_equal(init_with(&options), UV_EINVAL);
}

static void init_and_close(const uvzk_client_options_t *options)
{
    uv_loop_t loop;
    uvzk_client_t client;
    memset(&client, 0, sizeof(client));
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uvzk_client_init(&loop, &client, options), 0);
    assert_int_equal(uvzk_client_close(&client, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Of 1 ms the C client would make a storm, of 1100000000 it would never connect. */
static void times_out_of_bounds_are_refused(void **state)
{
    static const uint32_t bad[] = {1, 499, 86400001, 1100000000, INT32_MAX, UINT32_MAX};
    static const uint32_t bad_ticks[] = {1, 9, 86400001, INT32_MAX, UINT32_MAX};
    uvzk_client_options_t options;
    (void)state;
    uvzk_client_options_init(&options);
    options.hosts = "localhost:2181";
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        options.session_timeout_ms = bad[i];
        assert_int_equal(init_with(&options), UV_EINVAL);
    }
    options.session_timeout_ms = 500;
    for (size_t i = 0; i < sizeof(bad_ticks) / sizeof(bad_ticks[0]); i++) {
        options.tick_ms = bad_ticks[i];
        assert_int_equal(init_with(&options), UV_EINVAL);
    }
    options.tick_ms = 10;
    init_and_close(&options);
    options.session_timeout_ms = options.tick_ms = 86400000;
    init_and_close(&options);
    options.session_timeout_ms = options.tick_ms = 0;
    init_and_close(&options);
}

static void count_close(uvzk_client_t *client)
{
    ++*(int *)client->data;
}

static void an_unstarted_client_closes(void **state)
{
    uv_loop_t loop;
    uvzk_client_t client;
    uvzk_client_options_t options;
    int closed = 0;
    (void)state;
    memset(&client, 0, sizeof(client));
    client.data = &closed;
    uvzk_client_options_init(&options);
    options.hosts = "localhost:2181";
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uvzk_client_init(&loop, &client, &options), 0);
    assert_true(uv_loop_alive(&loop)); /* until the close that is owed */
    assert_int_equal(uvzk_client_close(&client, count_close), 0);
    assert_int_equal(closed, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(closed, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* ------------------------------------------- libuv's usual ending of a loop */

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* A client that never finds its server, in a loop that others close handles of. */
struct walked {
    uv_loop_t loop;
    uvzk_client_t client;
    int closed;
};

static void begin_walked(struct walked *walked, bool start)
{
    uvzk_client_options_t options;
    memset(walked, 0, sizeof(*walked));
    walked->client.data = &walked->closed;
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:1";
    assert_int_equal(uv_loop_init(&walked->loop), 0);
    assert_int_equal(uvzk_client_init(&walked->loop, &walked->client, &options), 0);
    if (start) {
        assert_int_equal(uvzk_client_start(&walked->client), 0);
        for (int i = 0; i < 2; i++) { /* the opening among them */
            (void)uv_run(&walked->loop, UV_RUN_ONCE);
        }
    }
}

static void end_walked(struct walked *walked)
{
    assert_int_equal(walked->closed, 0);
    assert_int_equal(uv_run(&walked->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(walked->closed, 1);
    assert_int_equal(uv_loop_close(&walked->loop), 0);
}

static void close_walked(struct walked *walked)
{
    assert_int_equal(uvzk_client_close(&walked->client, count_close), 0);
}

static void a_walk_before_the_close_is_survived(void **state)
{
    struct walked walked;
    (void)state;
    for (int start = 0; start <= 1; start++) {
        begin_walked(&walked, start != 0); /* the close at once */
        uv_walk(&walked.loop, close_handle, NULL);
        close_walked(&walked);
        end_walked(&walked);

        begin_walked(&walked, start != 0); /* when all is closed */
        uv_walk(&walked.loop, close_handle, NULL);
        assert_int_equal(uv_run(&walked.loop, UV_RUN_DEFAULT), 0);
        close_walked(&walked);
        end_walked(&walked);
    }
}

static void a_walk_after_the_close_is_survived(void **state)
{
    struct walked walked;
    (void)state;
    for (int start = 0; start <= 1; start++) {
        for (int turns = 0; turns < 8; turns++) {
            begin_walked(&walked, start != 0);
            close_walked(&walked);
            for (int i = 0; i < turns && walked.closed == 0; i++) {
                (void)uv_run(&walked.loop, UV_RUN_NOWAIT);
            }
            uv_walk(&walked.loop, close_handle, NULL);
            if (walked.closed == 0) {
                end_walked(&walked);
            } else {
                assert_int_equal(uv_loop_close(&walked.loop), 0);
            }
        }
    }
}

static void many_walks_are_survived(void **state)
{
    struct walked walked;
    (void)state;
    begin_walked(&walked, true);
    uv_walk(&walked.loop, close_handle, NULL);
    close_walked(&walked);
    for (int i = 0; i < 20 && walked.closed == 0; i++) {
        uv_walk(&walked.loop, close_handle, NULL);
        (void)uv_run(&walked.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(uv_run(&walked.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(walked.closed, 1);
    assert_int_equal(uv_loop_close(&walked.loop), 0);
}

static void an_unreferenced_client_lets_its_loop_end(void **state)
{
    struct walked walked;
    (void)state;
    begin_walked(&walked, true);
    uvzk_client_unref(&walked.client);
    uvzk_client_unref(&walked.client);
    assert_int_equal(uv_run(&walked.loop, UV_RUN_DEFAULT), 0);
    uvzk_client_ref(&walked.client);
    uvzk_client_ref(&walked.client);
    assert_true(uv_loop_alive(&walked.loop));
    uvzk_client_unref(&walked.client);
    assert_false(uv_loop_alive(&walked.loop));
    close_walked(&walked); /* which keeps the loop alive until it is told */
    uvzk_client_unref(&walked.client);
    assert_true(uv_loop_alive(&walked.loop));
    end_walked(&walked);
    uvzk_client_ref(&walked.client);
    uvzk_client_unref(&walked.client);
    uvzk_client_unref(NULL);
}

static void now_is_boot_time(void **state)
{
    struct timespec before, after;
    (void)state;
    clock_gettime(CLOCK_BOOTTIME, &before);
    uint64_t now = uvzk_now();
    clock_gettime(CLOCK_BOOTTIME, &after);
    assert_true(now >= (uint64_t)before.tv_sec * 1000U);
    assert_true(now <= ((uint64_t)after.tv_sec + 1) * 1000U);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_hosts_are_refused),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(times_out_of_bounds_are_refused),
        cmocka_unit_test(an_unstarted_client_closes),
        cmocka_unit_test(a_walk_before_the_close_is_survived),
        cmocka_unit_test(a_walk_after_the_close_is_survived),
        cmocka_unit_test(many_walks_are_survived),
        cmocka_unit_test(an_unreferenced_client_lets_its_loop_end),
        cmocka_unit_test(now_is_boot_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
