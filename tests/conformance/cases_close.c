/* SPDX-License-Identifier: Apache-2.0 */
/* close() in every state. That the port ends well is the probe's business and the
 * teardown's: closed() came once and last, and the loop is empty. */
#include "cases.h"

static void close_it(struct probe *probe)
{
    probe_close(probe);
    probe_await(probe, &probe->closed, 1);
}

void close_unopened(void **state)
{
    struct probe *probe = *state;
    struct ask *ask = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    probe->port->wake(probe->port);
    probe->port->alarm(probe->port, 1);
    close_it(probe);
    assert_int_equal(ask->status, UVZK_ECLOSED);
    assert_int_equal(probe->turns, 0);
}

void close_while_opening(void **state)
{
    struct probe *probe = *state;
    probe_open(probe);
    close_it(probe);
    assert_int_equal(probe->told, 1);
}

void close_soon_after_open(void **state)
{
    struct probe *probe = *state;
    probe_open(probe);
    world_run_for(probe->world, 2);
    uint64_t before = probe->told;
    close_it(probe);
    assert_int_equal(probe->told, before + 1);
}

/* In one go, and then the end. */
static void assert_all_closed(const struct probe *probe, struct ask *const *asks,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(asks[i]->status, UVZK_ECLOSED);
        assert_int_equal(asks[i]->replied_nth, asks[0]->replied_nth + i);
    }
    assert_int_equal(asks[count - 1]->replied_nth + 1, probe->told);
}

void close_with_requests_under_way(void **state)
{
    enum { COUNT = 1500 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    world_create(probe->world, "/a");
    for (int i = 0; i < COUNT; i++) {
        asks[i] =
            ask_submit(ask_new(probe, i % 3 == 0 ? UVZK__RPC_GET : UVZK__RPC_SET, "/a"));
    }
    close_it(probe);
    assert_all_closed(probe, asks, COUNT);
}

void close_inside_a_reply(void **state)
{
    enum { COUNT = 500 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
    asks[9]->closes = true;
    probe_await(probe, &probe->closed, 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(asks[i]->status, UVZK_ENONODE);
    }
    assert_all_closed(probe, asks + 10, COUNT - 10);
}

void close_while_disconnected(void **state)
{
    enum { COUNT = 100 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    probe_lose(probe);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
    close_it(probe);
    assert_all_closed(probe, asks, COUNT);
    world_restore(probe->world);
}

void close_with_watches(void **state)
{
    struct probe *probe = connected(state);
    world_create(probe->world, "/a");
    struct ask *armed = ask_done(ask_read(probe, UVZK__RPC_EXISTS, "/a", true));
    struct ask *given_up = watch_on(probe, UVZK__RPC_EXISTS, "/b");
    assert_int_equal(given_up->status, UVZK_ENONODE);
    ask_unwatch(given_up);
    struct ask *arming = ask_read(probe, UVZK__RPC_CHILDREN, "/", true);
    probe_close(probe);
    world_delete(probe->world, "/a");
    probe_await(probe, &probe->closed, 1);
    assert_int_equal(arming->status, UVZK_ECLOSED);
    assert_int_equal(armed->fired + arming->fired + given_up->fired, 0);
    assert_null(armed->watch.armed);
    assert_null(arming->watch.armed);
}

void close_after_expiry(void **state)
{
    struct probe *probe = connected(state);
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    close_it(probe);
}
