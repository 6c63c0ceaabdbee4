/* Curator's TestInterProcessSemaphoreCluster: an ensemble of three goes away under many
 * clients of one semaphore, and it, or another one, comes. */
#include "curator_client.h"
#include "curator_crowd.h"
#include "one_ensemble.h"
#include "raw.h"
#include "run_loop.h"

#include <limits.h>
#include <string.h>

#define PATH "/foo/bar/semaphore"
#define SESSION_MS 2000
#define CLIENTS_MAX 20

static void revive(int members)
{
    for (int i = 0; i < members; i++) {
        assert_true(ensemble_revive(ensemble, i));
    }
    assert_true(ensemble_wait_serving(ensemble));
}

/* A client with a worker for each; there is one lease for all of them. */
static uv_loop_t loop;
static struct curator_client clients[CLIENTS_MAX];
static uvzk_semaphore_t semaphores[CLIENTS_MAX];
static struct crowd crowd;

static void check_single(struct crowd *workers)
{
    assert_in_range(crowd_holders(workers), 0, 1);
}

static void begin(int count, int rounds)
{
    ensemble_is_clean = false;
    assert_int_equal(uv_loop_init(&loop), 0);
    crowd_open(&crowd, count);
    crowd.check = check_single;
    crowd.sessions_may_end = true;
    for (int i = 0; i < count; i++) {
        curator_client_open(&clients[i], &loop, ensemble_hosts(ensemble), SESSION_MS,
                            ensemble_tick_ms(ensemble));
        memset(&semaphores[i], 0, sizeof(semaphores[i]));
        assert_int_equal(
            uvzk_semaphore_init(&clients[i].client, &semaphores[i], PATH, 1, NULL), 0);
        crowd.workers[i].lock = &semaphores[i];
        crowd.workers[i].rounds = rounds;
    }
}

static bool nothing_stands(void *context)
{
    return raw_children_count(context, PATH "/leases") == 0 &&
           raw_children_count(context, PATH "/locks") == 0;
}

static void end(void)
{
    zhandle_t *zh = raw_open(ensemble_hosts(ensemble));
    assert_non_null(zh);
    for (int i = 0; i < crowd.count; i++) {
        curator_client_assert_idle(&clients[i]);
    }
    assert_true(run_until(&loop, nothing_stands, zh, PATIENCE_MS));
    for (int i = 0; i < crowd.count; i++) {
        curator_client_close(&clients[i]);
    }
    raw_close(zh);
    assert_int_equal(run_down(&loop), 0);
    crowd_close(&crowd);
    ensemble_is_clean = true;
}

/* ------------------------------------------------------------------ conditions */

static bool one_holds(void *context)
{
    (void)crowd_turn(context);
    return crowd_holders(context) == 1;
}

/* Its lease, or its place in the line: the holder's znode there may stand for a while. */
static bool each_has_one_znode(void)
{
    for (int i = 0; i < crowd.count; i++) {
        uvzk_client_stats_t stats;
        uvzk_client_stats(&clients[i].client, &stats);
        if (stats.contenders != 1) {
            return false;
        }
    }
    return true;
}

/* All but the holder wait for the mutex of the semaphore: what has never been sent would
 * outlive the session. */
static bool all_others_wait(void *context)
{
    (void)crowd_turn(&crowd);
    return crowd_holders(&crowd) == 1 && each_has_one_znode() &&
           raw_children_count(context, PATH "/locks") == crowd.count - 1;
}

static bool all_have_failed(void *context)
{
    (void)crowd_turn(context);
    return !crowd_is_busy(context);
}

static bool nobody_knows_a_session(void *context)
{
    const struct crowd *workers = context;
    int lost = 0;
    (void)crowd_turn(context);
    for (int i = 0; i < workers->count; i++) {
        lost += clients[i].lost > 0;
    }
    return lost == workers->count;
}

static int grants_wanted;

static bool have_been_granted(void *context)
{
    const struct crowd *workers = context;
    (void)crowd_turn(context);
    return workers->grants >= grants_wanted;
}

static void work(int grants)
{
    grants_wanted = crowd.grants + grants;
    assert_true(run_until(&loop, have_been_granted, &crowd, PATIENCE_MS));
}

static bool somebody_holds(void *context)
{
    (void)crowd_turn(context);
    return crowd_holders(context) > 0;
}

/* ----------------------------------------------------------------------- tests */

/* Curator's clients are led to the new cluster by another connection string; here it is
 * a new one, empty, behind the same addresses. */
static void test_killed_server_with_ensemble_provider(void **state)
{
    (void)state;
    begin(10, 1);
    crowd.clinging = true;
    zhandle_t *zh = raw_open(ensemble_hosts(ensemble));
    assert_non_null(zh);
    assert_true(run_until(&loop, all_others_wait, zh, PATIENCE_MS));

    crowd.resting = true;
    ensemble_wipe(ensemble);
    assert_true(run_until(&loop, all_have_failed, &crowd, PATIENCE_MS));
    raw_close(zh);
    assert_int_equal(crowd_holders(&crowd), 0);

    crowd.resting = false;
    assert_false(run_until(&loop, somebody_holds, &crowd, 500));
    revive(ENSEMBLE_SIZE);
    assert_true(run_until(&loop, one_holds, &crowd, PATIENCE_MS));
    crowd.clinging = false;
    crowd_finish(&crowd, &loop);
    assert_int_equal(crowd.grants, 10 + 1); /* one of them twice */
    end();
}

static void test_cluster(void **state)
{
    (void)state;
    begin(CLIENTS_MAX, INT_MAX / 2);
    work(2 * CLIENTS_MAX);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        ensemble_kill(ensemble, i);
    }
    assert_true(run_until(&loop, nobody_knows_a_session, &crowd, PATIENCE_MS));
    int before = crowd.grants;
    assert_false(run_until(&loop, somebody_holds, &crowd, 1000));
    assert_int_equal(crowd.grants, before);

    revive(2);
    work(2 * CLIENTS_MAX);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        crowd.workers[i].rounds = 0;
    }
    crowd.sessions_may_end = false; /* there is no reason any more */
    crowd_finish(&crowd, &loop);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_killed_server_with_ensemble_provider,
                               one_ensemble_make_whole),
        cmocka_unit_test_setup(test_cluster, one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, one_ensemble_start, one_ensemble_stop);
}
