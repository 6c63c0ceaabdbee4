/* SPDX-License-Identifier: Apache-2.0 */
/* The server dies under a holder and a thousand waiters. If the session is there
 * when it is back, nobody has lost his place; if it is not, everybody is told
 * so once. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define LOCK "/restart/lock"
#define WAITERS 1000
#define SESSION_MS 30000

static struct world world;
static struct process a;
static struct hold holder, *waiters;
static struct raw_names before;
static int64_t tokens[WAITERS + 1]; /* of the znodes, in queue order */

/* A granted holder, then a thousand waiters that are known to be queued, and
 * their znodes as somebody else sees them. */
static void queue_up(void)
{
    waiters = calloc(WAITERS, sizeof(*waiters));
    assert_non_null(waiters);
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    hold_take(&holder, &a);
    for (int i = 0; i < WAITERS; i++) {
        hold_begin(&waiters[i], &a, UVZK_WAIT_FOREVER);
        waiters[i].release_at_once = true;
    }
    for (int i = 0; i < WAITERS; i++) {
        hold_await_queued(&waiters[i]);
    }
    assert_int_equal(raw_children(world.raw, LOCK, &before), ZOK);
    assert_int_equal(before.count, WAITERS + 1);
    for (size_t i = 0; i < before.count; i++) {
        struct Stat stat;
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", LOCK, before.names[i]);
        assert_int_equal(raw_exists(world.raw, path, &stat), ZOK);
        tokens[i] = stat.czxid;
    }
}

static void assert_same_znodes(void)
{
    struct raw_names after;
    assert_int_equal(raw_children(world.raw, LOCK, &after), ZOK);
    assert_int_equal(after.count, before.count);
    for (size_t i = 0; i < after.count; i++) {
        assert_string_equal(after.names[i], before.names[i]);
    }
    raw_names_free(&after);
    assert_int_equal(raw_creation_count(world.raw, LOCK), WAITERS + 1);
}

static void end(void)
{
    raw_names_free(&before);
    world_end(&world);
    free(waiters);
}

static void test_nobody_loses_the_place(void **state)
{
    (void)state;
    queue_up();
    int64_t session = uvzk_client_session_id(&a.client);
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    assert_true(server_restart(live_server));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);
    assert_same_znodes();
    assert_true(hold_holds(&holder));
    assert_int_equal(uvzk_client_session_id(&a.client), session);

    hold_give_back(&holder);
    assert_true(world_await_count(&world, &world.ends, WAITERS + 1, PATIENCE_MS));
    assert_int_equal(holder.token, tokens[0]);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].released, 1);
        assert_int_equal(waiters[i].queued, 1);
        assert_int_equal(waiters[i].granted_turn, holder.granted_turn + 1 + i);
        assert_int_equal(waiters[i].token, tokens[i + 1]);
    }
    end();
}

static void test_everybody_hears_of_the_lost_session(void **state)
{
    static struct hold later;
    (void)state;
    queue_up();
    int64_t session = uvzk_client_session_id(&a.client);
    proxy_refuse(&world.proxy); /* until the session is gone */
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    assert_true(server_restart(live_server));
    process_expire(&a);
    proxy_pass(&world.proxy);
    assert_true(world_await_count(&world, &world.ends, WAITERS + 1, PATIENCE_MS));
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);

    assert_int_not_equal(uvzk_client_session_id(&a.client), session);
    hold_take(&later, &a);
    assert_int_equal(world_children(&world, LOCK), 1);
    hold_give_back(&later);
    assert_int_equal(holder.lost, 1);
    assert_int_equal(holder.reason, UVZK_EEXPIRED);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].status, UVZK_EEXPIRED);
    }
    end();
}

/* A server that comes back empty refuses the session's connection for good: it
 * has seen less than the client has (its last zxid). Only another session helps,
 * and when the time of the old one is over it is not missed. */
static void test_outlives_an_empty_server(void **state)
{
    static struct hold queued, later;
    (void)state;
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = 2000;
    process_begin(&a, &world, "a", NULL);
    hold_begin(&holder, &a, UVZK_WAIT_FOREVER);
    hold_begin(&queued, &a, UVZK_WAIT_FOREVER);
    hold_await(&holder, PATIENCE_MS);
    hold_await_queued(&queued);
    server_kill(live_server);
    server_wipe(live_server);
    assert_true(server_restart(live_server));
    world_look_again(&world);
    assert_true(world_await(&world, &holder.lost, PATIENCE_MS));
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    hold_await_status(&queued, PATIENCE_MS, UVZK_EEXPIRED);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    hold_take(&later, &a);
    hold_give_back(&later);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_loses_the_place),
        cmocka_unit_test(test_everybody_hears_of_the_lost_session),
        cmocka_unit_test(test_outlives_an_empty_server),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
