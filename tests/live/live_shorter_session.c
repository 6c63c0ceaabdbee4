/* SPDX-License-Identifier: Apache-2.0 */
/* A rolling change of the configuration: one server of three allows shorter sessions than the
 * one that made the holder's. It renegotiates the timeout when the holder comes to it, and the
 * leader ends the session that much earlier.
 *
 *     holder ---relay 1---- the server that made the session, 16 s
 *           \---relay 2---- the one with the smaller limit, 3 s
 *     contender ----------- the former
 *
 * Then the holder is cut off from both. Its hold must have ended by the clock before the
 * contender is granted the lock. And the end comes nearer also while the holder's loop hears of
 * nothing. */
#include <stdio.h>
#include <time.h>

#include "relay.h"
#include "world.h"

#define LOCK "/shorter/lock"
#define SESSION_MS 16000
#define SHORTER_MS 3000

static struct world world;
static struct process holder, contender;
static struct hold holding, contending;
static struct relay *longer, *shorter;
static char hosts[128];

static void cut(struct relay *relay)
{
    relay_hold(relay, true, true);
    relay_hang_up(relay);
}

/* In front of that member, and its address. */
static struct relay *open_relay(int member, char address[64])
{
    char host[32];
    unsigned port = 0;
    assert_int_equal(
        sscanf(ensemble_hosts_of(ensemble, member), "%31[^:]:%u", host, &port), 2);
    struct relay *relay = relay_open(host, (uint16_t)port);
    assert_non_null(relay);
    snprintf(address, 64, "%s:%u", host, relay_port(relay));
    return relay;
}

static void begin(void)
{
    char first[64], second[64];

    world_begin(&world, LOCK);
    int follower = ensemble_follower(ensemble);
    assert_true(follower >= 0);
    assert_true(ensemble_limit_sessions(ensemble, follower, SHORTER_MS));
    assert_true(ensemble_wait_serving(ensemble));
    int leader = ensemble_leader(ensemble);
    assert_true(leader >= 0 && leader != follower);
    longer = open_relay(leader, first);
    shorter = open_relay(follower, second);
    cut(shorter);
    snprintf(hosts, sizeof(hosts), "%s,%s", first, second);
    world_look_from(&world, ensemble_hosts_of(ensemble, leader));
    world.options.session_timeout_ms = SESSION_MS;
    world.options.hosts = hosts;
    process_begin(&holder, &world, "holder", NULL);
    hold_take(&holding, &holder);
    world.options.hosts = ensemble_hosts_of(ensemble, leader);
    process_begin(&contender, &world, "contender", NULL);
    hold_queue(&contending, &contender, NULL);
}

static void end(void)
{
    hold_give_back(&contending);
    relay_hold(longer, false, false);
    assert_true(world_await(&world, &holder.lost, PATIENCE_MS));
    process_end(&holder);
    process_end(&contender);
    relay_close(longer);
    relay_close(shorter);
    world_end(&world);
}

static void test_a_hold_ends_before_its_shortened_session(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvzk_client_session_timeout(&holder.client), SESSION_MS);
    cut(longer);
    relay_hold(shorter, false, false);
    assert_true(world_await(&world, &holder.reconnected, PATIENCE_MS));
    assert_int_equal(uvzk_client_session_timeout(&holder.client), SHORTER_MS);
    assert_true(uvzk_hold_valid_until(&holding.request) <= uvzk_now() + SHORTER_MS);
    assert_int_equal(holding.lost, 0); /* it goes on in a shorter session */
    cut(shorter);
    hold_await(&contending, PATIENCE_MS);
    assert_false(uvzk_hold_is_valid(&holding.request));
    hold_await_lost(&holding, PATIENCE_MS, UVZK_EPROOF);
    end();
}

/* ------------------------------------------------------------------------ a late loop */

/* Those that the holder's client can make of it while the loop, which is this
 * thread's, does nothing else. */
static bool is_cut(uint64_t before)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (uint64_t since = uvzk_now(); uvzk_now() - since < PATIENCE_MS;) {
        if (uvzk_hold_valid_until(&holding.request) < before) {
            return true;
        }
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

static void test_a_late_loop_believes_no_longer_session(void **state)
{
    (void)state;
    if (world_is_native()) {
        skip(); /* no thread beside the loop connects */
    }
    world_begin(&world, LOCK);
    assert_true(ensemble_wait_serving(ensemble));
    int follower = ensemble_follower(ensemble);
    assert_true(follower >= 0);
    assert_true(ensemble_limit_sessions(ensemble, follower, SESSION_MS));
    assert_true(ensemble_wait_serving(ensemble));
    world.options.session_timeout_ms = SESSION_MS;
    world.options.hosts = ensemble_hosts_of(ensemble, follower);
    process_begin(&holder, &world, "holder", NULL);
    hold_take(&holding, &holder);
    uint64_t before = uvzk_hold_valid_until(&holding.request);
    assert_true(ensemble_limit_sessions(ensemble, follower, SHORTER_MS));
    assert_true(is_cut(before));
    assert_true(uvzk_hold_valid_until(&holding.request) <= uvzk_now() + SHORTER_MS);
    assert_int_equal(holder.suspended, 0); /* it has heard of nothing */
    ensemble_kill(ensemble, follower);
    hold_await_lost(&holding, PATIENCE_MS, UVZK_EPROOF);
    assert_true(ensemble_revive(ensemble, follower));
    assert_true(ensemble_wait_serving(ensemble));
    process_end(&holder);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_loop_believes_no_longer_session),
        cmocka_unit_test(test_a_hold_ends_before_its_shortened_session),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
