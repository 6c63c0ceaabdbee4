/* SPDX-License-Identifier: Apache-2.0 */
/* The world of test_together over the native transport in virtual time. */
#include "cmocka_test.h"

#include <string.h>

#include "client/create.h"
#include "together_world.h"
#include "virtual_port.h"

#define TIMEOUT_MS 10000U
#define CLOSE_MS 60000U

const uint64_t together_seeds = 3;
const bool together_writes_the_page = false;

static struct sim *sim;
static uvzk_client_t clients[2];
static int open_clients;

static void open_client(uvzk_client_t *client, const char *name)
{
    struct uvzk__port *port = virtual_port_new(name, NULL, TIMEOUT_MS);
    uvzk_client_options_t options;

    assert_non_null(port);
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1";
    options.session_timeout_ms = TIMEOUT_MS;
    options.default_data = "d";
    options.default_data_length = 1;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    assert_int_equal(uvzk__client_create(client, port, &options, UVZK__TUNE_ALL), 0);
    virtual_port_start(port);
    assert_int_equal(uvzk_client_start(client), 0);
    open_clients++;
}

void together_world_begin(uint64_t seed)
{
    struct sim_options options;

    sim_options_init(&options);
    options.trace = false;
    options.session_timeout_ms = TIMEOUT_MS;
    sim = sim_new(seed, &options);
    virtual_ports_begin(sim);
    memset(clients, 0, sizeof(clients));
    open_client(&clients[0], "a");
    open_client(&clients[1], "b");
    sim_run_for(sim, 1000);
}

uvzk_client_t *together_world_client(int number)
{
    return &clients[number];
}

void together_world_run(unsigned ms)
{
    sim_run_for(sim, ms);
}

static void closed(uvzk_client_t *client)
{
    (void)client;
    open_clients--;
}

void together_world_end(void)
{
    assert_int_equal(uvzk_client_close(&clients[0], closed), 0);
    assert_int_equal(uvzk_client_close(&clients[1], closed), 0);
    for (unsigned at = 0; open_clients > 0; at += 100) {
        assert_true(at < CLOSE_MS);
        sim_run_for(sim, 100);
    }
    assert_int_equal(sim_session_count(sim), 0);
    virtual_ports_end();
    sim_free(sim);
}
