/* SPDX-License-Identifier: Apache-2.0 */
/* The public client over the real port: what init refuses, and that a refusal
 * leaves nothing on the loop. No server is needed. */
#include "cmocka_test.h"

#include <dlfcn.h>
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
    assert_int_equal(init_with_hosts("localhost:"), UV_EINVAL);
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

/* A client that never finds its server, in a loop of its own. */
struct lonely {
    uv_loop_t loop;
    uvzk_client_t client;
    int closed;
};

static void begin(struct lonely *lonely, const uvzk_client_options_t *options)
{
    memset(lonely, 0, sizeof(*lonely));
    lonely->client.data = &lonely->closed;
    assert_int_equal(uv_loop_init(&lonely->loop), 0);
    assert_int_equal(uvzk_client_init(&lonely->loop, &lonely->client, options), 0);
}

static void begin_usual(struct lonely *lonely, bool start)
{
    uvzk_client_options_t options;
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:1";
    begin(lonely, &options);
    if (start) {
        assert_int_equal(uvzk_client_start(&lonely->client), 0);
        for (int i = 0; i < 2; i++) { /* the opening among them */
            (void)uv_run(&lonely->loop, UV_RUN_ONCE);
        }
    }
}

static void count_close(uvzk_client_t *client)
{
    ++*(int *)client->data;
}

static void close_client(struct lonely *lonely)
{
    assert_int_equal(uvzk_client_close(&lonely->client, count_close), 0);
}

static void end(struct lonely *lonely)
{
    assert_int_equal(lonely->closed, 0);
    assert_int_equal(uv_run(&lonely->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(lonely->closed, 1);
    assert_int_equal(uv_loop_close(&lonely->loop), 0);
}

static void init_and_close(const uvzk_client_options_t *options)
{
    struct lonely lonely;
    begin(&lonely, options);
    close_client(&lonely);
    end(&lonely);
}

static void tls_is_refused_in_words(void **state)
{
    uvzk_client_options_t options;
    (void)state;
    uvzk_client_options_init(&options);
    options.hosts = "localhost:2181";
    options.tls = "ca.pem,client.pem,client.key";
    assert_int_equal(init_with(&options), UV_ENOTSUP);
    assert_non_null(strstr(uvzk_refusal(UV_ENOTSUP), "options.tls"));
    /* Whoever was built before there was such a field asks for nothing. */
    options.size = offsetof(uvzk_client_options_t, tls);
    init_and_close(&options);
}

/* What SECURITY.md says of Debian's build. One day it may have them: then options.tls can
 * mean something. */
static void the_zookeeper_client_has_neither_tls_nor_sasl(void **state)
{
    (void)state;
    assert_non_null(dlsym(RTLD_DEFAULT, "zookeeper_init2"));
    assert_null(dlsym(RTLD_DEFAULT, "zookeeper_init_ssl"));
    assert_null(dlsym(RTLD_DEFAULT, "zookeeper_init_sasl"));
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

static void an_unstarted_client_closes(void **state)
{
    struct lonely lonely;
    (void)state;
    begin_usual(&lonely, false);
    assert_true(uv_loop_alive(&lonely.loop)); /* until the close that is owed */
    close_client(&lonely);
    end(&lonely);
}

/* ------------------------------------------- libuv's usual ending of a loop */

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void a_walk_before_the_close_is_survived(void **state)
{
    struct lonely lonely;
    (void)state;
    for (int start = 0; start <= 1; start++) {
        begin_usual(&lonely, start != 0); /* the close at once */
        uv_walk(&lonely.loop, close_handle, NULL);
        close_client(&lonely);
        end(&lonely);

        begin_usual(&lonely, start != 0); /* when all is closed */
        uv_walk(&lonely.loop, close_handle, NULL);
        assert_int_equal(uv_run(&lonely.loop, UV_RUN_DEFAULT), 0);
        close_client(&lonely);
        end(&lonely);
    }
}

static void a_walk_after_the_close_is_survived(void **state)
{
    struct lonely lonely;
    (void)state;
    for (int start = 0; start <= 1; start++) {
        for (int turns = 0; turns < 8; turns++) {
            begin_usual(&lonely, start != 0);
            close_client(&lonely);
            for (int i = 0; i < turns && lonely.closed == 0; i++) {
                (void)uv_run(&lonely.loop, UV_RUN_NOWAIT);
            }
            uv_walk(&lonely.loop, close_handle, NULL);
            if (lonely.closed == 0) {
                end(&lonely);
            } else {
                assert_int_equal(uv_loop_close(&lonely.loop), 0);
            }
        }
    }
}

static void many_walks_are_survived(void **state)
{
    struct lonely lonely;
    (void)state;
    begin_usual(&lonely, true);
    uv_walk(&lonely.loop, close_handle, NULL);
    close_client(&lonely);
    for (int i = 0; i < 20 && lonely.closed == 0; i++) {
        uv_walk(&lonely.loop, close_handle, NULL);
        (void)uv_run(&lonely.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(uv_run(&lonely.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(lonely.closed, 1);
    assert_int_equal(uv_loop_close(&lonely.loop), 0);
}

static void an_unreferenced_client_lets_its_loop_end(void **state)
{
    struct lonely lonely;
    (void)state;
    begin_usual(&lonely, true);
    uvzk_client_unref(&lonely.client);
    uvzk_client_unref(&lonely.client);
    assert_int_equal(uv_run(&lonely.loop, UV_RUN_DEFAULT), 0);
    uvzk_client_ref(&lonely.client);
    uvzk_client_ref(&lonely.client);
    assert_true(uv_loop_alive(&lonely.loop));
    uvzk_client_unref(&lonely.client);
    assert_false(uv_loop_alive(&lonely.loop));
    close_client(&lonely); /* which keeps the loop alive until it is told */
    uvzk_client_unref(&lonely.client);
    assert_true(uv_loop_alive(&lonely.loop));
    end(&lonely);
    uvzk_client_ref(&lonely.client);
    uvzk_client_unref(&lonely.client);
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
        cmocka_unit_test(tls_is_refused_in_words),
        cmocka_unit_test(the_zookeeper_client_has_neither_tls_nor_sasl),
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
