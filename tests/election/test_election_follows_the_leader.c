/* SPDX-License-Identifier: Apache-2.0 */
/* changed_cb over the simulator: every participant comes to know who leads, whatever
 * happens, from a watch and not by asking again and again; never an earlier leader after
 * a later one (candidate.c); and only one watch is on any path, or the simulator
 * aborts. */
#include "cmocka_test.h"

#include <string.h>

#include "candidate.h"
#include "world.h"

#define MS 60000U
#define MANY 8

static struct world world;
static struct process a, b, c;
static struct candidate first, second, third, many[MANY];

static void begin(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_ready(&world, seed, state, &a, &b);
    process_begin(&c, &world, "c", NULL);
    assert_true(process_await_connected(&c, MS));
    world.each_ms = candidates_check;
}

static void begin_led(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    candidate_begin(&third, &c, "third");
    candidate_await_leader(&third, "first", MS);
    candidate_await_leader(&first, "first", MS);
}

static void end(void)
{
    world.each_ms = NULL;
    world_end(&world);
}

static void all_see(const char *id)
{
    struct candidate *const all[] = {&first, &second, &third};

    for (int i = 0; i < 3; i++) {
        if (all[i]->closed == 0 && all[i]->process != NULL) {
            candidate_await_leader(all[i], id, MS);
        }
    }
}

static void the_next_one_is_known(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    assert_int_equal(third.leader_token, first.token);
    candidate_resign(&first);
    all_see("second");
    candidate_resign(&second);
    all_see("third");
    candidate_resign(&third);
    all_see("first");
    candidate_end(&second);
    candidate_end(&first);
    candidate_await_leader(&third, "third", MS);
    candidate_end(&third);
    end();
}

/* A participant that is not in the queue is told too, and that nobody leads. */
static void one_that_only_looks(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;

    begin(seed, state);
    candidate_options(&options, "third");
    options.manual_requeue = 1;
    assert_int_equal(candidate_ask(&third, &c, CANDIDATE_PATH, &options), 0);
    candidate_await_led(&third, 1, MS);
    candidate_await_leader(&third, "third", MS);
    candidate_resign(&third);
    candidate_await_leader(&third, NULL, MS);
    world_run_for(&world, 2000);
    candidate_begin(&first, &a, "first");
    candidate_await_leader(&third, "first", MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    uvzk_client_metrics_t before = process_metrics(&c);
    candidate_end(&first);
    candidate_await_leader(&third, "second", MS);
    uvzk_client_metrics_t after = process_metrics(&c);
    assert_int_equal(after.listings - before.listings, 1);
    assert_int_equal(after.reads - before.reads, 1);
    candidate_end(&second);
    candidate_await_leader(&third, NULL, MS);
    world_run_for(&world, 2000);
    if (seed % 2 == 0) { /* the path goes, and comes again */
        assert_int_equal(sim_delete_by_hand(world.sim, CANDIDATE_PATH), 0);
        world_run_for(&world, 2000);
    }
    candidate_begin(&first, &a, "first");
    candidate_await_leader(&third, "first", MS);
    candidate_end(&first);
    candidate_end(&third);
    end();
}

/* Whoever comes and goes behind, followers ask nothing. */
static void no_herd(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    world_run_for(&world, 1000);
    uint64_t listings = process_metrics(&c).listings, reads = process_metrics(&c).reads;
    uint64_t at_second = process_metrics(&b).listings;
    for (int i = 0; i < 10; i++) {
        struct world_path path = world_foreign_node(&world, CANDIDATE_PATH, "latch-");
        world_run_for(&world, 100);
        world_delete(&world, &path);
        world_run_for(&world, 100);
    }
    assert_int_equal(process_metrics(&c).listings, listings);
    assert_int_equal(process_metrics(&c).reads, reads);
    assert_int_equal(process_metrics(&b).listings, at_second);
    candidate_end(&third);
    candidate_end(&second);
    candidate_end(&first);
    end();
}

/* Nothing happens for ten session timeouts: each watch is renewed once in each. */
static void no_polling(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    uvzk_client_metrics_t before = process_metrics(&c);
    world_run_for(&world, 10ULL * WORLD_TIMEOUT_MS);
    uvzk_client_metrics_t after = process_metrics(&c);
    assert_true(after.listings - before.listings <= 2 * 14);
    assert_true(after.reads - before.reads <= 2 * 2 * 14);
    /* Without changed_cb nothing is read at all. */
    candidate_end(&third);
    candidate_begin_as(&third, &c, "third", UVZK_ELECTION_LATCH, false);
    candidate_end(&second);
    candidate_end(&first);
    candidate_await_led(&third, 1, MS);
    assert_int_equal(third.changes, 0);
    candidate_end(&third);
    end();
}

/* Several elections of one client on one path share what is read; any of them may lead,
 * and go, and the others are told. */
static void several_of_one_client(uint64_t seed, void *const *state)
{
    static const char *const ids[MANY] = {"0", "1", "2", "3", "4", "5", "6", "7"};

    begin(seed, state);
    for (int i = 0; i < MANY; i++) {
        candidate_begin(&many[i], i % 4 == 3 ? &b : &a, ids[i]);
        candidate_await_leader(&many[i], "0", MS);
        world_run_for(&world, 1000); /* it has its place */
    }
    for (int i = 0; i < MANY; i++) {
        candidate_await_led(&many[i], 1, MS);
        for (int j = i; j < MANY; j++) {
            candidate_await_leader(&many[j], ids[i], MS);
        }
        candidate_end(&many[i]);
    }
    end();
}

/* The session of a follower ends, or its connection; the leader changes meanwhile. */
static void read_anew_after_an_outage(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    third.may_err = true;
    switch (seed % 4) {
    case 0:
        process_expire(&c);
        break;
    case 1:
        sim_replace_handle(c.port);
        sim_disconnect(c.port, SIM_RESET, 2000);
        break;
    default:
        sim_disconnect(c.port, seed % 4 == 2 ? SIM_RESET : SIM_SILENT, 3000);
        break;
    }
    candidate_end(&first);
    candidate_await_led(&second, 1, MS);
    candidate_await_leader(&third, "second", MS);
    candidate_end(&second);
    candidate_await_led(&third, 1, MS);
    candidate_end(&third);
    end();
}

/* The event of the watch is lost, as a server loses it for a client that may not read. */
static void a_lost_event(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    sim_lose_events(c.port, 1);
    candidate_end(&first);
    candidate_await_led(&second, 1, MS);
    candidate_await_leader(&third, "second", 3ULL * WORLD_TIMEOUT_MS);
    candidate_end(&second);
    candidate_end(&third);
    end();
}

/* The znode of the next leader may not be read for a time: the last one stays known, and
 * then that one is. */
static void refused_for_a_time(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    struct world_path foreign = world_foreign_node(&world, CANDIDATE_PATH, "latch-");
    candidate_begin(&third, &c, "third");
    third.may_err = true;
    candidate_await_leader(&third, "first", MS);
    assert_int_equal(sim_set_readable(world.sim, foreign.text, false), 0);
    candidate_end(&first);
    world_run_for(&world, 3000);
    assert_string_equal(third.leader_id, "first");
    assert_int_equal(sim_set_readable(world.sim, foreign.text, true), 0);
    candidate_await_leader(&third, "", 4ULL * WORLD_TIMEOUT_MS); /* it has no data */
    assert_true(third.leader_token > first.token);
    world_delete(&world, &foreign);
    candidate_await_leader(&third, third.led > 0 ? "third" : NULL, MS);
    candidate_end(&third);
    end();
}

/* The leader's znode goes at any event while a follower finds out who leads. */
static void the_leader_goes_at_any_event(uint64_t seed, void *const *state)
{
    for (uint64_t events = 0; events < 80; events += 1 + seed % 3) {
        begin(seed, state);
        world_make_path(&world, CANDIDATE_PATH);
        struct world_path one = world_foreign_node(&world, CANDIDATE_PATH, "latch-");
        struct world_path two = world_foreign_node(&world, CANDIDATE_PATH, "latch-");
        candidate_begin(&third, &c, "third");
        world_steps(&world, events);
        world_delete(&world, &one);
        world_steps(&world, 10);
        world_delete(&world, &two);
        candidate_await_leader(&third, "third", MS);
        candidate_end(&third);
        world.each_ms = NULL;
        world_end(&world);
    }
}

/* Another server answers each connection, and each lags. */
static void servers_lag(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_servers(&world, seed, state, 3);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    process_begin(&c, &world, "c", NULL);
    world.each_ms = candidates_check;
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_begin(&third, &c, "third");
    first.may_err = second.may_err = third.may_err = true;
    for (int i = 0; i < 6; i++) {
        for (int server = 0; server < 3; server++) {
            sim_lag(world.sim, server, 100 * ((seed + (uint64_t)server) % 5));
        }
        if (candidates_leader() != NULL) {
            candidate_resign(candidates_leader());
        }
        sim_move(c.port);
        world_run_for(&world, 5000);
        assert_int_equal(candidates_leading(), 1);
        all_see(candidates_leader()->id);
    }
    candidate_end(&first);
    candidate_end(&second);
    candidate_end(&third);
    end();
}

/* One of two of a client resigns: it sees nobody lead at once, although its client still
 * sees its znode. */
static void one_that_resigns_sees_nobody(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &a, "second");
    candidate_await_leader(&second, "first", MS);
    world_run_for(&world, 1000);
    candidate_resign(&first);
    candidate_await_deposed(&first, 1, MS);
    world_steps(&world, 1);
    assert_int_equal(first.leader_token, 0);
    candidate_await_leader(&first, "second", MS);
    candidate_end(&second);
    candidate_end(&first);
    end();
}

/* a and b connect to the leader, whose number is returned. c is not started yet, and goes
 * to a server that diverges. */
static int begin_at_leader(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_servers(&world, seed, state, 3);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    process_make(&c, &world, "c", NULL);
    c.may_log_errors = true;
    int leading = sim_leader(world.sim);
    sim_connect_to(a.port, leading);
    sim_connect_to(b.port, leading);
    return leading;
}

/* A server goes on showing the znode of a leader that has gone (A9). Its client comes
 * there after it has read of the next leader elsewhere: it does not go back. */
static void a_server_that_has_diverged(uint64_t seed, void *const *state)
{
    int leading = begin_at_leader(seed, state), diverged = (leading + 1) % 3;
    sim_connect_to(c.port, diverged);
    process_start(&c);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    world_run_for(&world, 1000);
    candidate_begin(&third, &c, "third");
    third.may_err = true;
    candidate_await_leader(&third, "first", MS);
    world_run_for(&world, 1000);
    sim_miss_deletes(world.sim, diverged, 1);
    candidate_end(&first);
    candidate_await_led(&second, 1, MS);
    sim_connect_to(c.port, leading);
    sim_move(c.port);
    candidate_await_leader(&third, "second", MS);
    sim_connect_to(c.port, diverged);
    sim_move(c.port);
    world_run_for(&world, 2000);
    assert_string_equal(third.leader_id, "second");
    sim_converge(world.sim);
    sim_connect_to(c.port, -1);
    candidate_end(&second);
    candidate_await_leader(&third, "third", MS);
    candidate_end(&third);
    end();
}

/* The same server shows the znode with which this participant led before. */
static void a_server_that_shows_the_own_znode(uint64_t seed, void *const *state)
{
    int leading = begin_at_leader(seed, state), diverged = (leading + 1) % 3;
    sim_connect_to(c.port, leading);
    process_start(&c);
    candidate_begin(&third, &c, "third");
    candidate_await_led(&third, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "third", MS);
    third.may_err = true;
    sim_miss_deletes(world.sim, diverged, 1);
    candidate_resign(&third);
    candidate_await_led(&second, 1, MS);
    candidate_await_leader(&third, "second", MS);
    sim_connect_to(c.port, diverged);
    sim_move(c.port);
    world_run_for(&world, 2000);
    assert_string_equal(third.leader_id, "second");
    sim_converge(world.sim);
    sim_connect_to(c.port, -1);
    world_run_for(&world, 2000);
    assert_string_equal(third.leader_id, "second");
    candidate_end(&second);
    candidate_await_led(&third, 2, MS);
    candidate_end(&third);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_next_one_is_known, 1, 10),
        WORLD_SCENARIO(one_that_only_looks, 1, 10),
        WORLD_SCENARIO(no_herd, 1, 6),
        WORLD_SCENARIO(no_polling, 1, 4),
        WORLD_SCENARIO(several_of_one_client, 1, 6),
        WORLD_SCENARIO(read_anew_after_an_outage, 1, 16),
        WORLD_SCENARIO(a_lost_event, 1, 6),
        WORLD_SCENARIO(refused_for_a_time, 1, 6),
        WORLD_SCENARIO(the_leader_goes_at_any_event, 1, 6),
        WORLD_SCENARIO(servers_lag, 1, 10),
        WORLD_SCENARIO(one_that_resigns_sees_nobody, 1, 10),
        WORLD_SCENARIO(a_server_that_has_diverged, 1, 10),
        WORLD_SCENARIO(a_server_that_shows_the_own_znode, 1, 10),
    };

    return cmocka_run_group_tests_name("election follows the leader", tests, NULL, NULL);
}
