/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients contend on an ensemble of three servers while its members die: a
 * session moves to another server with its hold and its places in the queue, a
 * new leader goes on where the old one ended, and without a quorum a holder
 * knows that it is none before anybody else can be one. */
#include <stdio.h>

#include "world.h"

#define LOCK "/ensemble/lock"
#define LONG_SESSION_MS 30000 /* outlives everything that happens here */
#define SHORT_SESSION_MS 4000
#define WAITERS 3

/* ------------------------------------------------------------------- scene */

/* One holder and some waiters in a known order, of both processes in turn. */
static struct world world;
static struct process a, b;
static struct hold holder, waiters[WAITERS], later;
static struct raw_names names; /* of the znodes, in queue order */
static int64_t sessions[2];

/* Whichever member opens a session has seen all that was there before. */
static void take_names(struct raw_names *taken)
{
    world_look_again(&world);
    assert_int_equal(raw_children(world.raw, LOCK, taken), ZOK);
}

static void begin(const char *hosts, uint32_t session_ms)
{
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = session_ms;
    world.options.hosts = hosts;
    process_begin(&a, &world, "a", NULL);
    world.options.hosts = ensemble_hosts(ensemble);
    process_begin(&b, &world, "b", NULL);
    hold_take(&holder, &a);
    for (int i = 0; i < WAITERS; i++) {
        hold_queue(&waiters[i], i % 2 == 0 ? &b : &a, NULL);
        waiters[i].release_at_once = true;
        assert_int_equal(waiters[i].ahead, i + 1);
    }
    take_names(&names);
    assert_int_equal(names.count, 1 + WAITERS);
    sessions[0] = uvzk_client_session_id(&a.client);
    sessions[1] = uvzk_client_session_id(&b.client);
}

static void assert_same_sessions(void)
{
    assert_int_equal(uvzk_client_session_id(&a.client), sessions[0]);
    assert_int_equal(uvzk_client_session_id(&b.client), sessions[1]);
    assert_int_equal(a.lost + b.lost, 0);
}

/* Same sessions, same znodes, and nobody has been told anything. */
static void assert_nothing_lost(void)
{
    struct raw_names after;
    take_names(&after);
    assert_int_equal(after.count, names.count);
    for (size_t i = 0; i < after.count; i++) {
        assert_string_equal(after.names[i], names.names[i]);
    }
    raw_names_free(&after);
    assert_same_sessions();
    assert_true(hold_holds(&holder));
    assert_true(uvzk_hold_is_valid(&holder.request));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].answered, 0);
    }
}

/* The holder's release goes through all of them, in the order of their znodes. */
static void release_in_order(void)
{
    const struct hold *before = &holder;
    hold_give_back(&holder);
    for (int i = 0; i < WAITERS; i++) {
        hold_await(&waiters[i], PATIENCE_MS);
        hold_await_released(&waiters[i], WORLD_TIMEOUT_MS, 0);
        assert_int_equal(waiters[i].queued, 1);
        assert_int_equal(waiters[i].granted_turn, before->granted_turn + 1);
        assert_true(waiters[i].token > before->token);
        before = &waiters[i];
    }
}

static void end(void)
{
    world_look_again(&world);
    world_end(&world);
    raw_names_free(&names);
}

/* ----------------------------------------------------------- one member dies */

static bool has_leader(void *context)
{
    (void)context;
    return ensemble_leader(ensemble) >= 0;
}

static void test_hold_moves_to_another_server(void **state)
{
    char followers[128];
    (void)state;
    int leader = ensemble_leader(ensemble);
    int one = (leader + 1) % ENSEMBLE_SIZE, other = (leader + 2) % ENSEMBLE_SIZE;
    snprintf(followers, sizeof(followers), "%s,%s", ensemble_hosts_of(ensemble, one),
             ensemble_hosts_of(ensemble, other));
    begin(followers, LONG_SESSION_MS);
    int server = ensemble_member_of(ensemble, sessions[0]);
    assert_true(server == one || server == other);

    ensemble_kill(ensemble, server);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_int_equal(a.suspended, 1);
    assert_int_equal(ensemble_member_of(ensemble, sessions[0]), one + other - server);
    assert_nothing_lost();
    release_in_order();
    end();
}

/* Every follower drops its clients until there is a new leader. */
static void test_new_leader_goes_on(void **state)
{
    (void)state;
    begin(ensemble_hosts(ensemble), LONG_SESSION_MS);
    int leader = ensemble_leader(ensemble);

    ensemble_kill(ensemble, leader);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    assert_true(world_await(&world, &b.suspended, PATIENCE_MS));
    hold_begin(&later, &b, UVZK_WAIT_FOREVER);
    assert_true(world_await_that(&world, has_leader, NULL));
    assert_int_not_equal(ensemble_leader(ensemble), leader);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    hold_await_queued(&later);
    assert_int_equal(later.ahead, 1 + WAITERS);
    assert_true(hold_holds(&holder));

    release_in_order();
    hold_await(&later, PATIENCE_MS);
    assert_int_equal(later.granted_turn, waiters[WAITERS - 1].granted_turn + 1);
    assert_same_sessions();
    hold_give_back(&later);
    end();
}

/* --------------------------------------------------------------- no quorum */

/* What takes two members away, and what brings them back. */
struct outage {
    void (*begin)(struct ensemble *, int member);
    void (*end)(struct ensemble *, int member);
};

static void revive(struct ensemble *e, int member)
{
    assert_true(ensemble_revive(e, member));
}

static void assert_works(struct process *process, int64_t *token)
{
    hold_take(&later, process);
    assert_true(later.token > *token);
    *token = later.token;
    hold_give_back(&later);
}

/* The old leader comes back to a new one. Beside a follower that was stopped with it, a
 * leader of 3.8.0 may go on leading and never commit anything again. */
static void run_outage(struct outage outage)
{
    begin(ensemble_hosts(ensemble), SHORT_SESSION_MS);
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    int64_t token = holder.token;

    outage.begin(ensemble, follower);
    outage.begin(ensemble, leader);
    uint64_t valid_until = uvzk_hold_valid_until(&holder.request);
    assert_true(world_await(&world, &holder.lost, PATIENCE_MS));
    assert_true(uvzk_now() >= valid_until);
    assert_true(holder.reason == UVZK_EPROOF || holder.reason == UVZK_EEXPIRED);
    assert_false(uvzk_lock_is_held(&a.mutex));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_not_equal(waiters[i].status, 0);
    }

    outage.end(ensemble, follower);
    assert_true(world_await_that(&world, has_leader, NULL));
    outage.end(ensemble, leader);
    for (int i = 0; i < WAITERS; i++) {
        const struct hold *waiter = &waiters[i];
        assert_true(world_await(&world, &waiter->answered, PATIENCE_MS));
        assert_true(waiter->status == 0 || waiter->status == UVZK_EEXPIRED);
        assert_true(waiter->status != 0 || waiter->token > token);
        token = waiter->status == 0 ? waiter->token : token;
    }
    assert_works(&a, &token);
    assert_works(&b, &token);
    end();
}

static void test_two_killed_members(void **state)
{
    (void)state;
    run_outage((struct outage){ensemble_kill, revive});
}

static void test_two_stopped_members(void **state)
{
    (void)state;
    run_outage((struct outage){ensemble_pause, ensemble_resume});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold_moves_to_another_server),
        cmocka_unit_test(test_new_leader_goes_on),
        cmocka_unit_test(test_two_killed_members),
        cmocka_unit_test(test_two_stopped_members),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
