/* SPDX-License-Identifier: Apache-2.0 */
/* The native transport without memory: the n-th allocation of the library fails, once or for
 * three seconds, for growing n, until one runs through. Meanwhile two clients take turns
 * at a mutex, their connections are reset, one session is ended, and the servers do not know
 * every request. Whatever fails, nobody holds beside another, everybody has the lock again
 * when there is memory, and nothing is left. */
#include "cmocka_test.h"

#include <string.h>

#include "client/create.h"
#include "failing_allocator.h"
#include "uvzk.h"
#include "virtual_port.h"

#define CLIENTS 2
#define TIMEOUT_MS 4000U
#define SCARCE_MS 3000U /* as long as allocations fail, if not once */
#define ACTIVE_MS 9000U
#define HEAL_MS 60000U
#define HOLD_MS 20U
/* Of the first allocations each fails; then they repeat, in steps that meet all sooner or
 * later. */
#define EACH_OF 150U
#define LATER_EACH 7U

struct client {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    struct uvzk__port *port;
    bool open, asks, holds, releasing, closed;
    uint64_t since, next; /* when it was granted; when it asks again */
    unsigned grants;
};

static struct sim *sim;
static struct client clients[CLIENTS];

/* -------------------------------------------------------------------------- one client */

static void ask_later(struct client *client, uint64_t ms)
{
    client->asks = client->holds = client->releasing = false;
    client->next = sim_now(sim) + ms;
    memset(&client->hold, 0, sizeof(client->hold));
    client->hold.data = client;
}

static void released(uvzk_hold_t *hold, int status)
{
    struct client *client = hold->data;

    (void)status;
    ask_later(client, HOLD_MS);
}

static void acquired(uvzk_hold_t *hold, int status)
{
    struct client *client = hold->data;

    client->asks = false;
    if (status == 0) {
        client->holds = true;
        client->since = sim_now(sim);
        client->grants++;
    } else {
        assert_true(status == UV_ENOMEM || status == UVZK_EEXPIRED ||
                    status == UVZK_ECLOSED || status == UVZK_ECONNLOSS);
        ask_later(client, 10 * HOLD_MS);
    }
}

static void lost(uvzk_hold_t *hold, int reason)
{
    struct client *client = hold->data;

    (void)reason;
    if (!client->releasing) {
        ask_later(client, HOLD_MS);
    }
}

static void closed(uvzk_client_t *handle)
{
    struct client *client = handle->data;

    client->closed = true;
}

static int create(struct client *client)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1";
    options.session_timeout_ms = TIMEOUT_MS;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    return uvzk__client_create(&client->client, client->port, &options, UVZK__TUNE_ALL);
}

/* Without memory there is no client at first. */
static void open_client(struct client *client, const char *name)
{
    memset(client, 0, sizeof(*client));
    client->client.data = client;
    client->port = virtual_port_new(name, NULL, TIMEOUT_MS);
    if (client->port == NULL) {
        return;
    }
    if (create(client) != 0) {
        virtual_port_free(client->port);
        return;
    }
    virtual_port_start(client->port);
    client->open = true;
    (void)uvzk_client_start(&client->client);
    ask_later(client, 0);
}

static void act(struct client *client)
{
    uint64_t now = sim_now(sim);

    if (client->mutex.impl == NULL &&
        uvzk_mutex_init(&client->client, &client->mutex, "/locks/deep/a") != 0) {
        return;
    }
    if (client->holds && !client->releasing && now >= client->since + HOLD_MS) {
        client->releasing = true;
        if (uvzk_hold_release(&client->hold, released) != 0) {
            client->releasing = false;
        }
    } else if (!client->asks && !client->holds && now >= client->next) {
        client->asks =
            uvzk_lock_acquire(&client->mutex, &client->hold, NULL, acquired, lost) == 0;
        client->next = now + HOLD_MS;
    }
}

/* ------------------------------------------------------------------------------ the play */

static void check(void)
{
    unsigned holders = 0;

    for (int i = 0; i < CLIENTS; i++) {
        holders += clients[i].holds && uvzk_hold_is_valid(&clients[i].hold);
    }
    assert_true(holders <= 1);
}

/* Every ms somebody may act. */
static void run_ms(bool scarce)
{
    sim_run_for(sim, 1);
    check();
    if (scarce) {
        failing_allocator_stop_after(SCARCE_MS, sim_now(sim));
    }
    for (int i = 0; i < CLIENTS; i++) {
        if (!clients[i].open) {
            open_client(&clients[i], i == 0 ? "a" : "b");
        } else {
            act(&clients[i]);
        }
    }
}

/* Nothing protects a hold from the end of its session, nor a grant that is under way. So
 * the other client's session ends while this one holds. */
static void disturb(uint64_t at, bool *expired)
{
    if (at == 2000) {
        virtual_port_reset(clients[0].port, 100);
    } else if (at >= 3000 && !*expired && clients[0].holds && !clients[0].releasing) {
        virtual_port_expire(clients[1].port);
        *expired = true;
    }
}

static void live(void)
{
    bool expired = false;

    for (uint64_t at = 0; at < ACTIVE_MS; at++) {
        run_ms(true);
        if (clients[0].open && clients[1].open) {
            disturb(at, &expired);
        }
    }
    failing_allocator_stop();
    clients[0].grants = clients[1].grants = 0;
    for (uint64_t at = 0; clients[0].grants < 2 || clients[1].grants < 2; at++) {
        assert_true(at < HEAL_MS);
        run_ms(false);
    }
}

static void close_all(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(uvzk_client_close(&clients[i].client, closed), 0);
    }
    for (uint64_t at = 0; !clients[0].closed || !clients[1].closed; at++) {
        assert_true(at < HEAL_MS);
        sim_run_for(sim, 1);
    }
    sim_run_for(sim, 2 * TIMEOUT_MS);
    assert_int_equal(sim_session_count(sim), 0);
    assert_int_equal(sim_children(sim, "/locks/deep/a", NULL, 0), 0);
    assert_int_equal(failing_allocator_live_blocks(), 0);
}

/* Returns whether an allocation has failed. */
static bool play(uint64_t nth, uint64_t count, const struct sim_options *options)
{
    sim = sim_new(1, options);
    virtual_ports_begin(sim);
    failing_allocator_arm(nth, count);
    memset(clients, 0, sizeof(clients));
    live();
    bool failed = failing_allocator_failures() > 0;
    close_all();
    virtual_ports_end();
    sim_free(sim);
    return failed;
}

static void play_all(uint64_t count, bool knows_all)
{
    struct sim_options options;
    uint64_t nth = 1;

    sim_options_init(&options);
    options.latency_max_ms = 2;
    options.trace = false;
    options.no_create2 = options.no_containers = options.no_removal =
        options.no_persistent_watches = !knows_all;
    while (play(nth, count, &options)) {
        nth += nth < EACH_OF ? 1 : LATER_EACH;
    }
    assert_true(nth > 100);
}

static void once(void **state)
{
    (void)state;
    play_all(1, true);
}

static void for_three_seconds(void **state)
{
    (void)state;
    play_all(FAILING_ALLOCATOR_FOREVER, true);
}

static void once_at_servers_that_know_less(void **state)
{
    (void)state;
    play_all(1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once),
        cmocka_unit_test(for_three_seconds),
        cmocka_unit_test(once_at_servers_that_know_less),
    };
    assert_int_equal(failing_allocator_install(), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
