/* SPDX-License-Identifier: Apache-2.0 */
/* A client without a connection says why, and goes on saying so, ever more seldom. */
#include "world.h"

#include <string.h>

#define SECOND 1000U
#define LATE_MS 400U /* the port tries every now and then, and only then it is told */

static struct world world;
static struct process a;
static struct {
    int lines; /* "no connection for ..." */
    char last[256];
} told;

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    (void)client;
    if (strncmp(line, "no connection for ", 18) == 0) {
        assert_int_equal(level, UVZK_LOG_WARN);
        told.lines++;
        (void)snprintf(told.last, sizeof(told.last), "%s", line);
    }
}

static void begin(uint64_t away_ms)
{
    uvzk_client_options_t options;

    memset(&told, 0, sizeof(told));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.log_cb = on_log;
    if (away_ms > 0) {
        sim_restart(world.sim, away_ms);
    }
    process_begin(&a, &world, "a", &options);
}

static uvzk_client_error_t last_error(void)
{
    uvzk_client_error_t error;

    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
    return error;
}

static int times_latent(void)
{
    int times = 0;

    for (size_t i = 0; i < a.state_count; i++) {
        times += a.states[i] == UVZK_STATE_LATENT;
    }
    return times;
}

static void never_connected(void **state)
{
    static const uint64_t moments_s[] = {5, 15, 35, 75, 155, 315, 615, 915};
    uint64_t from;
    (void)state;

    begin(1000 * SECOND);
    from = world_now(&world);
    assert_int_equal(last_error().code, 0);
    assert_string_equal(last_error().text, "");
    assert_string_equal(last_error().address, "");
    for (int i = 0; i < 8; i++) {
        world_run_until(&world, from + moments_s[i] * SECOND);
        assert_int_equal(told.lines, i);
        assert_int_equal(times_latent(), i);
        world_run_for(&world, LATE_MS * (unsigned)(i + 1));
        assert_int_equal(told.lines, i + 1);
        assert_int_equal(times_latent(), i + 1);
    }
    assert_string_equal(told.last,
                        "no connection for 915 s: sim:2181: connection refused");
    assert_int_equal(last_error().code, UV_ECONNREFUSED);
    assert_string_equal(last_error().address, "sim:2181");
    assert_string_equal(last_error().text, "connection refused");
    assert_in_range(last_error().at, world_now(&world) - LATE_MS, world_now(&world));
    assert_true(process_await_connected(&a, 100 * SECOND));
    world_run_for(&world, 600 * SECOND);
    assert_int_equal(told.lines, 8);
    assert_int_equal(last_error().code, UV_ECONNREFUSED);
    world_end(&world);
}

/* Only the log: the states have said so already. */
static void connected_before(void **state)
{
    (void)state;
    begin(0);
    assert_true(process_await_connected(&a, SECOND));
    sim_disconnect(a.port, SIM_RESET, 40 * SECOND);
    world_run_for(&world, 5);
    assert_int_equal(last_error().code, UVZK_ECONNLOSS);
    world_run_for(&world, 39 * SECOND);
    assert_int_equal(told.lines, 3);
    assert_int_equal(times_latent(), 0);
    assert_true(process_await_connected(&a, 10 * SECOND));
    sim_disconnect(a.port, SIM_RESET, 6 * SECOND); /* it begins anew */
    world_run_for(&world, 4 * SECOND);
    assert_int_equal(told.lines, 3);
    world_run_for(&world, 2 * SECOND);
    assert_int_equal(told.lines, 4);
    world_end(&world);
}

static void the_session_has_ended(void **state)
{
    (void)state;
    begin(0);
    assert_true(process_await_connected(&a, SECOND));
    a.killed = true;
    assert_true(sim_expire_connected(a.port));
    world_run_for(&world, SECOND);
    assert_int_equal(last_error().code, UVZK_EEXPIRED);
    assert_true(process_connected(&a));
    sim_fail_auth(a.port);
    world_run_for(&world, 60 * SECOND);
    assert_int_equal(last_error().code, UVZK_EAUTH);
    world_end(&world);
}

/* The search for servers says of which name nobody knows, and then the opening fails: of
 * that, not of nobody's. Another reason has nothing to do with it. */
static void whose_it_is_stays_known(void **state)
{
    static const struct uvzk__connect_error unknown = {UV_EAI_NONAME, "zk.test",
                                                       "unknown"};
    static const int codes[] = {UV_EAI_NONAME, UV_ENOMEM};
    uvzk_client_options_t options;
    (void)state;

    for (int i = 0; i < 2; i++) {
        world_begin_exact(&world, UVZK__TUNE_ALL, 1);
        process_options(&options);
        process_make(&a, &world, "a", &options);
        a.port->user->no_connection(a.port->user, &unknown);
        assert_string_equal(last_error().address, "zk.test");
        a.may_log_errors = true;
        sim_fail_open(a.port, codes[i]);
        process_start(&a);
        world_run_for(&world, SECOND / 10);
        assert_int_equal(last_error().code, codes[i]);
        assert_string_equal(last_error().address, i == 0 ? "zk.test" : "");
        world_end(&world);
    }
}

/* Whoever reads that there is no connection may give up. */
static void close_when_told(uvzk_client_t *client, uvzk_client_state_t state)
{
    if (state == UVZK_STATE_LATENT) {
        assert_int_equal(uvzk_client_close(client, NULL), 0);
    }
}

static void it_may_be_closed_then(void **state)
{
    uvzk_client_options_t options;
    uvzk_client_t client = {.data = NULL};
    (void)state;

    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    sim_restart(world.sim, 100 * SECOND);
    process_options(&options);
    options.state_cb = close_when_told;
    assert_int_equal(uvzk__client_create(&client, sim_port_new(world.sim, "a"), &options,
                                         UVZK__TUNE_ALL),
                     0);
    assert_int_equal(uvzk_client_start(&client), 0);
    world_run_for(&world, 10 * SECOND);
    assert_null(client.impl);
    world_end(&world);
}

static void what_may_be_asked(void **state)
{
    uvzk_client_error_t error;
    uvzk_client_t nobody = {.data = NULL};
    (void)state;

    begin(0);
    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(NULL, &error), UV_EINVAL);
    assert_int_equal(uvzk_client_last_error(&a.client, NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_last_error(&nobody, &error), UVZK_ESTATE);
    error.size = 4;
    assert_int_equal(uvzk_client_last_error(&a.client, &error), UV_EINVAL);
    uvzk_client_error_init_size(NULL, sizeof(error));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_connected),
        cmocka_unit_test(connected_before),
        cmocka_unit_test(the_session_has_ended),
        cmocka_unit_test(it_may_be_closed_then),
        cmocka_unit_test(whose_it_is_stays_known),
        cmocka_unit_test(what_may_be_asked),
    };
    return cmocka_run_group_tests_name("no_connection_is_said", tests, NULL, NULL);
}
