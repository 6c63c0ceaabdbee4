/* SPDX-License-Identifier: Apache-2.0 */
/* Two leaders at once is what users of other libraries report. Their schedules, at every
 * event at which they could strike:
 *
 *   CURATOR-18                 closed while its znode is being created: no znode is left
 *   CURATOR-620, 652, 696      the znode of an old session is no leadership
 *   CURATOR-644, 645           the predecessor goes between the listing and the watch
 *   CURATOR-724                the path is deleted: the participant contends again
 *   kubernetes 67651           a leader that was stopped acts on its old lease
 *
 * candidates_check, at every millisecond and in every callback, finds a second leader. */
#include "cmocka_test.h"

#include <string.h>

#include "candidate.h"
#include "world.h"

#define MS 60000U

static struct world world;
static struct process a, b;
static struct candidate first, second;

static void begin(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_ready(&world, seed, state, &a, &b);
    world.each_ms = candidates_check;
}

static void begin_led(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    /* What has ended their sessions may end their waits. */
    first.may_err = second.may_err = true;
}

static void end(void)
{
    candidate_end(&first);
    candidate_end(&second);
    world.each_ms = NULL;
    for (int i = 0; i < 100 && world_children(&world, CANDIDATE_PATH) > 0; i++) {
        world_run_for(&world, 1000); /* the deletes may have to wait for a connection */
    }
    assert_int_equal(world_children(&world, CANDIDATE_PATH), 0);
    world_end(&world);
}

/* The leader's znode is of the session that its process has now. */
static void check_owner(struct candidate *candidate)
{
    const char *path = uvzk_hold_path(uvzk_election_hold(&candidate->election));
    struct uvzk__stat stat;

    if (!sim_stat(world.sim, path, &stat) ||
        stat.ephemeral_owner != sim_session_id(candidate->process->port)) {
        world_fail(&world, "%s leads by the znode of another session", candidate->id);
    }
}

/* ------------------------------------------------------------------------- CURATOR-18 */

static void closed_during_the_create(uint64_t seed, void *const *state)
{
    for (uint64_t events = 0; events < 40; events++) {
        begin(seed, state);
        candidate_begin(&first, &a, "first");
        if (seed % 2 == 0) {
            sim_lose_reply(a.port);
        }
        world_steps(&world, events);
        candidate_close(&first,
                        seed % 3 == 0 ? UVZK_ELECTION_SILENT : UVZK_ELECTION_NOTIFY);
        candidate_end(&first);
        world.each_ms = NULL;
        world_run_for(&world, 20000);
        assert_int_equal(world_children(&world, CANDIDATE_PATH), 0);
        world_end(&world);
    }
}

/* ------------------------------------------------------------- CURATOR-620, 652, 696 */

/* testSessionInterruptionDoNotCauseBrainSplit: the session ends, the client learns of it
 * with or without a disconnection, and the old znode is there until the servers have
 * deleted it. */
static void the_old_session_leads_no_more(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    first.lead_hook = second.lead_hook = check_owner;
    int64_t token = first.token;
    if (seed % 2 == 0) {
        a.killed = true;
        assert_true(sim_expire_connected(a.port));
    } else {
        process_expire(&a);
    }
    candidate_await_deposed(&first, 1, MS);
    assert_int_equal(first.reason, UVZK_EEXPIRED);
    candidate_await_led(&second, 1, MS);
    assert_true(second.token > token);
    candidate_end(&second);
    candidate_await_led(&first, 2, MS);
    candidate_begin(&second, &b, "second");
    end();
}

/* A leader that is cut off: it is deposed by its clock, and later its old znode, which
 * still exists when it comes back, makes it no leader. */
static void cut_off_and_back(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    first.lead_hook = second.lead_hook = check_owner;
    sim_disconnect(a.port, seed % 2 == 0 ? SIM_RESET : SIM_SILENT,
                   WORLD_TIMEOUT_MS / 2 + 500 * (seed % 20));
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    /* Whoever leads now, it does so with a znode of its present session. */
    assert_int_equal(candidates_leading(), 1);
    assert_true(first.deposed == 0 || second.led > 0);
    end();
}

/* ------------------------------------------------------------------- CURATOR-644, 645 */

/* Another client's znode is ahead, and goes at every event after the participant has
 * begun: it leads once, and asks a bounded number of times. */
static void the_predecessor_goes_at_any_event(uint64_t seed, void *const *state)
{
    for (uint64_t events = 0; events < 60; events += 1 + seed % 3) {
        begin(seed, state);
        world_make_path(&world, CANDIDATE_PATH);
        struct world_path foreign = world_foreign_node(&world, CANDIDATE_PATH, "latch-");
        candidate_begin(&first, &a, "first");
        world_steps(&world, events);
        world_delete(&world, &foreign);
        candidate_await_led(&first, 1, MS);
        candidate_await_leader(&first, "first", MS);
        assert_true(process_metrics(&a).listings < 30);
        candidate_end(&first);
        world.each_ms = NULL;
        world_end(&world);
    }
}

/* ----------------------------------------------------------------------- CURATOR-724 */

static void delete_all(void)
{
    while (world_children(&world, CANDIDATE_PATH) > 0) {
        world_delete_child(&world, CANDIDATE_PATH, 0);
    }
    assert_int_equal(sim_delete_by_hand(world.sim, CANDIDATE_PATH), 0);
}

/* Somebody deletes the path with all znodes: nobody led by right at that moment, so it is
 * only checked that all contend again and that one leads in the end. */
static void the_path_is_deleted(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    a.killed = b.killed = true; /* a hold whose znode was deleted is not protected */
    delete_all();
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    a.killed = b.killed = false;
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_int_equal(candidates_leading(), 1);
    assert_int_equal(first.deposed, 1);
    assert_int_equal(first.reason, UVZK_EDELETED);
    assert_int_equal(world_children(&world, CANDIDATE_PATH), 2);
    end();
}

/* ------------------------------------------------------------------ kubernetes 67651 */

/* The leader's process is stopped for longer than its session. When it goes on, before
 * any callback, the clock says that it leads no more. */
static void a_stopped_leader_does_not_act(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    if (seed % 2 == 0) {
        sim_pause(a.port, 3ULL * WORLD_TIMEOUT_MS);
    } else {
        sim_jump_clock(a.port, 3ULL * WORLD_TIMEOUT_MS);
        assert_false(candidate_is_leader(&first));
        assert_int_equal(first.deposed, 0); /* it has not been told yet */
    }
    candidate_await_deposed(&first, 1, 2 * MS);
    if (seed % 2 == 0) {
        assert_int_equal(second.led, 1);
    }
    world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(candidates_leading(), 1);
    end();
}

/* The loop is busy over the end of the session, and the leader asks in between: the
 * answer comes from the clock, not from the callback that is late. */
static void a_busy_loop_does_not_lead(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    sim_disconnect(a.port, SIM_SILENT, 4ULL * WORLD_TIMEOUT_MS);
    sim_stall(a.port, 3ULL * WORLD_TIMEOUT_MS);
    candidate_await_led(&second, 1, MS);
    assert_false(candidate_is_leader(&first));
    assert_int_equal(first.deposed, 0);
    candidate_await_deposed(&first, 1, MS);
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    end();
}

/* A follower that is cut off answers reads and pings while the leader of the ensemble
 * ends the session. */
static void cut_off_follower(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    sim_follower_cut(a.port, 2ULL * WORLD_TIMEOUT_MS);
    candidate_await_deposed(&first, 1, MS);
    candidate_await_led(&second, 1, MS);
    assert_true(first.deposed_ms <= second.led_ms);
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    end();
}

/* TestLeaderLatch.testLostConnection: all servers are away, then one leader again. */
static void all_servers_restart(uint64_t seed, void *const *state)
{
    begin_led(seed, state);
    sim_restart(world.sim, 1000 * (1 + seed % 30));
    world_run_for(&world, 8ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(candidates_leading(), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(closed_during_the_create, 1, 6),
        WORLD_SCENARIO(the_old_session_leads_no_more, 1, 20),
        WORLD_SCENARIO(cut_off_and_back, 1, 40),
        WORLD_SCENARIO(the_predecessor_goes_at_any_event, 1, 6),
        WORLD_SCENARIO(the_path_is_deleted, 1, 10),
        WORLD_SCENARIO(a_stopped_leader_does_not_act, 1, 20),
        WORLD_SCENARIO(a_busy_loop_does_not_lead, 1, 10),
        WORLD_SCENARIO(cut_off_follower, 1, 10),
        WORLD_SCENARIO(all_servers_restart, 1, 30),
    };

    return cmocka_run_group_tests_name("one leader at a time", tests, NULL, NULL);
}
