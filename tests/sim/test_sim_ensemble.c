/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of an ensemble of simulated servers: servers that lag behind the leader, clients
 * that move between servers, and an old leader that is cut off. */
#include "cmocka_test.h"

#include "probe.h"
#include "sim.h"

#include <string.h>

#define LEADER 0
#define FOLLOWER 1
#define OTHER 2
#define LAG_MS 1000U

/* A message takes 1 ms each way. A follower applies a transaction in the same
 * millisecond, unless a test makes it lag. */
static struct sim *sim_of_three(void)
{
    struct sim_options options;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.alarm_late_max_ms = 0;
    options.servers = 3;
    options.lag_max_ms = 0;
    return sim_new(1, &options);
}

static struct probe *probe_at(struct sim *sim, const char *name, int server)
{
    struct probe *probe = probe_new(sim, name);
    sim_connect_to(probe->port, server);
    probe_open(probe);
    probe_hear(probe, "CONNECTED");
    assert_int_equal(sim_server_of(probe->port), server);
    return probe;
}

/* A is connected to the leader, B to a follower, and /a exists. */
static int begin(void **state)
{
    struct sim *sim = sim_of_three();
    struct probe *a = probe_at(sim, "a", LEADER);
    a->data = probe_at(sim, "b", FOLLOWER);
    assert_int_equal(create(a, "/a", UVZK__PERSISTENT), 0);
    sim_run_for(sim, 1);
    probe_said(a);
    *state = a;
    return 0;
}

static void each_answers_reads_from_what_it_has_applied(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    assert_int_equal(sim_leader(sim), LEADER);
    assert_int_equal(read_once(b, UVZK__RPC_GET, "/a"), 0);
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_int_equal(create(a, "/b", UVZK__PERSISTENT), 0);
    assert_int_equal(ask_wait(ask_set(a, "/a", "new", -1)), 0);
    struct ask *late = ask_done(ask_read(b, UVZK__RPC_GET, "/a", false));
    assert_int_equal(late->stat.version, 0);
    assert_int_equal(late->count, 0);
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/b"), UVZK_ENONODE);
    sim_run_for(sim, LAG_MS);
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/b"), 0);
    struct ask *now = ask_done(ask_read(b, UVZK__RPC_GET, "/a", false));
    assert_string_equal(now->text, "new");
    assert_true(now->stat.mzxid > late->stat.mzxid);
}

static void a_sync_is_answered_when_its_server_has_caught_up(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_int_equal(create(a, "/b", UVZK__PERSISTENT), 0);
    struct ask *early = ask_read(b, UVZK__RPC_EXISTS, "/b", false);
    struct ask *sync = ask_sync(b, "/");
    struct ask *late = ask_read(b, UVZK__RPC_EXISTS, "/b", false);
    sim_run_for(sim, LAG_MS / 2);
    assert_true(early->replied && !sync->replied && !late->replied);
    assert_int_equal(early->status, UVZK_ENONODE);
    assert_int_equal(ask_wait(late), 0);
    assert_true(sync->replied);
}

/* The write is committed long before that. Requests behind it wait, too. */
static void a_write_is_answered_when_its_server_has_applied_it(void **state)
{
    static const char *const replies =
        "create /b: ok; exists /c: ENONODE; multi: ok; exists /c: ok; sync /: ok";
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_lag(sim, FOLLOWER, LAG_MS);
    probe_said(b);
    ask_create(b, "/b", UVZK__EPHEMERAL);
    ask_read(b, UVZK__RPC_EXISTS, "/c", false);
    sim_run_for(sim, 10);
    assert_true(sim_exists(sim, "/b"));
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/b"), 0);
    assert_int_equal(create(a, "/c", UVZK__PERSISTENT), 0);
    ask_multi(b, NULL, 0); /* an empty multi is a transaction, after all before it */
    ask_read(b, UVZK__RPC_EXISTS, "/c", false);
    ask_sync(b, "/");
    sim_run_for(sim, 10);
    assert_string_equal(probe_said(b), "");
    sim_run_for(sim, LAG_MS);
    assert_string_equal(probe_said(b), replies);
}

static void a_watch_fires_where_it_stands_when_that_is_applied(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    watch_on(a, UVZK__RPC_GET, "/a");
    watch_on(b, UVZK__RPC_GET, "/a");
    assert_int_equal(sim_watch_count(sim), 2);
    probe_said(a);
    probe_said(b);
    sim_lag(sim, FOLLOWER, LAG_MS);
    ask_set(b, "/a", "b", -1);
    sim_run_for(sim, 10);
    assert_string_equal(probe_said(a), "watch /a: changed");
    assert_string_equal(probe_said(b), "");
    sim_run_for(sim, LAG_MS);
    assert_string_equal(probe_said(b), "watch /a: changed; set /a: ok");
    assert_int_equal(sim_watch_count(sim), 0);
}

static void none_that_is_behind_what_was_replied_takes_a_connection(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_int_equal(create(a, "/b", UVZK__PERSISTENT), 0);
    uint64_t asked = sim_now(sim);
    sim_connect_to(a->port, FOLLOWER);
    sim_disconnect(a->port, SIM_RESET, 0);
    probe_hear(a, "SUSPENDED");
    probe_hear(a, "CONNECTED");
    assert_true(sim_now(sim) >= asked + LAG_MS - 10);
    assert_int_equal(sim_server_of(a->port), FOLLOWER);
}

/* An event gives the client no zxid. So a server that has not applied that change accepts
 * the client, and shows it the state before. */
static void an_event_is_no_reply(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_lag(sim, OTHER, LAG_MS);
    watch_on(a, UVZK__RPC_GET, "/a");
    probe_said(a);
    ask_delete(b, "/a", -1);
    probe_hear(a, "watch /a: deleted");
    sim_connect_to(a->port, OTHER);
    sim_disconnect(a->port, SIM_RESET, 0);
    probe_hear(a, "SUSPENDED");
    probe_hear(a, "CONNECTED");
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), 0);
    assert_int_equal(ask_wait(ask_multi(a, NULL, 0)), 0);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
}

static void a_new_session_is_told_where_it_is_known(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    sim_lag(sim, OTHER, LAG_MS);
    struct probe *c = probe_new(sim, "c");
    sim_connect_to(c->port, OTHER);
    probe_open(c);
    sim_run_for(sim, LAG_MS / 2);
    assert_string_equal(probe_said(c), "");
    assert_int_equal(sim_session_count(sim), 3);
    probe_hear(c, "CONNECTED");
    probe_end(c);
}

/* Until the session's server has applied the end of the session, it continues to answer
 * the session's reads. */
static void an_ended_session_is_told_where_that_is_applied(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    create(b, "/a/b", UVZK__EPHEMERAL);
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_true(sim_expire(b->port));
    assert_false(sim_exists(sim, "/a/b"));
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/a/b"), 0);
    probe_said(b);
    uint64_t before = sim_now(sim);
    probe_hear(b, "EXPIRED");
    assert_true(sim_now(sim) >= before + LAG_MS / 2);
}

/* The follower does not know yet that the session has ended; the leader does. */
static void what_comes_after_the_end_of_its_session_is_not_executed(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_true(sim_expire(b->port));
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/a"), 0);
    struct ask *set = ask_set(b, "/a", "b", -1);
    struct ask *created = ask_create(b, "/b", UVZK__PERSISTENT);
    assert_int_equal(ask_wait(set), UVZK_ECONNLOSS);
    assert_int_equal(ask_wait(created), UVZK_ECONNLOSS);
    sim_run_for(sim, 2 * LAG_MS);
    assert_false(sim_exists(sim, "/b"));
    struct ask *seen = ask_done(ask_read(a, UVZK__RPC_GET, "/a", false));
    assert_int_equal(seen->stat.version, 0);
}

static void a_restart_makes_all_agree(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    struct ask *watched = watch_on(b, UVZK__RPC_GET, "/a");
    sim_lag(sim, FOLLOWER, LAG_MS);
    assert_int_equal(ask_wait(ask_set(a, "/a", "x", -1)), 0);
    int64_t before = sim_zxid(sim);
    sim_restart(sim, 10);
    assert_true(sim_zxid(sim) > before);
    probe_hear(b, "CONNECTED");
    sim_run_for(sim, 10);
    assert_int_equal(watched->fired, 1); /* for the change that it has missed */
    assert_int_equal(read_once(b, UVZK__RPC_GET, "/a"), 0);
    assert_int_equal(ask_wait(ask_set(b, "/a", "y", 1)), 0);
}

static void what_comes_by_the_old_server_after_a_move_is_not_executed(void **state)
{
    unsigned executed = 0, refused = 0;
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_connect_to(b->port, -1);
    for (unsigned i = 0; i < 64; i++) {
        int before = sim_server_of(b->port);
        struct ask *ask = ask_create(b, "/b", UVZK__EPHEMERAL);
        sim_move(b->port);
        probe_hear(b, "CONNECTED");
        bool done = sim_exists(sim, "/b");
        assert_int_not_equal(sim_server_of(b->port), before);
        assert_int_equal(ask_wait(ask), UVZK_ECONNLOSS);
        sim_run_for(sim, 200);
        assert_true(sim_exists(sim, "/b") == done);
        executed += done;
        refused += !done;
        (void)sim_delete_by_hand(sim, "/b");
        assert_int_equal(ask_wait(ask_multi(b, NULL, 0)), 0);
    }
    assert_true(executed > 2 && refused > 8);
}

/* ----------------------------------------------------------- a replaced leader */

#define ELECTION_MS 100U
#define DEPOSED_MS 3000U

/* A stays with the old leader, which is cut off. B has reconnected to another server. */
static int begin_deposed(void **state)
{
    (void)begin(state);
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/of-a", UVZK__EPHEMERAL);
    /* One of three servers is no majority. */
    assert_false(sim_depose(sim, 1, ELECTION_MS, DEPOSED_MS));
    assert_true(sim_depose(sim, 0, ELECTION_MS, DEPOSED_MS));
    /* There is an old leader already. */
    assert_false(sim_depose(sim, 0, ELECTION_MS, DEPOSED_MS));
    assert_int_not_equal(sim_leader(sim), LEADER);
    probe_hear(a->data, "CONNECTED");
    probe_said(a);
    return 0;
}

static void a_replaced_leader_answers_what_needs_no_quorum(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    int64_t before = sim_zxid(sim);
    struct ask *watched = watch_on(a, UVZK__RPC_GET, "/a");
    assert_int_equal(ask_wait(ask_set(b, "/a", "new", 0)), 0);
    assert_true(sim_zxid(sim) >> 32 == before >> 32);
    assert_int_equal(ask_wait(ask_sync(a, "/")), 0);
    struct ask *old = ask_done(ask_read(a, UVZK__RPC_GET, "/a", false));
    assert_int_equal(old->stat.version, 0);
    assert_int_equal(sim_server_of(a->port), LEADER);
    assert_int_equal(watched->fired, 0);
    probe_hear(a, "SUSPENDED");
    probe_hear(a, "CONNECTED");
    sim_run_for(sim, 10);
    assert_int_equal(watched->fired, 1);
    assert_int_equal(sim_server_of(a->port), LEADER); /* which is a follower now */
    assert_int_equal(ask_wait(ask_set(a, "/a", "newer", 1)), 0);
}

static void a_replaced_leader_commits_nothing(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    struct ask *lost = ask_create(a, "/b", UVZK__PERSISTENT);
    struct ask *behind = ask_read(a, UVZK__RPC_EXISTS, "/a", false);
    sim_run_for(sim, DEPOSED_MS / 2);
    assert_false(lost->replied);
    assert_false(behind->replied); /* it waits behind the create */
    probe_hear(a, "SUSPENDED");
    assert_int_equal(ask_wait(lost), UVZK_ECONNLOSS);
    assert_false(sim_exists(sim, "/b"));
    assert_true(sim_exists(sim, "/of-a"));
}

static void a_replaced_leader_takes_sessions_that_it_knows(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    struct probe *c = probe_at(sim, "c", OTHER);
    struct probe *d = probe_new(sim, "d");
    sim_connect_to(d->port, LEADER);
    probe_open(d);
    probe_said(c);
    sim_connect_to(c->port, LEADER);
    sim_disconnect(c->port, SIM_RESET, 0);
    /* The old leader does not know this session. But at the other servers it lives. */
    probe_hear(c, "EXPIRED");
    assert_int_equal(sim_session_count(sim), 3);
    /* B has read a zxid of the new epoch, so the old leader refuses it. */
    create(b, "/of-b", UVZK__EPHEMERAL);
    sim_lose_reply(b->port);
    sim_connect_to(b->port, LEADER);
    probe_said(b);
    ask_create(b, "/of-b/2", UVZK__EPHEMERAL);
    uint64_t refused = sim_now(sim);
    probe_hear(b, "CONNECTED"); /* after the old leader has given up */
    assert_true(sim_now(sim) >= refused + DEPOSED_MS / 2);
    probe_end(c);
    probe_end(d);
}

/* B has written in the new epoch, and the reply was lost. So B knows no zxid of that
 * epoch, and the old leader accepts it. There B does not see its write, not even after a
 * sync. */
static void a_replaced_leader_shows_the_old_epoch_to_who_knows_no_other(void **state)
{
    struct probe *a = *state, *b = a->data;
    struct sim *sim = a->sim;
    sim_lose_reply(b->port);
    sim_connect_to(b->port, LEADER);
    ask_create(b, "/of-b", UVZK__EPHEMERAL);
    probe_hear(b, "CONNECTED");
    assert_true(sim_exists(sim, "/of-b"));
    assert_int_equal(ask_wait(ask_sync(b, "/")), 0);
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/of-b"), UVZK_ENONODE);
    struct ask *barrier = ask_multi(b, NULL, 0);
    probe_hear(b, "SUSPENDED");
    assert_int_equal(ask_wait(barrier), UVZK_ECONNLOSS);
    probe_hear(b, "CONNECTED");
    assert_int_equal(read_once(b, UVZK__RPC_EXISTS, "/of-b"), 0);
}

/* The other servers hear nothing of the old leader's clients, so they end their sessions
 * after the timeout. */
static void sessions_end_behind_a_replaced_leader(void **state)
{
    struct probe *a = *state;
    struct sim *sim = a->sim;
    create(a, "/of-a", UVZK__EPHEMERAL);
    assert_true(sim_depose(sim, 0, ELECTION_MS, 20000));
    sim_run_for(sim, 9000);
    assert_true(sim_exists(sim, "/of-a")); /* it has had its whole timeout again */
    sim_run_for(sim, 5000);
    assert_false(sim_exists(sim, "/of-a"));
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/of-a"), 0);
    probe_hear(a, "EXPIRED");
}

static void a_minority_goes_with_its_leader(void **state)
{
    struct sim_options options;
    (void)state;
    sim_options_init(&options);
    options.servers = 5;
    options.lag_max_ms = 500;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_at(sim, "a", LEADER), *b = probe_at(sim, "b", FOLLOWER);
    struct ask *made = ask_create(b, "/b", UVZK__PERSISTENT);
    while (!sim_exists(sim, "/b")) {
        sim_step(sim);
    }
    assert_true(sim_depose(sim, 1, ELECTION_MS, DEPOSED_MS));
    assert_int_equal(ask_wait(made), 0); /* it was committed before the cut */
    sim_set_by_hand(sim, "/b", "x", 1);
    struct ask *old = ask_read(b, UVZK__RPC_GET, "/b", false);
    assert_int_equal(ask_wait(ask_sync(b, "/")), 0);
    assert_int_equal(old->stat.version, 0);
    struct ask *hangs = ask_delete(b, "/b", -1);
    probe_hear(b, "SUSPENDED");
    assert_int_equal(ask_wait(hangs), UVZK_ECONNLOSS);
    probe_end(a);
    probe_end(b);
    sim_free(sim);
}

/* A follower that checks ACLs itself (eager_acl_checks) uses the permissions that it has
 * applied. Its refusal waits for nothing. If an earlier request has no reply yet, the
 * connection is closed, because the refusal would come before that reply. */
static void a_follower_refuses_by_itself(void **state)
{
    struct sim_options options;
    (void)state;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.servers = 3;
    options.lag_max_ms = 0;
    options.eager_acl_checks = true;
    struct sim *sim = sim_new(1, &options);
    struct probe *a = probe_at(sim, "a", LEADER), *b = probe_at(sim, "b", FOLLOWER);
    create(a, "/d", UVZK__PERSISTENT);
    create(a, "/d/n", UVZK__PERSISTENT);
    sim_set_deletable(sim, "/d", false);
    sim_run_for(sim, 10);
    sim_lag(sim, FOLLOWER, LAG_MS);
    sim_set_deletable(sim, "/d", true);
    assert_int_equal(ask_wait(ask_delete(b, "/d/n", -1)), UVZK_ENOAUTH);
    assert_true(sim_exists(sim, "/d/n"));
    assert_int_equal(ask_wait(ask_delete(a, "/d/n", -1)), 0);
    struct ask *made = ask_create(b, "/made", UVZK__PERSISTENT);
    struct ask *refused = ask_delete(b, "/d/n", -1);
    assert_int_equal(ask_wait(made), UVZK_ECONNLOSS);
    assert_int_equal(ask_wait(refused), UVZK_ECONNLOSS);
    assert_true(sim_exists(sim, "/made"));
    probe_hear(b, "CONNECTED");
    sim_run_for(sim, LAG_MS);
    assert_int_equal(ask_wait(ask_delete(b, "/d/n", -1)), UVZK_ENONODE);
    probe_end(a);
    probe_end(b);
    sim_free(sim);
}

/* A session of 4 s at that server, whose reports to the leader may be late. */
static struct probe *reported_probe(uint64_t seed, int server)
{
    struct sim_options options;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.servers = 3;
    options.lag_max_ms = 0;
    options.followers = options.late_pings = true;
    struct probe *a = probe_new(sim_new(seed, &options), "a");
    sim_set_timeout(a->port, 4000);
    sim_connect_to(a->port, server);
    probe_open(a);
    probe_hear(a, "CONNECTED");
    sim_run_for(a->sim, 2000);
    return a;
}

/* A late answer to a ping reports all that the follower has heard until it answers, also
 * requests that came after the next ping was due. */
static void late_answer_tells_of_all(uint64_t seed)
{
    struct probe *a = reported_probe(seed, FOLLOWER);
    struct sim *sim = a->sim;
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    uint64_t from = sim_now(sim);
    sim_lag(sim, FOLLOWER, 1500);
    sim_run_for(sim, 1000);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    sim_run_until(sim, from + 1505);
    sim_follower_cut(a->port, 60000);
    sim_run_until(sim, from + 1500 + 4000);
    assert_true(sim_session_alive(sim, a->session_id));
    probe_end(a);
    sim_free(sim);
}

static void a_late_answer_tells_of_all(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        late_answer_tells_of_all(seed);
    }
}

/* A leader has no lag: it hears of its sessions on time, as it answers them on time. */
static void a_leader_does_not_lag(void **state)
{
    (void)state;
    struct probe *a = reported_probe(1, LEADER);
    struct sim *sim = a->sim;
    uint64_t from = sim_now(sim);
    sim_lag(sim, LEADER, 10000);
    sim_run_for(sim, 2450);
    assert_int_equal(read_once(a, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    sim_run_until(sim, from + 3500);
    sim_follower_cut(a->port, 60000);
    sim_run_until(sim, from + 2450 + 4000);
    assert_true(sim_session_alive(sim, a->session_id));
    probe_end(a);
    sim_free(sim);
}

/* By the wall clock of the server that leads: every server shows the same time. */
static void a_znode_has_the_time_of_the_leader(void **state)
{
    struct sim_options options;
    bool differed = false;

    (void)state;
    sim_options_init(&options);
    options.start_ms = 1000000;
    options.servers = 3;
    options.server_clocks_max_ms = 5000;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *sim = sim_new(seed, &options);
        struct probe *probe = probe_at(sim, "a", FOLLOWER);
        int64_t offsets[2];
        for (int i = 0; i < 2; i++) {
            const char *path = i == 0 ? "/a" : "/b";
            struct uvzk__stat stat;
            assert_int_equal(create(probe, path, UVZK__PERSISTENT), 0);
            sim_run_for(sim, 100);
            assert_true(sim_stat(sim, path, &stat));
            offsets[i] = stat.created_ms - (int64_t)sim_now(sim);
            assert_in_range(offsets[i] + 6000, 0, 11000);
            struct ask *read = ask_done(ask_read(probe, UVZK__RPC_GET, path, false));
            assert_int_equal(read->stat.created_ms, stat.created_ms);
            if (i == 0) {
                assert_true(sim_depose(sim, 0, ELECTION_MS, DEPOSED_MS));
                sim_run_for(sim, 2 * DEPOSED_MS);
            }
        }
        int64_t difference = offsets[0] - offsets[1];
        differed |= difference > 500 || difference < -500;
        probe_end(probe);
        sim_free(sim);
    }
    assert_true(differed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBE_CASE(each_answers_reads_from_what_it_has_applied, begin),
        PROBE_CASE(a_sync_is_answered_when_its_server_has_caught_up, begin),
        PROBE_CASE(a_write_is_answered_when_its_server_has_applied_it, begin),
        PROBE_CASE(a_watch_fires_where_it_stands_when_that_is_applied, begin),
        PROBE_CASE(none_that_is_behind_what_was_replied_takes_a_connection, begin),
        PROBE_CASE(an_event_is_no_reply, begin),
        PROBE_CASE(a_new_session_is_told_where_it_is_known, begin),
        PROBE_CASE(an_ended_session_is_told_where_that_is_applied, begin),
        PROBE_CASE(what_comes_after_the_end_of_its_session_is_not_executed, begin),
        PROBE_CASE(a_restart_makes_all_agree, begin),
        PROBE_CASE(what_comes_by_the_old_server_after_a_move_is_not_executed, begin),
        PROBE_CASE(a_replaced_leader_answers_what_needs_no_quorum, begin_deposed),
        PROBE_CASE(a_replaced_leader_commits_nothing, begin_deposed),
        PROBE_CASE(a_replaced_leader_takes_sessions_that_it_knows, begin_deposed),
        PROBE_CASE(a_replaced_leader_shows_the_old_epoch_to_who_knows_no_other,
                   begin_deposed),
        PROBE_CASE(sessions_end_behind_a_replaced_leader, begin),
        cmocka_unit_test(a_minority_goes_with_its_leader),
        cmocka_unit_test(a_follower_refuses_by_itself),
        cmocka_unit_test(a_late_answer_tells_of_all),
        cmocka_unit_test(a_leader_does_not_lag),
        cmocka_unit_test(a_znode_has_the_time_of_the_leader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
