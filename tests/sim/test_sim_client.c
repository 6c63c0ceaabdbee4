/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated client and its connection: lost requests and replies, resets and
 * silence, stopped processes, close() in every state, clocks, batches and handles. */
#include "cmocka_test.h"

#include <limits.h>

#include "probe.h"
#include "sim.h"

#include <string.h>

/* --------------------------------------------------------------- connections */

static void a_lost_request_is_not_executed(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_lose_request(a->port);
    ask_create(a, "/a", UVZK__PERSISTENT);
    ask_create(a, "/b", UVZK__PERSISTENT);
    probe_until(a, "create /b");
    assert_string_equal(probe_said(a),
                        "SUSPENDED; create /a: ECONNLOSS; create /b: ECONNLOSS");
    assert_false(sim_exists(sim, "/a") || sim_exists(sim, "/b"));
    probe_hear(a, "CONNECTED");
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
}

static void a_lost_reply_is_of_an_executed_request(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    ask_create(a, "/before", UVZK__PERSISTENT);
    sim_run_for(sim, 25);
    probe_said(a);
    sim_lose_reply(a->port);
    ask_create(a, "/a", UVZK__EPHEMERAL);
    ask_create(a, "/b", UVZK__PERSISTENT);
    probe_until(a, "create /b");
    assert_non_null(
        strstr(probe_said(a), "SUSPENDED; create /a: ECONNLOSS; create /b: ECONNLOSS"));
    assert_true(sim_exists(sim, "/a"));
    assert_false(sim_exists(sim, "/b"));
}

static void a_spoiled_reply_is_of_an_executed_request(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_reply_enomem(a->port);
    assert_int_equal(create(a, "/a", UVZK__EPHEMERAL), UV_ENOMEM);
    assert_true(sim_exists(sim, "/a"));
    sim_reply_enomem(a->port);
    struct ask *watched = ask_read(a, UVZK__RPC_GET, "/a", true);
    assert_int_equal(ask_wait(watched), UV_ENOMEM);
    assert_null(watched->watch.armed);
    assert_int_equal(sim_watch_count(sim), 0);
}

/* Asserts that both directories have the same number of children, and returns it. */
static size_t pairs(const struct sim *sim)
{
    size_t one = sim_children(sim, "/one", NULL, 0);
    assert_int_equal(one, sim_children(sim, "/two", NULL, 0));
    return one;
}

static void a_multi_is_lost_as_a_whole(void **state)
{
    const struct uvzk__op ops[] = {op_create("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
                                   op_create("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL)};
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/one", UVZK__PERSISTENT);
    create(a, "/two", UVZK__PERSISTENT);
    sim_lose_request(a->port);
    assert_int_equal(ask_wait(ask_multi(a, ops, 2)), UVZK_ECONNLOSS);
    assert_int_equal(pairs(sim), 0);
    probe_hear(a, "CONNECTED");
    sim_lose_reply(a->port);
    assert_int_equal(ask_wait(ask_multi(a, ops, 2)), UVZK_ECONNLOSS);
    assert_int_equal(pairs(sim), 1);
    probe_hear(a, "CONNECTED");
    sim_reply_enomem(a->port);
    assert_int_equal(ask_wait(ask_multi(a, ops, 2)), UV_ENOMEM);
    assert_int_equal(pairs(sim), 2);
    sim_refuse(sim, UVZK__RPC_MULTI, UVZK_ETHROTTLED, 1);
    assert_int_equal(ask_wait(ask_multi(a, ops, 2)), UVZK_ETHROTTLED);
    assert_int_equal(pairs(sim), 2);
    assert_true(sim_exists(sim, "/one/n-0000000001"));
}

/* A multi with the reply 0 or UV_ENOMEM was executed, one with UVZK_ECONNLOSS may have
 * been, and one with UVZK_ENOTSENT was not. */
static void multis_under_faults(uint64_t seed)
{
    enum { COUNT = 40 };
    const struct uvzk__op ops[] = {op_create("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
                                   op_create("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL)};
    struct ask *asks[COUNT];
    size_t done = 0, unknown = 0;
    struct sim *sim = sim_new(seed, NULL);
    struct probe *a = probe_connected(sim, "a");
    create(a, "/one", UVZK__PERSISTENT);
    create(a, "/two", UVZK__PERSISTENT);
    sim_set_faults(sim, &(struct sim_faults){.lose_request = 50000,
                                             .lose_reply = 50000,
                                             .reply_enomem = 50000,
                                             .reset = 300000});
    for (size_t i = 0; i < COUNT; i++) {
        asks[i] = ask_multi(a, ops, 2);
        sim_run_for(sim, sim_random(sim, 100));
        pairs(sim);
    }
    ask_wait(asks[COUNT - 1]);
    for (size_t i = 0; i < COUNT; i++) {
        done += asks[i]->status == 0 || asks[i]->status == UV_ENOMEM;
        unknown += asks[i]->status == UVZK_ECONNLOSS;
    }
    assert_in_range(pairs(sim), done, done + unknown);
    sim_set_faults(sim, NULL);
    probe_end(a);
    sim_free(sim);
}

static void a_multi_is_whole_under_all_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        multis_under_faults(seed);
    }
}

static void what_was_on_its_way_at_a_reset_may_arrive_but_never_late(void **state)
{
    unsigned arrived = 0, after_suspended = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct sim *sim = sim_new(seed, NULL);
        struct probe *a = probe_connected(sim, "a");
        ask_create(a, "/a", UVZK__PERSISTENT);
        sim_disconnect(a->port, SIM_RESET, 0);
        probe_until(a, "SUSPENDED; create /a: ECONNLOSS");
        bool early = sim_exists(sim, "/a");
        probe_hear(a, "CONNECTED");
        bool there = sim_exists(sim, "/a");
        arrived += there;
        after_suspended += there && !early;
        assert_int_equal(ask_wait(ask_sync(a, "/")), 0);
        sim_run_for(sim, 1000);
        assert_int_equal(sim_exists(sim, "/a"), there);
        probe_end(a);
        sim_free(sim);
    }
    assert_in_range(arrived, 5, 55);
    assert_in_range(after_suspended, 1, 55);
}

static void a_request_that_arrives_late_leaves_no_watch(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sim *sim = sim_new(seed, NULL);
        struct probe *a = probe_connected(sim, "a");
        ask_read(a, UVZK__RPC_EXISTS, "/a", true);
        sim_disconnect(a->port, SIM_RESET, 5000);
        sim_run_for(sim, 100);
        assert_int_equal(sim_watch_count(sim), 0);
        assert_int_equal(sim_armed(a->port), 0);
        probe_end(a);
        sim_free(sim);
    }
}

static void nothing_is_sent_while_not_connected(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    ask_create(a, "/a", UVZK__PERSISTENT);
    probe_open(a);
    ask_create(a, "/b", UVZK__PERSISTENT);
    probe_hear(a, "create /b: ENOTSENT");
    probe_hear(a, "CONNECTED");
    sim_disconnect(a->port, SIM_RESET, 200);
    probe_hear(a, "SUSPENDED");
    ask_create(a, "/c", UVZK__PERSISTENT);
    struct ask *watched = ask_read(a, UVZK__RPC_EXISTS, "/c", true);
    sim_run_for(sim, 100);
    assert_string_equal(probe_said(a), "create /c: ENOTSENT; exists /c: ENOTSENT");
    assert_null(watched->watch.armed);
    probe_hear(a, "CONNECTED");
    assert_int_equal(sim_node_count(sim), 1);
}

static void what_is_submitted_before_suspended_is_told_is_replied_with_it(void **state)
{
    struct sim_options options;
    unsigned untold = 0;
    (void)state;
    sim_options_init(&options);
    options.to_loop_max_ms = 50;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct sim *sim = sim_new(seed, &options);
        struct probe *a = probe_connected(sim, "a");
        sim_disconnect(a->port, SIM_RESET, 0); /* the loop learns of it later */
        for (uint64_t left = sim_random(sim, 40); left > 0 && a->said[0] == '\0';
             left--) {
            sim_run_for(sim, 1);
        }
        bool told = a->said[0] != '\0';
        untold += !told;
        struct ask *ask = ask_create(a, "/a", UVZK__PERSISTENT);
        probe_until(a, "CONNECTED");
        assert_true(ask->replied);
        assert_true(ask->status == UVZK_ENOTSENT ||
                    (!told && ask->status == UVZK_ECONNLOSS));
        assert_int_equal(strncmp(a->said, "SUSPENDED; create /a: E", 23), 0);
        assert_false(sim_exists(sim, "/a"));
        probe_end(a);
        sim_free(sim);
    }
    assert_in_range(untold, 5, 35);
}

static void a_short_silence_only_delays(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    uint64_t start = sim_now(sim);
    sim_disconnect(a->port, SIM_SILENT, 3000);
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
    assert_string_equal(probe_said(a), "create /a: ok");
    assert_in_range(sim_now(sim), start + 3000, start + 3010);
}

static void a_long_silence_is_heard_after_two_thirds_of_the_timeout(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/"), 0);
    uint64_t heard = sim_now(sim);
    sim_disconnect(a->port, SIM_SILENT, 8000);
    ask_create(a, "/a", UVZK__PERSISTENT);
    probe_hear(a, "SUSPENDED");
    assert_int_equal(a->session_ms, heard + 10000 * 2 / 3);
    probe_hear(a, "CONNECTED");
    assert_in_range(sim_now(sim), heard + 8000, heard + 8120);
    assert_true(sim_session_alive(sim, a->session_id));
}

static void pings_keep_an_idle_session(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_run_for(sim, 200000);
    assert_string_equal(probe_said(a), "");
    assert_true(sim_session_alive(sim, a->session_id));
}

static void connected_may_be_told_again(void **state)
{
    struct probe *a = *state;
    struct ask *ask = ask_create(a, "/a", UVZK__PERSISTENT);
    sim_repeat_connected(a->port);
    assert_int_equal(ask_wait(ask), 0);
    assert_string_equal(probe_said(a), "CONNECTED; create /a: ok");
}

static void sessions_survive_a_restart_of_the_server(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    int64_t session = a->session_id;
    create(a, "/a", UVZK__EPHEMERAL);
    probe_said(a);
    sim_restart(sim, 30000);
    uint64_t up = sim_now(sim) + 30000;
    probe_hear(a, "SUSPENDED");
    probe_hear(a, "CONNECTED");
    assert_true(sim_now(sim) >= up);
    assert_int_equal(a->session_id, session);
    assert_true(sim_exists(sim, "/a"));
}

static void messages_take_the_time_that_was_set(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_set_latency(a->port, 100, 100);
    sim_set_timeout(a->port, 3000);
    uint64_t start = sim_now(sim);
    probe_open(a);
    probe_hear(a, "CONNECTED");
    assert_in_range(sim_now(sim), start + 200, start + 202);
    assert_int_equal(a->timeout_ms, 3000);
    sim_set_latency(a->port, 7, 7);
    start = sim_now(sim);
    assert_int_equal(read_once(a, UVZK__RPC_GET, "/"), 0);
    assert_int_equal(sim_now(sim), start + 14);
    sim_delay(a->port, 50);
    start = sim_now(sim);
    struct ask *first = ask_read(a, UVZK__RPC_GET, "/", false);
    struct ask *second = ask_read(a, UVZK__RPC_GET, "/", false);
    assert_int_equal(ask_wait(first), 0);
    assert_int_equal(sim_now(sim), start + 114); /* 50 ms longer each way */
    assert_true(second->replied || ask_wait(second) == 0);
    assert_int_equal(sim_now(sim), start + 114); /* it cannot overtake the first */
}

/* ----------------------------------------------------------------- processes */

static void a_stopped_process_loses_its_session_and_hears_of_it_later(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__EPHEMERAL);
    probe_said(a);
    a->port->alarm(a->port, sim_now(sim) + 50);
    a->port->wake(a->port);
    sim_pause(a->port, 20000);
    uint64_t until = sim_now(sim) + 20000;
    sim_run_until(sim, until - 1);
    assert_string_equal(probe_said(a), "");
    assert_int_equal(a->turns, 0);
    assert_int_equal(a->port->now(a->port), until - 1); /* its clock continues */
    assert_false(sim_exists(sim, "/a"));
    sim_run_until(sim, until);
    assert_int_equal(a->turns, 2);
    assert_non_null(strstr(a->said, "SUSPENDED"));
    probe_hear(a, "EXPIRED");
}

/* The pause is longer than 2T/3 and shorter than T. After it the client reads what has
 * arrived before it looks for a timeout. */
static void a_process_stopped_shortly_keeps_its_connection(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *ask = ask_create(a, "/a", UVZK__EPHEMERAL);
    sim_pause(a->port, 8000);
    sim_run_for(sim, 7999);
    assert_false(ask->replied);
    sim_run_for(sim, 10000);
    assert_string_equal(probe_said(a), "create /a: ok");
}

static void a_process_may_be_stopped_for_good_and_resumed(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *ask = ask_create(a, "/a", UVZK__EPHEMERAL);
    a->port->alarm(a->port, sim_now(sim) + 50);
    sim_pause(a->port, UINT64_MAX);
    sim_run_for(sim, 3000);
    assert_true(sim_exists(sim, "/a"));
    assert_false(ask->replied);
    sim_resume(a->port);
    assert_int_equal(ask_wait(ask), 0);
    sim_run_for(sim, 5);
    assert_int_equal(a->turns, 1);
}

static void a_busy_loop_keeps_its_session(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *ask = ask_create(a, "/a", UVZK__EPHEMERAL);
    a->port->wake(a->port);
    uint64_t until = sim_now(sim) + 60000;
    sim_stall(a->port, 60000);
    sim_run_until(sim, until - 1);
    assert_false(ask->replied);
    assert_int_equal(a->turns, 0);
    assert_true(sim_exists(sim, "/a"));
    sim_run_until(sim, until);
    assert_int_equal(ask->status, 0);
    assert_string_equal(probe_said(a), "create /a: ok");
    assert_int_equal(a->turns, 1);
}

static void a_process_stops_as_a_whole(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct probe *other = probe_beside(a);
    uint64_t until = sim_now(sim) + 60000;
    sim_stall(a->port, 60000);
    other->port->wake(other->port);
    sim_run_until(sim, until - 1);
    assert_int_equal(other->turns, 0);
    sim_run_until(sim, until);
    assert_int_equal(other->turns, 1);
    probe_end(other);
}

static void alarms_and_wakes_come_once(void **state)
{
    struct sim *sim = sim_exact();
    struct probe *a = probe_new(sim, "a");
    (void)state;
    struct uvzk__port *port = a->port;
    uint64_t start = sim_now(sim);
    port->wake(port);
    port->wake(port);
    sim_run_for(sim, 0);
    assert_int_equal(a->turns, 1);
    port->alarm(port, start + 100);
    port->alarm(port, start + 50); /* replaces the alarm before */
    sim_run_until(sim, start + 49);
    assert_int_equal(a->turns, 1);
    sim_run_until(sim, start + 200);
    assert_int_equal(a->turns, 2);
    port->alarm(port, 0); /* a time in the past means now */
    sim_run_for(sim, 0);
    assert_int_equal(a->turns, 3);
    port->alarm(port, sim_now(sim) + 10);
    port->alarm(port, UINT64_MAX);
    sim_run_for(sim, 100);
    assert_int_equal(a->turns, 3);
    port->alarm(port, sim_now(sim));
    port->wake(port);
    probe_end(a); /* the probe asserts that no turn comes after close() */
    sim_run_for(sim, 100);
    sim_free(sim);
}

static void random_bytes_can_fail(void **state)
{
    struct probe *a = *state;
    unsigned char bytes[19] = {0}, zero[19] = {0};
    sim_fail_random(a->port, 2);
    assert_int_equal(a->port->random(a->port, bytes, sizeof(bytes)), 0);
    assert_memory_not_equal(bytes, zero, sizeof(bytes));
    assert_true(a->port->random(a->port, bytes, sizeof(bytes)) < 0);
    assert_int_equal(a->port->random(a->port, bytes, sizeof(bytes)), 0);
}

/* --------------------------------------------------------------------- close */

static void closing_ends_the_session_at_once(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    create(a, "/a", UVZK__EPHEMERAL);
    watch_on(b, UVZK__RPC_EXISTS, "/a");
    struct ask *late = ask_create(a, "/late", UVZK__PERSISTENT);
    probe_close(a);
    sim_run_for(sim, 100);
    assert_true(a->closed);
    assert_int_equal(late->status, UVZK_ECLOSED);
    assert_true(sim_exists(sim, "/late")); /* it was sent before the close */
    assert_false(sim_exists(sim, "/a"));
    assert_int_equal(sim_session_count(sim), 1);
    assert_string_equal(probe_said(b), "exists /a: ok; watch /a: deleted");
}

/* After the reply the ACL is the caller's again, even if the request arrives later. */
static void a_request_under_way_keeps_its_acl(void **state)
{
    static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
    struct uvzk__acl acl = {NULL, 0}; /* with which no znode is created */
    struct probe *a = *state;
    a->acl = &acl;
    struct ask *ask = ask_create(a, "/late", UVZK__PERSISTENT);
    probe_close(a);
    probe_await(a, &ask->replied, 1);
    assert_int_equal(ask->status, UVZK_ECLOSED);
    acl = (struct uvzk__acl){&anyone, 1};
    sim_run_for(a->sim, 1000);
    assert_false(sim_exists(a->sim, "/late"));
}

/* Closes a client after `steps` steps, with requests, watches and an expiry under way. */
static void close_after(uint64_t seed, unsigned steps)
{
    struct sim_options options;
    sim_options_init(&options);
    options.to_loop_max_ms = seed % 2 == 0 ? 0 : 5;
    options.shuffle_ties = seed % 3 == 0;
    struct sim *sim = sim_new(seed, &options);
    struct probe *a = probe_new(sim, "a");
    sim_set_faults(sim, &(struct sim_faults){.lose_request = 50000, .lose_reply = 50000});
    a->reopens = true;
    a->port->wake(a->port);
    a->port->alarm(a->port, sim_now(sim) + 60);
    if (seed % 5 == 0) {
        sim_fail_open(a->port, UV_EAI_AGAIN);
    }
    probe_open(a);
    for (unsigned i = 0; i < steps; i++) {
        sim_step(sim);
        if (i % 4 == 0) {
            ask_create(a, "/n-", UVZK__EPHEMERAL_SEQUENTIAL);
        }
        if (i % 16 == 5 && sim_armed(a->port) == 0) {
            ask_read(a, UVZK__RPC_EXISTS, "/n-0000000002", true);
        }
        if (i % 64 == 40) {
            sim_expire(a->port);
        }
    }
    probe_close(a);
    sim_set_faults(sim, NULL);
    probe_end(a);
    sim_run_for(sim, 15000);
    assert_int_equal(sim_session_count(sim), 0);
    assert_int_equal(sim_watch_count(sim), 0);
    assert_int_equal(sim_node_count(sim), 1);
    sim_free(sim);
}

static void close_is_legal_in_every_state(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps < 150; steps++) {
        close_after(steps, steps);
        close_after(1000 + steps, steps);
    }
    struct sim *sim = sim_plain();
    probe_end(probe_new(sim, "never opened"));
    struct probe *down = probe_connected(sim, "down");
    sim_expire(down->port);
    probe_hear(down, "EXPIRED");
    probe_end(down);
    sim_free(sim);
}

/* -------------------------------------------------------------------- clocks */

/* By a clock that is 1 % fast an alarm comes sooner, by a slow one later. */
static void a_clock_may_drift(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    uint64_t start = sim_now(sim);
    assert_int_equal(sim_clock(a->port), start);
    sim_set_clock_drift(a->port, 10000);
    sim_run_for(sim, 10000);
    assert_int_equal(a->port->now(a->port), start + 10100);
    a->port->alarm(a->port, start + 20200);
    sim_run_for(sim, 9999);
    assert_int_equal(a->turns, 0);
    sim_run_for(sim, 1);
    assert_int_equal(a->turns, 1);
    sim_set_clock_drift(a->port, -10000);
    a->port->alarm(a->port, start + 20200 + 9900);
    sim_run_for(sim, 9999);
    assert_int_equal(a->turns, 1);
    sim_run_for(sim, 1);
    assert_int_equal(a->turns, 2);
    assert_int_equal(sim_clock(a->port), start + 20200 + 9900);
}

static void a_clock_may_jump_forward(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    uint64_t start = sim_now(sim);
    a->port->alarm(a->port, start + 60000);
    sim_run_for(sim, 1000);
    sim_jump_clock(a->port, 30000);
    assert_int_equal(a->port->now(a->port), start + 31000);
    assert_int_equal(sim_now(sim), start + 1000);
    sim_run_for(sim, 28999);
    assert_int_equal(a->turns, 0);
    sim_run_for(sim, 1001);
    assert_int_equal(a->turns, 1);
    a->port->alarm(a->port, sim_clock(a->port) + 5000);
    sim_jump_clock(a->port, 30000); /* beyond the alarm */
    sim_run_for(sim, 1000);
    assert_int_equal(a->turns, 2);
}

static void a_throttled_request_is_not_executed(void **state)
{
    unsigned refused = 0;
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_throttle(sim, 60000);
    for (unsigned i = 0; i < 100; i++) {
        int status = create(a, "/a", UVZK__PERSISTENT);
        assert_true(status == (sim_exists(sim, "/a") ? 0 : UVZK_ETHROTTLED));
        refused += status != 0;
        (void)sim_delete_by_hand(sim, "/a");
    }
    assert_in_range(refused, 30, 70);
    sim_run_for(sim, 60000);
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
}

/* ------------------------------------------------------------------- batches */

/* The session and its ephemerals survive a connection that is never reported, and the
 * watches are lost. */
static void who_comes_back_unheard_keeps_the_session(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    int64_t session = a->session_id;
    assert_int_equal(create(a, "/a", UVZK__EPHEMERAL), 0);
    sim_reconnect_unreported(a->port);
    sim_disconnect(a->port, SIM_RESET, 100);
    probe_await_session(a, UVZK__SESSION_CONNECTED, 2);
    assert_true(a->session_id == session);
    assert_true(a->watches_lost);
    assert_int_equal(a->sessions[UVZK__SESSION_SUSPENDED], 1);
    assert_true(sim_exists(sim, "/a"));
}

static bool stood_at_the_end;
static void (*session_of_the_probe)(struct uvzk__port_user *,
                                    const struct uvzk__session_event *);
static struct sim *sim_of_the_probe;

static void look_at_the_end(struct uvzk__port_user *user,
                            const struct uvzk__session_event *event)
{
    if (event->kind == UVZK__SESSION_EXPIRED) {
        stood_at_the_end = sim_exists(sim_of_the_probe, "/a");
    }
    session_of_the_probe(user, event);
}

/* The session must not end before EXPIRED is reported. */
static void a_closed_handle_ends_its_session(void **state)
{
    struct probe *a = *state;
    sim_of_the_probe = a->sim;
    session_of_the_probe = a->port->user->session;
    a->port->user->session = look_at_the_end;
    assert_int_equal(create(a, "/a", UVZK__EPHEMERAL), 0);
    sim_close_handle(a->port); /* no effect, because it is connected */
    sim_disconnect(a->port, SIM_RESET, 100);
    probe_await_session(a, UVZK__SESSION_SUSPENDED, 1);
    sim_close_handle(a->port);
    probe_await_session(a, UVZK__SESSION_EXPIRED, 1);
    assert_true(stood_at_the_end);
    assert_false(sim_exists(a->sim, "/a"));
}

static struct sim *sim_late(void)
{
    struct sim_options options;
    sim_options_init(&options);
    options.late_loop = true;
    return sim_new(1, &options);
}

static void (*turn_of_the_probe)(struct uvzk__port_user *);
static const struct ask *asked;
static unsigned replied_by_then; /* replies at the first turn; UINT_MAX: no turn yet */

static void look_at_the_turn(struct uvzk__port_user *user)
{
    if (replied_by_then == UINT_MAX) {
        replied_by_then = asked->replied;
    }
    turn_of_the_probe(user);
}

/* libuv runs the timers that are due before it polls. */
static void a_late_loop_has_its_alarm_first(void **state)
{
    struct sim *sim = sim_late();
    struct probe *a = probe_connected(sim, "a");
    (void)state;
    asked = ask_create(a, "/a", UVZK__EPHEMERAL);
    replied_by_then = UINT_MAX;
    turn_of_the_probe = a->port->user->turn;
    a->port->user->turn = look_at_the_turn;
    a->port->alarm(a->port, sim_now(sim) + 100);
    sim_stall(a->port, 1000);
    sim_run_for(sim, 2000);
    assert_int_equal(replied_by_then, 0);
    assert_int_equal(asked->replied, 1);
    probe_end(a);
    sim_free(sim);
}

/* The client does not read a reply that is longer than its own limit. */
static void a_long_reply_costs_the_connection(void **state)
{
    struct sim_options options;
    char bytes[101] = {0};
    (void)state;

    sim_options_init(&options);
    options.client_maxbuffer = 100;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_connected(sim, "a");
    create(a, "/a", UVZK__PERSISTENT);
    assert_int_equal(sim_set_by_hand(sim, "/a", bytes, 100), 0);
    assert_int_equal(ask_wait(ask_read(a, UVZK__RPC_GET, "/a", false)), 0);
    assert_int_equal(sim_set_by_hand(sim, "/a", bytes, 101), 0);
    assert_int_equal(ask_wait(ask_read(a, UVZK__RPC_GET, "/a", false)), UVZK_ECONNLOSS);
    assert_true(sim_session_alive(sim, a->session_id));
    probe_end(a);
    sim_free(sim);
}

static int one_batches(void **state)
{
    struct sim_options options;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.to_loop_max_ms = 1000;
    options.batches = true;
    *state = probe_connected(sim_new(3, &options), "a");
    return 0;
}

static void what_has_arrived_is_delivered_at_once(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *watched = watch_on(a, UVZK__RPC_EXISTS, "/a");
    ask_create(a, "/a", UVZK__PERSISTENT);
    ask_read(a, UVZK__RPC_GET, "/a", false);
    probe_said(a);
    while (watched->fired == 0) {
        assert_int_equal(a->replies, 1);
        sim_step(sim);
    }
    assert_string_equal(probe_said(a), "watch /a: created; create /a: ok; get /a: ok");
}

/* After wake(), all that has arrived is delivered before the turn, however late that
 * delivery would have been otherwise. */
static void a_turn_comes_after_what_has_arrived(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    ask_create(a, "/a", UVZK__PERSISTENT);
    ask_create(a, "/b", UVZK__PERSISTENT);
    sim_run_for(sim, 3);
    assert_int_equal(a->replies, 0);
    a->port->wake(a->port);
    assert_int_equal(a->turns, 0);
    sim_step(sim);
    assert_int_equal(a->replies, 2);
    assert_int_equal(a->turns, 1);
    sim_run_for(sim, 2000);
    assert_int_equal(a->turns, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBE_CASE(a_lost_request_is_not_executed, one_plain),
        PROBE_CASE(a_lost_reply_is_of_an_executed_request, one_plain),
        PROBE_CASE(a_spoiled_reply_is_of_an_executed_request, one_plain),
        PROBE_CASE(a_multi_is_lost_as_a_whole, one_plain),
        cmocka_unit_test(a_multi_is_whole_under_all_faults),
        cmocka_unit_test(what_was_on_its_way_at_a_reset_may_arrive_but_never_late),
        cmocka_unit_test(a_request_that_arrives_late_leaves_no_watch),
        PROBE_CASE(nothing_is_sent_while_not_connected, one_unopened),
        cmocka_unit_test(what_is_submitted_before_suspended_is_told_is_replied_with_it),
        PROBE_CASE(a_short_silence_only_delays, one_exact),
        PROBE_CASE(a_long_silence_is_heard_after_two_thirds_of_the_timeout, one_exact),
        PROBE_CASE(pings_keep_an_idle_session, one_plain),
        PROBE_CASE(connected_may_be_told_again, one_plain),
        PROBE_CASE(sessions_survive_a_restart_of_the_server, two_plain),
        PROBE_CASE(messages_take_the_time_that_was_set, one_unopened),
        PROBE_CASE(a_stopped_process_loses_its_session_and_hears_of_it_later, one_plain),
        PROBE_CASE(a_process_stopped_shortly_keeps_its_connection, one_plain),
        PROBE_CASE(a_process_may_be_stopped_for_good_and_resumed, one_plain),
        PROBE_CASE(a_busy_loop_keeps_its_session, one_plain),
        PROBE_CASE(a_process_stops_as_a_whole, one_plain),
        cmocka_unit_test(alarms_and_wakes_come_once),
        PROBE_CASE(random_bytes_can_fail, one_unopened),
        PROBE_CASE(a_clock_may_drift, one_exact),
        PROBE_CASE(a_clock_may_jump_forward, one_exact),
        PROBE_CASE(a_throttled_request_is_not_executed, one_plain),
        PROBE_CASE(what_has_arrived_is_delivered_at_once, one_batches),
        PROBE_CASE(a_turn_comes_after_what_has_arrived, one_batches),
        PROBE_CASE(who_comes_back_unheard_keeps_the_session, one_plain),
        PROBE_CASE(a_closed_handle_ends_its_session, one_plain),
        cmocka_unit_test(a_late_loop_has_its_alarm_first),
        cmocka_unit_test(a_long_reply_costs_the_connection),
        PROBE_CASE(closing_ends_the_session_at_once, two_plain),
        PROBE_CASE(a_request_under_way_keeps_its_acl, one_plain),
        cmocka_unit_test(close_is_legal_in_every_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
