/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that answer pings and nothing else, or that break the protocol on each
 * connection, in front of a real one: clients of both transports leave the first kind, and
 * native clients do not hammer the second. */
#include "world.h"

#define LOCK "/faulty"
#define SESSION_MS 3000

static struct world world;
static struct process a, b;
static struct hold first, second;
static struct proxy other;
/* One of world.proxy and `other`: a is connected by way of the first one. */
static struct proxy *faulty, *good;

static void begin_with(uvzk_transport_t transport, const char *hosts)
{
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    world.options.transport = transport;
    process_begin(&a, &world, "a", NULL);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
}

static void begin(uvzk_transport_t transport)
{
    static char hosts[80];

    world_begin(&world, LOCK);
    world_use_proxy(&world);
    assert_int_equal(proxy_open(world.loop, &other, server_port(live_server)), 0);
    snprintf(hosts, sizeof(hosts), "%s,%s", world.proxy.hosts, other.hosts);
    begin_with(transport, hosts);
    bool is_other = other.session_id == uvzk_client_session_id(&a.client);
    faulty = is_other ? &other : &world.proxy;
    good = is_other ? &world.proxy : &other;
}

static void end(void)
{
    process_end(&a);
    proxy_close(&other);
    world_end(&world);
}

/* ---------------------------------------------------------------- requests unanswered */

/* A waiter whose server would never tell it that it is its turn. */
static void leaves_who_answers_pings_alone(uvzk_transport_t transport)
{
    begin(transport);
    int64_t session = uvzk_client_session_id(&a.client);
    world.options.hosts = server_hosts(live_server);
    process_begin(&b, &world, "b", NULL);
    hold_take(&first, &b);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_await_queued(&second);
    faulty->pings_alone = true;
    hold_give_back(&first);
    hold_acquire_release(&second, PATIENCE_MS);
    assert_true(uvzk_client_session_id(&a.client) == session);
    process_end(&b);
    end();
}

static void test_native_leaves_who_answers_pings_alone(void **state)
{
    (void)state;
    leaves_who_answers_pings_alone(UVZK_TRANSPORT_NATIVE);
}

static void test_c_client_leaves_who_answers_pings_alone(void **state)
{
    (void)state;
    leaves_who_answers_pings_alone(UVZK_TRANSPORT_C_CLIENT);
}

/* How long the loop needs for the next loss of the connection. */
static uint64_t next_loss(void)
{
    uint64_t since = world_now(&world);

    assert_true(world_await_count(&world, &a.suspended, a.suspended + 1, PATIENCE_MS));
    return world_now(&world) - since;
}

/* It is left after two thirds of the session timeout, and the client comes back to it: there
 * is no other. So it has no more than one connection in that time, without any pause. */
static void comes_back_to_the_only_one(uvzk_transport_t transport)
{
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    begin_with(transport, world.proxy.hosts);
    uint32_t timeout_ms = uvzk_client_session_timeout(&a.client);
    world.proxy.pings_alone = true;
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    (void)next_loss();
    for (int i = 0; i < 3; i++) {
        assert_true(next_loss() >= timeout_ms / 2);
    }
    world.proxy.pings_alone = false;
    hold_acquire_release(&first, PATIENCE_MS);
    process_end(&a);
    world_end(&world);
}

static void test_native_comes_back_to_the_only_one(void **state)
{
    (void)state;
    comes_back_to_the_only_one(UVZK_TRANSPORT_NATIVE);
}

static void test_c_client_comes_back_to_the_only_one(void **state)
{
    (void)state;
    comes_back_to_the_only_one(UVZK_TRANSPORT_C_CLIENT);
}

/* ----------------------------------------------------------------- the protocol broken */

static bool is_connected(void *process)
{
    return process_connected(process);
}

static void test_native_pauses_at_who_breaks_the_protocol(void **state)
{
    (void)state;
    begin(UVZK_TRANSPORT_NATIVE);
    int64_t session = uvzk_client_session_id(&a.client);
    proxy_refuse(good);
    faulty->breaks = true;
    proxy_cut(faulty);
    for (int i = 0; i < 6; i++) {
        (void)next_loss();
    }
    /* A tenth, less the pause's quarter twice. */
    assert_true(next_loss() >= uvzk_client_session_timeout(&a.client) / 20);
    proxy_pass(good);
    assert_true(world_await_that(&world, is_connected, &a));
    hold_take(&first, &a);
    hold_give_back(&first);
    assert_true(uvzk_client_session_id(&a.client) == session);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_leaves_who_answers_pings_alone),
        cmocka_unit_test(test_c_client_leaves_who_answers_pings_alone),
        cmocka_unit_test(test_native_comes_back_to_the_only_one),
        cmocka_unit_test(test_c_client_comes_back_to_the_only_one),
        cmocka_unit_test(test_native_pauses_at_who_breaks_the_protocol),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
