/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulator as users have it, through uvzk.h and uvzk_sim.h only: each fault
 * has its documented effect on a program that uses locks. */
#include "cmocka_test.h"

#include <string.h>

#include "uvzk_sim.h"

#define LOCK "/locks/a"
#define TIMEOUT_MS 10000
#define PATIENCE_MS 60000

struct contention_user {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    int answered, status, lost, reason, released, closed;
    int states[UVZK_STATE_CLOSED + 1]; /* how often each state was reported */
};

static struct contention_user a, b;

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    ((struct contention_user *)client->data)->states[state]++;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contention_user *contention_user = hold->data;

    contention_user->answered++;
    contention_user->status = status;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct contention_user *contention_user = hold->data;

    contention_user->lost++;
    contention_user->reason = reason;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct contention_user *contention_user = hold->data;

    assert_int_equal(status, 0);
    contention_user->released++;
}

static void on_closed(uvzk_client_t *client)
{
    ((struct contention_user *)client->data)->closed++;
}

static void begin_world(uint32_t servers, uint64_t seed)
{
    uvzk_sim_options_t options;

    uvzk_sim_options_init(&options);
    options.servers = servers;
    options.seed = seed;
    assert_int_equal(uvzk_sim_begin(&options), 0);
}

static uint32_t sessions; /* how many sessions the next client has; 0: the default */

static void begin(struct contention_user *contention_user)
{
    uvzk_client_options_t options;

    memset(contention_user, 0, sizeof(*contention_user));
    contention_user->client.data = contention_user;
    contention_user->hold.data = contention_user;
    uvzk_client_options_init(&options);
    options.hosts = "anything:1";
    options.session_timeout_ms = TIMEOUT_MS;
    options.state_cb = on_state;
    options.sessions = sessions;
    assert_int_equal(uvzk_client_init(NULL, &contention_user->client, &options), 0);
    assert_int_equal(uvzk_client_start(&contention_user->client), 0);
    assert_int_equal(
        uvzk_mutex_init(&contention_user->client, &contention_user->mutex, LOCK), 0);
}

static void ask(struct contention_user *contention_user)
{
    contention_user->answered = 0;
    assert_int_equal(uvzk_lock_acquire(&contention_user->mutex, &contention_user->hold,
                                       NULL, on_acquired, on_lost),
                     0);
}

static void take(struct contention_user *contention_user)
{
    ask(contention_user);
    assert_int_equal(uvzk_sim_await(&contention_user->answered, PATIENCE_MS), 0);
    assert_int_equal(contention_user->status, 0);
}

static void end(struct contention_user *contention_user)
{
    assert_int_equal(uvzk_client_close(&contention_user->client, on_closed), 0);
    assert_int_equal(uvzk_sim_await(&contention_user->closed, PATIENCE_MS), 0);
}

static void end_world(void)
{
    uvzk_sim_run_for(PATIENCE_MS);
    assert_int_equal(uvzk_sim_sessions(), 0);
    assert_int_equal(uvzk_sim_children(LOCK), 0);
    assert_int_equal(uvzk_sim_end(), 0);
}

/* How most tests begin: a holds the lock, and b waits behind it. */
static void begin_two(uint32_t servers)
{
    begin_world(servers, 1);
    begin(&a);
    begin(&b);
    take(&a);
    ask(&b);
    uvzk_sim_run_for(1000);
    assert_int_equal(uvzk_sim_children(LOCK), 2);
}

static void end_two(void)
{
    end(&a);
    end(&b);
    end_world();
}

/* ----------------------------------------------------------------- the world itself */

static void test_begins_and_ends(void **state)
{
    uvzk_sim_options_t options = {0};
    (void)state;

    assert_int_equal(uvzk_sim_end(), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_restart(1), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_lag(0, 1), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_depose(0, 1), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_leader(), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_trouble(1), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_delete("/a"), UVZK_ESTATE);
    assert_false(uvzk_sim_exists("/"));
    assert_int_equal(uvzk_sim_await(&a.answered, 1), UV_ETIMEDOUT);
    uvzk_sim_run_for(1);
    assert_int_equal(uvzk_sim_begin(&options), UV_EINVAL); /* its size is 0 */
    assert_int_equal(uvzk_sim_begin(NULL), 0);
    assert_int_equal(uvzk_sim_begin(NULL), UV_EBUSY);
    begin(&a);
    assert_int_equal(uvzk_sim_end(), UV_EBUSY);
    uint64_t now = uvzk_now();
    uvzk_sim_run_for(3600000);
    assert_int_equal(uvzk_now(), now + 3600000);
    end(&a);
    end_world();
    assert_true(uvzk_now() > now);
}

static void test_refuses_clients(void **state)
{
    uvzk_client_options_t options;
    uvzk_client_t client = {0};
    (void)state;

    uvzk_client_options_init(&options);
    options.hosts = "anything:1";
    /* The simulation has not begun. */
    assert_int_equal(uvzk_client_init(NULL, &client, &options), UV_EINVAL);
    assert_int_equal(uvzk_sim_begin(NULL), 0);
    options.ns = "no//namespace";
    assert_int_equal(uvzk_client_init(NULL, &client, &options), UVZK_EPATH);
    options.hosts = NULL;
    assert_int_equal(uvzk_client_init(NULL, &client, &options), UV_EINVAL);
    assert_int_equal(uvzk_sim_expire(&client), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_pause(&client, 1), UVZK_ESTATE);
    assert_int_equal(uvzk_sim_server_of(&client), -1);
    uvzk_sim_run_for(1000);
    assert_int_equal(uvzk_sim_end(), 0); /* the refused clients have left nothing */
}

static int tell_seed(uint64_t seed)
{
    begin_world(3, seed);
    begin(&a);
    take(&a);
    int token = (int)uvzk_now();
    end(&a);
    end_world();
    return token;
}

static void test_follows_its_seed(void **state)
{
    int others = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_int_equal(tell_seed(seed), tell_seed(seed));
        others += tell_seed(seed) != tell_seed(seed + 100);
    }
    assert_true(others > 0);
}

/* ---------------------------------------------------------------- faults of a client */

static void test_expires(void **state)
{
    (void)state;
    begin_two(1);
    assert_int_equal(uvzk_sim_expire(&a.client), 0);
    assert_int_equal(uvzk_sim_await(&b.answered, TIMEOUT_MS), 0);
    assert_int_equal(b.status, 0);
    assert_int_equal(uvzk_sim_await(&a.lost, TIMEOUT_MS), 0);
    assert_int_equal(a.reason, UVZK_EEXPIRED);
    end_two();
}

static void test_is_disconnected(void **state)
{
    (void)state;
    for (int cut = UVZK_SIM_RESET; cut <= UVZK_SIM_SILENT; cut++) {
        begin_two(1);
        /* A disconnection shorter than the session timeout: no hold and no place in the
         * queue is lost. */
        assert_int_equal(uvzk_sim_disconnect(&a.client, (uvzk_sim_cut_t)cut, 2000), 0);
        uvzk_sim_run_for(cut == UVZK_SIM_RESET ? 100 : 1000);
        assert_int_equal(a.states[UVZK_STATE_SUSPENDED], cut == UVZK_SIM_RESET);
        uvzk_sim_run_for(PATIENCE_MS);
        assert_int_equal(a.lost + b.answered, 0);
        assert_true(uvzk_hold_is_valid(&a.hold));
        /* A longer one: a loses the lock, and b is granted it. */
        assert_int_equal(uvzk_sim_disconnect(&a.client, (uvzk_sim_cut_t)cut, 60000), 0);
        assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
        assert_int_equal(a.lost, 1);
        end_two();
    }
}

static void test_is_stopped(void **state)
{
    (void)state;
    begin_two(1);
    assert_int_equal(uvzk_sim_pause(&a.client, 60000), 0);
    assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
    assert_int_equal(a.lost, 0); /* while it is stopped, no callback runs */
    assert_false(uvzk_hold_is_valid(&a.hold));
    assert_int_equal(uvzk_sim_await(&a.lost, PATIENCE_MS), 0);
    end_two();
}

static void test_is_busy(void **state)
{
    (void)state;
    begin_two(1);
    assert_int_equal(uvzk_sim_stall(&a.client, 60000), 0);
    uvzk_sim_run_for(50000);
    assert_int_equal(b.answered, 0);           /* a's I/O thread sends the pings */
    assert_false(uvzk_hold_is_valid(&a.hold)); /* but a's loop gets no proof of that */
    end_two();
}

static void test_loses_a_reply(void **state)
{
    (void)state;
    begin_world(1, 1);
    begin(&a);
    take(&a);
    assert_int_equal(uvzk_sim_lose_reply(&a.client), 0);
    assert_int_equal(uvzk_hold_release(&a.hold, on_released), 0);
    assert_int_equal(uvzk_sim_await(&a.released, PATIENCE_MS), 0);
    assert_int_equal(a.states[UVZK_STATE_RECONNECTED], 1);
    end(&a);
    end_world();
}

static void test_is_moved(void **state)
{
    (void)state;
    begin_world(3, 1);
    begin(&a);
    assert_int_equal(uvzk_sim_connect_to(&a.client, 3), UV_EINVAL);
    assert_int_equal(uvzk_sim_connect_to(&a.client, 2), 0);
    take(&a);
    assert_int_equal(uvzk_sim_server_of(&a.client), 2);
    assert_int_equal(uvzk_sim_connect_to(&a.client, 1), 0);
    assert_int_equal(uvzk_sim_move(&a.client), 0);
    uvzk_sim_run_for(5000);
    assert_int_equal(uvzk_sim_server_of(&a.client), 1);
    assert_true(uvzk_hold_is_valid(&a.hold));
    end(&a);
    end_world();
}

/* -------------------------------------------------------------- faults of the servers */

static void test_servers_restart(void **state)
{
    (void)state;
    begin_two(1);
    assert_int_equal(uvzk_sim_restart(30000),
                     0); /* longer than the session timeout; the sessions survive */
    uvzk_sim_run_for(29000);
    assert_int_equal(a.states[UVZK_STATE_SUSPENDED], 1);
    assert_false(uvzk_hold_is_valid(&a.hold));
    end_two();
}

static void test_server_lags(void **state)
{
    (void)state;
    begin_world(3, 1);
    int behind = (uvzk_sim_leader() + 1) % 3;

    assert_int_equal(uvzk_sim_lag(3, 1), UV_EINVAL);
    begin(&a);
    begin(&b);
    assert_int_equal(uvzk_sim_connect_to(&a.client, uvzk_sim_leader()), 0);
    assert_int_equal(uvzk_sim_connect_to(&b.client, behind), 0);
    take(&a);
    ask(&b);
    uvzk_sim_run_for(1000);
    assert_int_equal(uvzk_sim_lag(behind, 3000), 0);
    assert_int_equal(uvzk_hold_release(&a.hold, on_released), 0);
    uvzk_sim_run_for(2000);
    assert_int_equal(a.released, 1);
    assert_int_equal(b.answered, 0); /* its server has not applied the delete */
    assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
    end_two();
}

static void test_leader_is_replaced(void **state)
{
    (void)state;
    begin_world(3, 1);
    int old = uvzk_sim_leader();

    begin(&a);
    begin(&b);
    assert_int_equal(uvzk_sim_connect_to(&a.client, old), 0);
    assert_int_equal(uvzk_sim_connect_to(&b.client, (old + 1) % 3), 0);
    take(&a);
    ask(&b);
    uvzk_sim_run_for(1000);
    assert_int_equal(uvzk_sim_depose(1, 1), UV_EINVAL);
    assert_int_equal(uvzk_sim_depose(0, 60000), 0);
    assert_int_not_equal(uvzk_sim_leader(), old);
    assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
    assert_false(uvzk_hold_is_valid(&a.hold)); /* although a is still connected */
    end_two();
}

static void test_somebody_meddles(void **state)
{
    (void)state;
    begin_two(1);
    assert_int_equal(uvzk_sim_delete("/nothing"), UVZK_ENONODE);
    assert_int_equal(uvzk_sim_delete(LOCK), UVZK_ENOTEMPTY);
    assert_true(uvzk_sim_exists(uvzk_hold_path(&a.hold)));
    assert_int_equal(uvzk_sim_delete(uvzk_hold_path(&a.hold)), 0);
    assert_int_equal(uvzk_sim_await(&a.lost, PATIENCE_MS), 0);
    assert_int_equal(a.reason, UVZK_EDELETED);
    assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
    end_two();
}

/* ---------------------------------------------------------------------- random faults */

static int at_most_one_holds(void *context)
{
    (void)context;
    assert_false(uvzk_hold_is_valid(&a.hold) && uvzk_hold_is_valid(&b.hold));
    return a.answered && b.answered;
}

static void test_survives_any_trouble(void **state)
{
    int lost = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin_world(3, seed);
        begin(&a);
        begin(&b);
        assert_int_equal(uvzk_sim_trouble(20000), 0);
        ask(&a);
        ask(&b);
        (void)uvzk_sim_await_that(at_most_one_holds, NULL, 600000);
        lost += a.lost + b.lost;
        assert_int_equal(uvzk_sim_trouble(0), 0);
        end_two();
    }
    assert_true(lost > 0);
}

/* A fault of a client affects all of its sessions. */
static void test_several_sessions(void **state)
{
    (void)state;

    sessions = 3;
    begin_two(1);
    assert_int_equal(uvzk_sim_sessions(), 6);
    assert_int_equal(a.states[UVZK_STATE_CONNECTED], 1);
    assert_int_equal(uvzk_sim_expire(&a.client), 0);
    assert_int_equal(uvzk_sim_sessions(), 3);
    assert_int_equal(uvzk_sim_await(&a.lost, PATIENCE_MS), 0);
    assert_int_equal(uvzk_sim_await(&b.answered, PATIENCE_MS), 0);
    assert_int_equal(uvzk_sim_disconnect(&b.client, UVZK_SIM_RESET, 1000), 0);
    uvzk_sim_run_for(100);
    assert_int_equal(b.states[UVZK_STATE_SUSPENDED], 1);
    uvzk_sim_run_for(5000);
    assert_int_equal(b.states[UVZK_STATE_RECONNECTED], 1);
    end_two();
    sessions = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_and_ends),
        cmocka_unit_test(test_refuses_clients),
        cmocka_unit_test(test_follows_its_seed),
        cmocka_unit_test(test_expires),
        cmocka_unit_test(test_is_disconnected),
        cmocka_unit_test(test_is_stopped),
        cmocka_unit_test(test_is_busy),
        cmocka_unit_test(test_loses_a_reply),
        cmocka_unit_test(test_is_moved),
        cmocka_unit_test(test_servers_restart),
        cmocka_unit_test(test_server_lags),
        cmocka_unit_test(test_leader_is_replaced),
        cmocka_unit_test(test_somebody_meddles),
        cmocka_unit_test(test_survives_any_trouble),
        cmocka_unit_test(test_several_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
