/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ensemble of the live tests: whether what it reports about its members is
 * true, and whether its faults have the effects that the other tests rely on. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cmocka_test.h"
#include "diverge.h"
#include "ensemble.h"
#include "raw.h"
#include "run_loop.h"

/* A cut lasts a few tens of ticks in these tests, so the sync limit is higher. */
static const struct ensemble_options options = {.tick_ms = 200, .sync_limit = 50};
static struct ensemble *ensemble;

static int start_ensemble(void **state)
{
    (void)state;
    ensemble = ensemble_start(&options);
    return ensemble == NULL ? -1 : 0;
}

static int stop_ensemble(void **state)
{
    (void)state;
    ensemble_stop(ensemble);
    return 0;
}

static zhandle_t *open_at(int member)
{
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, member));
    assert_non_null(zh);
    return zh;
}

/* Blocks the test. The loop has no handles of its own; it only gives run_until its
 * timer. */
static bool wait_until(condition_fn condition, void *context)
{
    uv_loop_t loop;
    uv_loop_init(&loop);
    bool holds = run_until(&loop, condition, context, PATIENCE_MS);
    assert_int_equal(run_down(&loop), 0);
    return holds;
}

struct expected_text {
    zhandle_t *zh;
    const char *text;
};

static bool has_text(void *context)
{
    const struct expected_text *expected = context;
    char text[16];
    return raw_get(expected->zh, "/text", text, sizeof(text)) == ZOK &&
           strcmp(text, expected->text) == 0;
}

/* ------------------------------------------------------------------- tests */

static void test_knows_its_members(void **state)
{
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    assert_in_range(leader, 0, ENSEMBLE_SIZE - 1);
    assert_in_range(follower, 0, ENSEMBLE_SIZE - 1);
    assert_int_not_equal(leader, follower);
    zhandle_t *first = raw_open(ensemble_hosts(ensemble));
    assert_int_equal(raw_create(first, "/members"), ZOK);
    raw_close(first);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        char made[128];
        zhandle_t *zh = open_at(i);
        assert_true(ensemble_serves(ensemble, i));
        assert_non_null(strstr(ensemble_hosts(ensemble), ensemble_hosts_of(ensemble, i)));
        assert_int_equal(ensemble_member_of(ensemble, zoo_client_id(zh)->client_id), i);
        assert_int_equal(raw_contend(zh, "/members", made, sizeof(made)), ZOK);
        assert_int_equal(ensemble_ephemeral_count(ensemble, i), 1);
        assert_int_equal(ensemble_watch_count(ensemble, i), 0);
        raw_close(zh);
    }
    assert_int_equal(ensemble_member_of(ensemble, 1), -1);
}

static void test_another_leads_when_the_leader_dies(void **state)
{
    (void)state;
    int leader = ensemble_leader(ensemble);
    zhandle_t *zh = open_at(leader);
    assert_int_equal(raw_create(zh, "/kept"), ZOK);
    raw_close(zh);
    ensemble_kill(ensemble, leader);
    assert_false(ensemble_serves(ensemble, leader));
    assert_true(ensemble_wait_serving(ensemble));
    assert_int_not_equal(ensemble_leader(ensemble), leader);
    assert_true(ensemble_revive(ensemble, leader));
    assert_true(ensemble_wait_serving(ensemble));
    assert_true(ensemble_serves(ensemble, leader));
    zh = open_at(leader);
    assert_int_equal(raw_exists(zh, "/kept", NULL), ZOK);
    raw_close(zh);
}

static bool stands_alone(void *context)
{
    const int *member = context;
    return !ensemble_serves(ensemble, *member);
}

static void test_one_alone_does_not_serve(void **state)
{
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    int left = ENSEMBLE_SIZE - leader - follower;
    ensemble_pause(ensemble, leader);
    ensemble_kill(ensemble, follower);
    assert_true(wait_until(stands_alone, &left));
    assert_int_equal(ensemble_leader(ensemble), -1);
    ensemble_resume(ensemble, leader);
    assert_true(ensemble_revive(ensemble, follower));
    assert_true(ensemble_wait_serving(ensemble));
}

/* A member that is only mute still receives what is written elsewhere. A deaf one does
 * not. All of them answer their clients, and what was held back is not lost. */
static void test_cut_member_answers_its_clients(void **state)
{
    const enum ensemble_cut cuts[] = {ENSEMBLE_MUTE, ENSEMBLE_DEAF, ENSEMBLE_APART};
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    zhandle_t *there = open_at(leader), *here = open_at(follower);
    assert_int_equal(raw_create(there, "/text"), ZOK);
    for (size_t i = 0; i < 3; i++) {
        struct expected_text after = {here, "after"}, before = {here, "before"};
        assert_int_equal(raw_set(there, "/text", "before"), ZOK);
        assert_true(wait_until(has_text, &before));
        ensemble_cut(ensemble, follower, cuts[i]);
        assert_int_equal(raw_set(there, "/text", "after"), ZOK);
        if (cuts[i] == ENSEMBLE_MUTE) {
            assert_true(wait_until(has_text, &after));
        } else {
            assert_true(has_text(&before));
        }
        assert_true(ensemble_serves(ensemble, follower));
        ensemble_mend(ensemble, follower);
        assert_true(wait_until(has_text, &after));
    }
    raw_close(there);
    raw_close(here);
}

static atomic_int answered;

static void on_set(int status, const struct Stat *stat, const void *context)
{
    (void)stat;
    (void)context;
    answered += status == ZOK;
}

static bool has_answered(void *context)
{
    (void)context;
    return answered == 1;
}

/* A write at a mute member is executed when the leader receives it, after the cut. */
static void test_write_at_a_mute_member_waits(void **state)
{
    char text[16];
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    zhandle_t *there = open_at(leader), *here = open_at(follower);
    assert_int_equal(raw_create(there, "/waits"), ZOK);
    ensemble_cut(ensemble, follower, ENSEMBLE_MUTE);
    assert_int_equal(zoo_aset(here, "/waits", "late", 4, -1, on_set, NULL), ZOK);
    for (int i = 0; i < 5; i++) { /* the leader and the other follower are a quorum */
        assert_int_equal(raw_set(there, "/waits", "early"), ZOK);
        assert_int_equal(answered, 0);
    }
    ensemble_mend(ensemble, follower);
    assert_true(wait_until(has_answered, NULL));
    assert_int_equal(raw_get(there, "/waits", text, sizeof(text)), ZOK);
    assert_string_equal(text, "late");
    raw_close(there);
    raw_close(here);
}

static bool another_leads(void *context)
{
    const int *leader = context;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != *leader && ensemble_leads(ensemble, i)) {
            return true;
        }
    }
    return false;
}

/* Two members lead. The elected one executes writes. The deposed one answers reads by
 * itself. */
static void test_deposed_leader_goes_on_alone(void **state)
{
    char text[16];
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    int other = ENSEMBLE_SIZE - leader - follower;
    zhandle_t *old = open_at(leader);
    assert_int_equal(raw_create(old, "/reign"), ZOK);
    assert_int_equal(raw_set(old, "/reign", "first"), ZOK);
    ensemble_depose(ensemble, leader);
    assert_true(wait_until(another_leads, &leader));
    assert_true(ensemble_leads(ensemble, leader));
    assert_int_equal(ensemble_leader(ensemble), -1);
    zhandle_t *elected = open_at(ensemble_leads(ensemble, follower) ? follower : other);
    assert_int_equal(raw_set(elected, "/reign", "second"), ZOK);
    assert_int_equal(raw_get(old, "/reign", text, sizeof(text)), ZOK);
    assert_string_equal(text, "first");
    raw_close(elected);
    ensemble_mend(ensemble, leader);
    assert_true(ensemble_wait_serving(ensemble));
    raw_close(old);
    old = open_at(leader);
    assert_int_equal(raw_get(old, "/reign", text, sizeof(text)), ZOK);
    assert_string_equal(text, "second");
    raw_close(old);
}

static atomic_int got_second;

static void on_get(int status, const char *bytes, int length, const struct Stat *stat,
                   const void *context)
{
    (void)stat;
    (void)context;
    got_second = status == ZOK && length == 6 && memcmp(bytes, "second", 6) == 0 ? 1 : -1;
}

static bool waits_for_an_answer(void *context)
{
    const int *member = context;
    return ensemble_outstanding_count(ensemble, *member) >= 1;
}

static bool has_got(void *context)
{
    (void)context;
    return got_second != 0;
}

/* Without its CommitProcessor thread a member neither answers reads nor follows the
 * leader. */
static void test_stalled_member_answers_later(void **state)
{
    (void)state;
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    zhandle_t *there = open_at(leader), *here = open_at(follower);
    struct expected_text first = {here, "first"};
    assert_int_equal(raw_set(there, "/text", "first"), ZOK);
    assert_true(wait_until(has_text, &first));
    assert_false(ensemble_stall(ensemble, follower, "Nobody"));
    assert_true(ensemble_stall(ensemble, follower, "CommitProcessor"));
    assert_int_equal(zoo_aget(here, "/text", 0, on_get, NULL), ZOK);
    assert_true(wait_until(waits_for_an_answer, &follower));
    assert_int_equal(raw_set(there, "/text", "second"), ZOK);
    assert_int_equal(got_second, 0);
    ensemble_unstall(ensemble, follower);
    assert_true(wait_until(has_got, NULL));
    first.text = "second";
    assert_true(wait_until(has_text, &first));
    raw_close(there);
    raw_close(here);
}

/* The session that owns both znodes lives on, and later transactions reach the member. */
static void test_diverged_member_shows_another_history(void **state)
{
    char deleted[128], made[128];
    (void)state;
    if (!diverge_is_possible()) {
        skip();
    }
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    zhandle_t *there = open_at(leader);
    assert_int_equal(raw_create(there, "/history"), ZOK);
    assert_int_equal(raw_contend(there, "/history", deleted, sizeof(deleted)), ZOK);
    raw_close(open_at(follower)); /* the follower has all that was committed so far */
    ensemble_kill(ensemble, follower);
    assert_int_equal(raw_delete(there, deleted), ZOK);
    assert_int_equal(raw_contend(there, "/history", made, sizeof(made)), ZOK);
    assert_true(diverge(ensemble, follower));
    assert_int_equal(raw_create(there, "/later"), ZOK);
    zhandle_t *here = open_at(follower);
    assert_int_equal(raw_exists(here, "/later", NULL), ZOK);
    assert_int_equal(raw_exists(here, deleted, NULL), ZOK);
    assert_int_equal(raw_exists(here, made, NULL), ZNONODE);
    assert_int_equal(raw_delete(here, deleted), ZNONODE);
    assert_int_equal(raw_exists(here, deleted, NULL), ZOK);
    assert_int_equal(raw_exists(there, made, NULL), ZOK);
    raw_close(there);
    raw_close(here);
}

static void test_wiped_one_is_another_on_the_same_ports(void **state)
{
    char hosts[128];
    (void)state;
    zhandle_t *zh = raw_open(ensemble_hosts(ensemble));
    assert_int_equal(raw_create(zh, "/old"), ZOK);
    raw_close(zh);
    snprintf(hosts, sizeof(hosts), "%s", ensemble_hosts(ensemble));
    ensemble_wipe(ensemble);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        assert_false(ensemble_serves(ensemble, i));
        assert_true(ensemble_revive(ensemble, i));
    }
    assert_true(ensemble_wait_serving(ensemble));
    assert_string_equal(hosts, ensemble_hosts(ensemble));
    zh = raw_open(hosts);
    assert_int_equal(raw_exists(zh, "/old", NULL), ZNONODE);
    raw_close(zh);
}

/* Two ensembles run at a time. Stopping one ends all its processes, also a paused one,
 * and does not affect the other. */
static void test_stop_leaves_nothing(void **state)
{
    (void)state;
    stop_ensemble(NULL);
    ensemble = NULL;
    struct ensemble *one = ensemble_start(NULL), *other = ensemble_start(NULL);
    assert_non_null(one);
    assert_non_null(other);
    assert_string_not_equal(ensemble_hosts(one), ensemble_hosts(other));
    ensemble_pause(one, 1);
    ensemble_cut(one, 0, ENSEMBLE_APART);
    ensemble_stop(one);
    assert_true(ensemble_wait_serving(other));
    ensemble_stop(other);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knows_its_members),
        cmocka_unit_test(test_another_leads_when_the_leader_dies),
        cmocka_unit_test(test_one_alone_does_not_serve),
        cmocka_unit_test(test_cut_member_answers_its_clients),
        cmocka_unit_test(test_write_at_a_mute_member_waits),
        cmocka_unit_test(test_deposed_leader_goes_on_alone),
        cmocka_unit_test(test_stalled_member_answers_later),
        cmocka_unit_test(test_diverged_member_shows_another_history),
        cmocka_unit_test(test_wiped_one_is_another_on_the_same_ports),
        cmocka_unit_test(test_stop_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, start_ensemble, stop_ensemble);
}
