/* SPDX-License-Identifier: Apache-2.0 */
/* A holder's server is a follower that is cut off from its leader, and does not
 * know it yet: it goes on answering pings and reads, "the lock's znode is there"
 * among them, while the leader ends the session and the next contender is
 * granted the lock on the other side.
 *
 *     holder ---- follower --x-- leader ---- other follower ---- contender
 *                                  |
 *                               recorder: stamps the moment the znode is deleted
 *
 * The hold must have ended by the clock before that moment. All clocks are
 * CLOCK_BOOTTIME of one machine; the recorder stamps on a thread of its own. */
#include <stdatomic.h>
#include <stdio.h>

#include "seeded.h"
#include "world.h"

#define LOCK "/cut/lock"
#define SESSION_MS 2000
#define SAMPLE_MS 2

/* Longer than any session here lives: what makes the time dangerous. */
static const struct ensemble_options ensemble_options = {.tick_ms = 200,
                                                         .sync_limit = 100};
static struct seeded seeded;

static int start(void **state)
{
    (void)state;
    seeded = seeded_begin();
    return servers_start_three_with(&ensemble_options);
}

/* ----------------------------------------------------------------- deletion */

/* When the majority deleted the holder's znode; 0: not yet. Beside the loop, so
 * that a busy loop cannot make it later. */
static _Atomic uint64_t deleted_at;

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh;
    (void)state;
    (void)path;
    (void)context;
    if (type == ZOO_DELETED_EVENT) {
        deleted_at = uvzk_now();
    }
}

static void ignore_stat(int status, const struct Stat *stat, const void *context)
{
    (void)status;
    (void)stat;
    (void)context;
}

static void record_deletion(zhandle_t *zh, const char *path)
{
    deleted_at = 0;
    assert_int_equal(zoo_awexists(zh, path, on_event, NULL, ignore_stat, NULL), ZOK);
    assert_int_equal(raw_exists(zh, path, NULL), ZOK); /* behind it: it is armed */
}

/* ------------------------------------------------------------------- scene */

static struct world world;
static struct process holder, contender;
static struct hold holding, contending;
static int follower;           /* the holder's */
static zhandle_t *at_follower; /* the world's view is the leader's */
static char other_hosts[128];  /* the members that stay together */
static uv_timer_t sampling;
static uint64_t valid_until; /* the last that was told of the hold */
static uint64_t last_held;   /* the last moment at which it was "held" */
static int both;             /* samples in which both held */

static void sample(uv_timer_t *timer)
{
    uint64_t moment = uvzk_now();
    uint64_t until = uvzk_hold_valid_until(&holding.request);
    (void)timer;
    if (!uvzk_hold_is_valid(&holding.request)) {
        return;
    }
    last_held = moment;
    valid_until = until;
    if (uvzk_hold_is_valid(&contending.request)) {
        both++;
    }
}

static void look_from_both_sides(void)
{
    int leader = ensemble_leader(ensemble);
    follower = ensemble_follower(ensemble);
    assert_true(leader >= 0 && follower >= 0);
    int other = ENSEMBLE_SIZE - leader - follower;
    snprintf(other_hosts, sizeof(other_hosts), "%s,%s",
             ensemble_hosts_of(ensemble, leader), ensemble_hosts_of(ensemble, other));
    world_look_from(&world, ensemble_hosts_of(ensemble, leader));
    at_follower = raw_open(ensemble_hosts_of(ensemble, follower));
    assert_non_null(at_follower);
}

static void begin(uvzk_proof_t proof)
{
    world_begin(&world, LOCK);
    look_from_both_sides();
    world.options.session_timeout_ms = SESSION_MS;
    world.options.hosts = ensemble_hosts_of(ensemble, follower);
    world.options.proof = (uint32_t)proof;
    process_begin(&holder, &world, "holder", NULL);
    hold_take(&holding, &holder);
    world.options.hosts = other_hosts;
    world.options.proof = UVZK_PROOF_QUORUM;
    process_begin(&contender, &world, "contender", NULL);
    hold_queue(&contending, &contender, NULL);
    record_deletion(world.raw, holding.path);
    valid_until = last_held = 0;
    both = 0;
    uv_timer_init(world.loop, &sampling);
    uv_timer_start(&sampling, sample, 0, SAMPLE_MS);
}

/* Cuts right after a proof, if there are any: the leader knows of it, and has not
 * heard of the session since. Returns when the other side has the lock. */
static void cut(enum ensemble_cut what, bool proofs)
{
    uint64_t since = world_now(&world);
    while (valid_until == 0) {
        assert_true(world_turn(&world, since));
    }
    world_run_for(&world, seeded_below(&seeded, SESSION_MS / 3));
    while (proofs && uvzk_hold_valid_until(&holding.request) <= valid_until) {
        assert_true(world_turn(&world, since));
    }
    assert_true(hold_holds(&holding));
    ensemble_cut(ensemble, follower, what);
    hold_await(&contending, PATIENCE_MS);
    since = world_now(&world);
    while (deleted_at == 0) { /* on a thread of its own, perhaps a little later */
        assert_true(world_turn(&world, since));
    }
}

static void end(void)
{
    ensemble_mend(ensemble, follower);
    hold_give_back(&contending);
    assert_true(world_await(&world, &holding.lost, PATIENCE_MS));
    uv_close((uv_handle_t *)&sampling, NULL);
    raw_close(at_follower);
    world_end(&world);
}

/* ------------------------------------------------------------------- tests */

/* It was told of its loss, and believed nothing any more, when the znode went. */
static void assert_never_two(void)
{
    printf("the hold ended %lld ms before its znode, with %s\n",
           (long long)(deleted_at - valid_until), uvzk_err_name(holding.reason));
    assert_int_equal(both, 0);
    assert_int_equal(holding.lost, 1);
    assert_true(holding.reason == UVZK_EPROOF || holding.reason == UVZK_EEXPIRED);
    assert_true(valid_until <= deleted_at);
    assert_true(last_held <= deleted_at);
    assert_false(uvzk_lock_is_held(&holder.mutex));
}

static void run_cut(enum ensemble_cut what, uvzk_proof_t proof)
{
    begin(proof);
    cut(what, true);
    /* That it hears of the end of the session is what a mute member has left. */
    if (what != ENSEMBLE_MUTE) {
        assert_int_equal(raw_exists(at_follower, holding.path, NULL), ZOK);
    }
    assert_never_two();
    end();
}

static void test_hold_ends_before_the_leader_gives_it_away(void **state)
{
    const enum ensemble_cut cuts[] = {ENSEMBLE_APART, ENSEMBLE_DEAF, ENSEMBLE_MUTE,
                                      ENSEMBLE_APART, ENSEMBLE_DEAF, ENSEMBLE_MUTE};
    (void)state;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        run_cut(cuts[i], UVZK_PROOF_QUORUM);
    }
}

static void test_sync_proves_it_of_a_follower_too(void **state)
{
    (void)state;
    run_cut(ENSEMBLE_APART, UVZK_PROOF_SYNC);
    run_cut(ENSEMBLE_MUTE, UVZK_PROOF_SYNC);
}

/* What the others are worth: by Curator's rule the same cut makes two holders,
 * the first of them connected all the time. */
static void test_without_a_proof_there_are_two_holders(void **state)
{
    (void)state;
    begin(UVZK_PROOF_NONE);
    cut(ENSEMBLE_APART, false);
    assert_int_equal(raw_exists(at_follower, holding.path, NULL), ZOK);
    assert_int_equal(uvzk_client_state(&holder.client), UVZK_STATE_CONNECTED);
    assert_true(hold_holds(&holding));
    assert_true(uvzk_hold_is_valid(&holding.request));
    assert_true(uvzk_hold_is_valid(&contending.request));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold_ends_before_the_leader_gives_it_away),
        cmocka_unit_test(test_sync_proves_it_of_a_follower_too),
        cmocka_unit_test(test_without_a_proof_there_are_two_holders),
    };
    return cmocka_run_group_tests(tests, start, servers_stop);
}
