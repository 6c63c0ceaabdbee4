/* SPDX-License-Identifier: Apache-2.0 */
/* A follower may be behind the leader when a client comes to it, as far as the last
 * reply that the client has had; and an event is no reply.
 *
 *     former ticket holder --- leader --- proxy --- next ticket holder
 *                        |                     |
 *                     follower ---- proxy -----+
 *
 * The next ticket holder of a semaphore's leases learns by an event of the leader's that the
 * ticket before its own has gone, and loses its connection before it has listed the
 * leases. It comes to the follower, where the former ticket holder's lease is still to come: a
 * listing shows room for one more.
 *
 * A slow wire from the leader to the follower does not show this: the leader's word that
 * the session lives, without which the follower does not open the connection, comes on
 * the same wire, behind all that was committed before. But the follower carries out
 * what it knows to be committed in a thread of its own, which also takes the reads,
 * and those first; while that thread is short of time, the lag is there. */
#include "world.h"

#include <stdio.h>

#define SEMAPHORE "/lagging"
#define TICKETS SEMAPHORE "/locks"
#define LEASES SEMAPHORE "/leases"
#define COMMITTER "CommitProcessor"
#define SESSION_MS 30000
#define QUIET_MS 300 /* in which a wrong grant would come */

static struct world world; /* seen by the former ticket holder, at the leader */
static int leader, follower;
static struct proxy at_leader, at_follower;
static struct process a;
static uvzk_semaphore_t semaphore;
static struct hold hold;
static struct world_path ticket;

/* -------------------------------------------------------------- conditions */

static bool waits_for_the_ticket(void *context)
{
    (void)context;
    return ensemble_watch_count(ensemble, leader) == 2; /* and its own */
}

/* And what it has asked has arrived: a listing, or what has to be answered before it. */
static bool asks_the_follower(void *context)
{
    const int *requests = at_follower.requests;
    (void)context;
    return requests[PROXY_CHILDREN] + requests[PROXY_MULTI] > 0 &&
           ensemble_outstanding_count(ensemble, follower) >= 1;
}

/* Granted by a wrong count; or it has listed, is asking for nothing more, and has
 * withdrawn what it may have made. */
static bool has_counted(void *context)
{
    (void)context;
    return hold.answered > 0 || (at_follower.requests[PROXY_CHILDREN] > 0 &&
                                 ensemble_outstanding_count(ensemble, follower) == 0 &&
                                 world_children(&world, LEASES) == 1);
}

/* ------------------------------------------------------------------- scene */

static void take_the_ticket(void)
{
    world_look_from(&world, ensemble_hosts_of(ensemble, leader));
    world_make_path(&world, TICKETS);
    world_make_path(&world, LEASES);
    ticket = world_foreign_node(&world, TICKETS, "lock-");
}

/* The next ticket holder waits for the former one's ticket. */
static void begin(void)
{
    char hosts[128];
    world_begin(&world, NULL);
    leader = ensemble_leader(ensemble);
    follower = ensemble_follower(ensemble);
    assert_true(leader >= 0 && follower >= 0);
    take_the_ticket();
    assert_int_equal(
        proxy_open_to(world.loop, &at_leader, ensemble_hosts_of(ensemble, leader)), 0);
    assert_int_equal(
        proxy_open_to(world.loop, &at_follower, ensemble_hosts_of(ensemble, follower)),
        0);
    proxy_refuse(&at_follower);
    snprintf(hosts, sizeof(hosts), "%s,%s", at_leader.hosts, at_follower.hosts);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, SEMAPHORE, 1, NULL), 0);
    hold_queue(&hold, &a, &semaphore);
    assert_true(world_await_that(&world, waits_for_the_ticket, NULL));
}

/* So far the follower has followed: it has opened a session after all of that. */
static void wait_for_the_follower(void)
{
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, follower));
    assert_non_null(zh);
    assert_int_equal(raw_children_count(zh, TICKETS), 2);
    raw_close(zh);
}

static void end(void)
{
    /* Told by the follower, which may be ahead of the leader's own tree. */
    assert_true(world_await_children(&world, LEASES, 0));
    assert_true(world_await_children(&world, TICKETS, 0));
    process_end(&a);
    proxy_close(&at_leader);
    proxy_close(&at_follower);
    world_end(&world);
}

/* -------------------------------------------------------------------- tests */

static void test_lease_is_counted_that_a_follower_has_not_seen(void **state)
{
    (void)state;
    begin();
    wait_for_the_follower();
    assert_true(ensemble_stall(ensemble, follower, COMMITTER));
    proxy_lose_listing(&at_leader);
    struct world_path lease = world_foreign_node(&world, LEASES, "lease-");
    world_delete(&world, &ticket); /* after the lease, as every ticket holder does it */
    assert_true(world_await(&world, &at_leader.lost_listings, PATIENCE_MS));

    proxy_pass(&at_follower);
    bool asked = world_await_that(&world, asks_the_follower, NULL);
    ensemble_unstall(ensemble, follower);
    assert_true(asked);
    assert_true(world_await_that(&world, has_counted, NULL));
    world_run_for(&world, QUIET_MS);
    assert_false(uvzk_hold_is_valid(&hold.request));
    assert_int_equal(hold.answered, 0);

    world_delete(&world, &lease);
    hold_await(&hold, PATIENCE_MS);
    hold_give_back(&hold);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lease_is_counted_that_a_follower_has_not_seen),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
