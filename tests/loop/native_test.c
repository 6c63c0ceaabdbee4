/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of a test of the native port (native_test.h). */
#include "native_test.h"

#include <stdlib.h>

#include "native/native_port.h"
#include "native/sasl.h"
#include "run_loop.h"

struct native_test_settings native_test_settings;

int native_test_reset(void **state)
{
    (void)state;
    native_test_settings =
        (struct native_test_settings){.chroot = "", .session_timeout_ms = 4000};
    return 0;
}

static bool run(void *place, bool (*condition)(void *), void *context)
{
    struct native_test *test = place;

    return run_until(&test->loop, condition, context, PATIENCE_MS);
}

static struct uvzk__port *make_port(struct native_test *test)
{
    char hosts[128];
    uvzk_client_options_t options;
    struct uvzk__sasl_context *sasl = NULL;

    if (native_test_settings.sasl != NULL) {
        assert_int_equal(uvzk__sasl_context_new(native_test_settings.sasl, &sasl), 0);
    }
    uvzk_client_options_init(&options);
    snprintf(hosts, sizeof(hosts), "%s%s%s%s", test->server.hosts,
             native_test_settings.two_servers ? "," : "",
             native_test_settings.two_servers ? test->other.hosts : "",
             native_test_settings.chroot);
    options.hosts = hosts;
    options.auth_scheme = native_test_settings.auth_scheme;
    options.auth = options.auth_scheme == NULL ? NULL : "secret";
    options.auth_length = options.auth_scheme == NULL ? 0 : 6;
    options.session_timeout_ms = native_test_settings.session_timeout_ms;
    struct uvzk__loop_port *port =
        uvzk__native_port_new(&test->loop, &options, NULL, sasl);
    assert_non_null(port);
    uvzk__sasl_context_free(sasl);
    uvzk__port_loop_start(&port->port_loop);
    return &port->port;
}

struct native_test *native_begin(void)
{
    struct native_test *test = calloc(1, sizeof(*test));

    assert_non_null(test);
    uv_loop_init(&test->loop);
    scripted_server_open(&test->loop, &test->server);
    scripted_server_open(&test->loop, &test->other);
    test->server.timeout_ms = (int32_t)native_test_settings.session_timeout_ms;
    test->other.timeout_ms = test->server.timeout_ms;
    test->probe = probe_over(make_port(test), test, run);
    return test;
}

struct native_test *native_begin_connected(void)
{
    struct native_test *test = native_begin();

    probe_open(test->probe);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 1);
    return test;
}

void native_end(struct native_test *test)
{
    probe_end(test->probe);
    scripted_server_close(&test->server);
    scripted_server_close(&test->other);
    assert_int_equal(run_down(&test->loop), 0);
    free(test);
}

struct reached {
    const unsigned *counter;
    unsigned value;
};

static bool has_reached(void *context)
{
    const struct reached *reached = context;

    return *reached->counter >= reached->value;
}

void native_await(struct native_test *test, const unsigned *counter, unsigned value)
{
    struct reached reached = {counter, value};

    assert_true(run_until(&test->loop, has_reached, &reached, PATIENCE_MS));
}

void native_rearm_bytes(struct native_test *test, size_t bytes)
{
    struct uvzk__native_port *port =
        UVZK__CONTAINER_OF(test->probe->port, struct uvzk__native_port, base.port);

    port->watches.rearm_bytes = bytes;
}

void native_settle(struct native_test *test)
{
    (void)ask_wait(ask_sync(test->probe, "/settle"));
}

/* The next CONNECTED after a loss of the connection. */
void native_reconnect(struct native_test *test)
{
    unsigned before = test->probe->sessions[UVZK__SESSION_CONNECTED];

    scripted_server_drop(&test->server);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, before + 1);
}
