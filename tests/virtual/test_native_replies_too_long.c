/* SPDX-License-Identifier: Apache-2.0 */
/* A listing that is longer than a native client takes. The connection ends behind it, and the
 * directory is listed again on the next one. This is not done more often than the pauses
 * between these connections allow, which grow; and a wait ends at its time-out. */
#include "cmocka_test.h"

#include <string.h>

#include "client/create.h"
#include "native/opcode.h"
#include "tampering.h"
#include "uvzk.h"
#include "virtual_port.h"

#define TIMEOUT_MS 4000U
#define WAIT_MS 20000
#define PATIENCE_MS 60000U
/* Pauses of less than a tenth of the session timeout, after some that are shorter. */
#define MOST_LISTINGS (WAIT_MS / (TIMEOUT_MS / 25 * 2) + 10)

#define NO_STATUS 9999

struct client {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    int status, closed;
    uint64_t answered_ms;
};

static struct sim *sim;
static struct client a, b;

static void acquired(uvzk_hold_t *hold, int status)
{
    struct client *client = hold->data;

    client->status = status;
    client->answered_ms = sim_now(sim);
}

static void lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("a hold is lost: %s", uvzk_err_name(reason));
}

static void queued(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    (void)ahead;
}

static void released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, 0);
}

static void closed(uvzk_client_t *client)
{
    ((struct client *)client->data)->closed++;
}

static bool await(const int *place, int not_this)
{
    for (uint64_t until = sim_now(sim) + PATIENCE_MS;
         *place == not_this && sim_now(sim) < until;) {
        sim_run_for(sim, 1);
    }
    return *place != not_this;
}

static void begin(struct client *client, const char *name)
{
    uvzk_client_options_t options;

    memset(client, 0, sizeof(*client));
    client->client.data = client;
    client->hold.data = client;
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1";
    options.session_timeout_ms = TIMEOUT_MS;
    struct uvzk__port *port = virtual_port_new(name, NULL, TIMEOUT_MS);
    assert_int_equal(uvzk__client_create(&client->client, port, &options, UVZK__TUNE_ALL),
                     0);
    virtual_port_start(port);
    assert_int_equal(uvzk_client_start(&client->client), 0);
    assert_int_equal(uvzk_mutex_init(&client->client, &client->mutex, "/locks/a"), 0);
}

static void acquire(struct client *client, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_ms;
    options.queued_cb = queued;
    client->status = NO_STATUS;
    assert_int_equal(
        uvzk_lock_acquire(&client->mutex, &client->hold, &options, acquired, lost), 0);
}

static int setup(void **state)
{
    struct sim_options options;

    (void)state;
    sim_options_init(&options);
    options.latency_max_ms = 2;
    sim = sim_new(1, &options);
    virtual_ports_begin(sim);
    begin(&a, "a");
    begin(&b, "b");
    acquire(&a, UVZK_WAIT_FOREVER);
    assert_true(await(&a.status, NO_STATUS));
    assert_int_equal(a.status, 0);
    return 0;
}

static void end(struct client *client)
{
    assert_int_equal(uvzk_client_close(&client->client, closed), 0);
    assert_true(await(&client->closed, 0));
}

static int teardown(void **state)
{
    (void)state;
    end(&a);
    end(&b);
    virtual_ports_end();
    sim_free(sim);
    return 0;
}

static int last_error(const struct client *client)
{
    uvzk_client_error_t error;

    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&client->client, &error), 0);
    return error.code;
}

/* The time may be up while there is a connection or while there is none. */
static void a_wait_ends_at_its_timeout(void **state)
{
    (void)state;
    uint64_t since = sim_now(sim);
    (void)tampering_exceed(UVZK__OPCODE_GET_CHILDREN);
    acquire(&b, WAIT_MS);
    assert_true(await(&b.status, NO_STATUS));
    unsigned listings = tampering_exceed(0);
    assert_true(b.status == UVZK_EUNREACHABLE || b.status == UVZK_ENOTQUEUED);
    assert_in_range(b.answered_ms - since, WAIT_MS, WAIT_MS + 100);
    assert_in_range(listings, 2, MOST_LISTINGS);
    assert_int_equal(last_error(&b), UV_EMSGSIZE);
    assert_int_equal(uvzk_hold_release(&a.hold, released), 0);
    acquire(&b, UVZK_WAIT_FOREVER);
    assert_true(await(&b.status, NO_STATUS));
    assert_int_equal(b.status, 0);
    assert_int_equal(uvzk_hold_release(&b.hold, released), 0);
    sim_run_for(sim, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_ends_at_its_timeout, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
