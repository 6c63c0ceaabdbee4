/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessSemaphoreCluster: an ensemble of three goes away under many
 * clients of one semaphore, and it, or another one, comes. */
#include "worker_pool.h"

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

/* A process with a worker for each; there is one lease for all of them. */
static struct world world;
static struct process processes[CLIENTS_MAX];
static uvzk_semaphore_t semaphores[CLIENTS_MAX];
static struct worker_pool pool;

static void check_single(struct worker_pool *workers)
{
    assert_in_range(worker_pool_holders(workers), 0, 1);
}

static void begin(int count, int rounds)
{
    world_begin(&world, NULL);
    world.options.session_timeout_ms = SESSION_MS;
    worker_pool_open(&pool, &world, count);
    pool.check = check_single;
    pool.sessions_may_end = true;
    for (int i = 0; i < count; i++) {
        process_begin(&processes[i], &world, "one", NULL);
        memset(&semaphores[i], 0, sizeof(semaphores[i]));
        assert_int_equal(
            uvzk_semaphore_init(&processes[i].client, &semaphores[i], PATH, 1, NULL), 0);
        worker_pool_assign(&pool, i, &processes[i], &semaphores[i], rounds);
    }
}

static void end(void)
{
    world_look_again(&world);
    world_end(&world);
    worker_pool_close(&pool);
}

/* ------------------------------------------------------------------ conditions */

static bool one_holds(void *context)
{
    (void)worker_pool_turn(context);
    return worker_pool_holders(context) == 1;
}

/* Its lease, or its place in the line: the holder's znode there may stand for a while. */
static bool each_has_one_znode(void)
{
    for (int i = 0; i < pool.count; i++) {
        if (process_metrics(&processes[i]).contenders != 1) {
            return false;
        }
    }
    return true;
}

/* All but the holder wait for the mutex of the semaphore: what has never been sent would
 * outlive the session. */
static bool all_others_wait(void *context)
{
    (void)worker_pool_turn(context);
    return worker_pool_holders(&pool) == 1 && each_has_one_znode() &&
           world_children(&world, PATH "/locks") == pool.count - 1;
}

static bool all_have_failed(void *context)
{
    (void)worker_pool_turn(context);
    return !worker_pool_is_busy(context);
}

static bool nobody_knows_a_session(void *context)
{
    const struct worker_pool *workers = context;
    int lost = 0;
    (void)worker_pool_turn(context);
    for (int i = 0; i < workers->count; i++) {
        lost += processes[i].lost > 0;
    }
    return lost == workers->count;
}

static int grants_wanted;

static bool have_been_granted(void *context)
{
    const struct worker_pool *workers = context;
    (void)worker_pool_turn(context);
    return workers->grants >= grants_wanted;
}

static void work(int grants)
{
    grants_wanted = pool.grants + grants;
    assert_true(world_await_that(&world, have_been_granted, &pool));
}

static bool somebody_holds(void *context)
{
    (void)worker_pool_turn(context);
    return worker_pool_holders(context) > 0;
}

/* ----------------------------------------------------------------------- tests */

/* Curator's clients are led to the new cluster by another connection string; here it is
 * a new one, empty, behind the same addresses. */
static void test_killed_server_with_ensemble_provider(void **state)
{
    (void)state;
    begin(10, 1);
    pool.keep_holds = true;
    assert_true(world_await_that(&world, all_others_wait, &pool));

    pool.paused = true;
    ensemble_wipe(ensemble);
    assert_true(world_await_that(&world, all_have_failed, &pool));
    assert_int_equal(worker_pool_holders(&pool), 0);

    pool.paused = false;
    assert_false(run_until(world.loop, somebody_holds, &pool, 500));
    revive(ENSEMBLE_SIZE);
    assert_true(world_await_that(&world, one_holds, &pool));
    pool.keep_holds = false;
    worker_pool_finish(&pool);
    assert_int_equal(pool.grants, 10 + 1); /* one of them twice */
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
    assert_true(world_await_that(&world, nobody_knows_a_session, &pool));
    int before = pool.grants;
    assert_false(run_until(world.loop, somebody_holds, &pool, 1000));
    assert_int_equal(pool.grants, before);

    revive(2);
    work(2 * CLIENTS_MAX);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        pool.workers[i].rounds = 0;
    }
    pool.sessions_may_end = false; /* there is no reason any more */
    worker_pool_finish(&pool);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_server_with_ensemble_provider),
        cmocka_unit_test(test_cluster),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
