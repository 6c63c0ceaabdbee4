/* SPDX-License-Identifier: Apache-2.0 */
/* Elections on an ensemble. A leader's server is a follower that is cut off from the
 * other servers and does not know it yet, while these elect the next leader; and a
 * follower of the election is connected to a server that lags behind.
 *
 *     leader ---- follower --x-- leading server ---- other follower ---- next leader
 *
 * The leader must be deposed before another one can lead, and a server that lags must not
 * make anybody report an earlier leader after a later one (candidate.h). All clocks are
 * CLOCK_BOOTTIME of one machine. */
#include <stdio.h>

#include "candidate.h"
#include "seeded.h"
#include "world.h"

#define SESSION_MS 2000
#define COMMITTER "CommitProcessor"
#define QUIET_MS 300 /* in which a wrong report would come */

/* Longer than any session here lives: what makes the time dangerous. */
static const struct ensemble_options ensemble_options = {.tick_ms = 200,
                                                         .sync_limit = 100};
static struct seeded seeded;
static struct world world;
static struct process a, b, c;
static struct candidate first, second, third;
static char other_hosts[128]; /* the members that stay together */
static uint64_t deposed_at, led_at;

static int start(void **state)
{
    (void)state;
    seeded = seeded_begin();
    return servers_start_three_with(&ensemble_options);
}

/* ----------------------------------------------------------------------- the scene */

static void begin_at(int follower, int leader)
{
    candidates_reset();
    world_begin(&world, NULL);
    (void)snprintf(other_hosts, sizeof(other_hosts), "%s,%s",
                   ensemble_hosts_of(ensemble, leader),
                   ensemble_hosts_of(ensemble, ENSEMBLE_SIZE - leader - follower));
    world_look_from(&world, ensemble_hosts_of(ensemble, leader));
    world.options.session_timeout_ms = SESSION_MS;
    world.options.hosts = ensemble_hosts_of(ensemble, follower);
    process_begin(&a, &world, "a", NULL);
    world.options.hosts = other_hosts;
    process_begin(&b, &world, "b", NULL);
}

static void end(void)
{
    candidate_end(&first);
    candidate_end(&second);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 0));
    world_end(&world);
}

static void note_end(struct candidate *candidate)
{
    (void)candidate;
    deposed_at = uvzk_now();
}

static void note_begin(struct candidate *candidate)
{
    (void)candidate;
    led_at = uvzk_now();
}

/* ----------------------------------------------------------------------- cut off */

static void run_cut(enum ensemble_cut cut)
{
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);

    assert_true(leader >= 0 && follower >= 0);
    begin_at(follower, leader);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, PATIENCE_MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", PATIENCE_MS);
    first.deposed_hook = note_end;
    second.lead_hook = note_begin;
    world_run_for(&world, seeded_below(&seeded, SESSION_MS / 3));
    ensemble_cut(ensemble, follower, cut);
    /* Both callbacks run on this loop, so their order shows who was first. */
    candidate_await_deposed(&first, 1, PATIENCE_MS);
    assert_int_equal(second.led, 0);
    candidate_await_led(&second, 1, PATIENCE_MS);
    print_message("deposed %lld ms before another one led, with %s\n",
                  (long long)(led_at - deposed_at), uvzk_err_name(first.reason));
    assert_true(first.reason == UVZK_EPROOF || first.reason == UVZK_EEXPIRED);
    assert_true(deposed_at <= led_at);
    assert_true(second.token > first.token);
    ensemble_mend(ensemble, follower);
    candidate_await_leader(&first, "second", PATIENCE_MS);
    end();
}

static void test_deposed_before_another_one_leads(void **state)
{
    static const enum ensemble_cut cuts[] = {ENSEMBLE_APART, ENSEMBLE_DEAF,
                                             ENSEMBLE_MUTE};
    (void)state;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        run_cut(cuts[i]);
    }
}

/* ---------------------------------------------------------------------- it lags */

/* The third one's server applies nothing for a while: it knows the last leader, and the
 * next ones as soon as its server does, in their order. */
static void test_a_server_that_lags(void **state)
{
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);

    (void)state;
    assert_true(leader >= 0 && follower >= 0);
    begin_at(follower, leader);
    process_end(&a); /* only the third one is at that server */
    world.options.session_timeout_ms = 30000;
    process_begin(&a, &world, "a at the others", NULL);
    world.options.hosts = ensemble_hosts_of(ensemble, follower);
    process_begin(&c, &world, "c", NULL);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, PATIENCE_MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", PATIENCE_MS);
    candidate_begin(&third, &c, "third");
    candidate_await_leader(&third, "first", PATIENCE_MS);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 3));
    assert_true(ensemble_stall(ensemble, follower, COMMITTER));
    candidate_end(&first);
    candidate_await_led(&second, 1, PATIENCE_MS);
    world_run_for(&world, QUIET_MS);
    bool stale = third.leader_token == first.token && third.led == 0;
    ensemble_unstall(ensemble, follower);
    assert_true(stale);
    candidate_await_leader(&third, "second", PATIENCE_MS);
    candidate_end(&third);
    candidate_begin(&first, &a, "first again");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deposed_before_another_one_leads),
        cmocka_unit_test(test_a_server_that_lags),
    };

    return cmocka_run_group_tests(tests, start, servers_stop);
}
