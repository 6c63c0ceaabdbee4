/* The servers of an ensemble are restarted one after the other, as for an update, while
 * a mutex and a semaphore are contended for and a lock is held: nobody holds beside
 * another, nobody is left out, no hold is lost, nothing stays behind. */
#include <stdio.h>
#include <stdlib.h>

#include "attempt.h"
#include "contest.h"
#include "one_ensemble.h"
#include "raw.h"
#include "run_loop.h"

#define HELD "/rolling/held"
#define MUTEX "/rolling/mutex"
#define SEMAPHORE "/rolling/semaphore"
#define SESSION_MS 40000 /* outlives each restart */
#define SIDES ENSEMBLE_SIZE
#define HOLD_MS 10

struct scene {
    uv_loop_t loop;
    struct side sides[SIDES]; /* each with a mutex on the path that is held */
    uvzk_mutex_t mutexes[SIDES];
    uvzk_semaphore_t semaphores[SIDES];
    struct attempt holder;
    struct contest for_mutex, for_leases;
    struct contestant at_mutex[SIDES], at_semaphore[2 * SIDES];
};

static bool nobody_is_left_out(void *context)
{
    const struct scene *scene = context;
    return contest_has_gone_round(&scene->for_mutex) &&
           contest_has_gone_round(&scene->for_leases);
}

static void mark(struct scene *scene)
{
    contest_mark(&scene->for_mutex);
    contest_mark(&scene->for_leases);
}

static void join(struct scene *scene, int i)
{
    uvzk_client_t *client = &scene->sides[i].client;
    uvzk_mutex_t *mutex = &scene->mutexes[i];
    uvzk_semaphore_t *semaphore = &scene->semaphores[i];
    assert_int_equal(uvzk_mutex_init(client, mutex, MUTEX), 0);
    assert_int_equal(uvzk_semaphore_init(client, semaphore, SEMAPHORE, 2, NULL), 0);
    contest_join(&scene->for_mutex, &scene->at_mutex[i], &scene->loop, mutex);
    contest_join(&scene->for_leases, &scene->at_semaphore[2 * i], &scene->loop,
                 semaphore);
    contest_join(&scene->for_leases, &scene->at_semaphore[2 * i + 1], &scene->loop,
                 semaphore);
}

/* A failed test leaves its scene as it is: threads may still use it. */
static struct scene *scene_open(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    ensemble_is_clean = false;
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    scene->for_mutex.permits = 1;
    scene->for_leases.permits = 2;
    scene->for_mutex.hold_ms = scene->for_leases.hold_ms = HOLD_MS;
    scene->for_mutex.pause_ms = scene->for_leases.pause_ms = HOLD_MS;
    uvzk_client_options_t options = side_options(ensemble_hosts(ensemble), SESSION_MS);
    for (int i = 0; i < SIDES; i++) {
        side_open(&scene->sides[i], &scene->loop, &options, HELD);
        join(scene, i);
    }
    assert_int_equal(attempt_start(&scene->holder, &scene->sides[0].mutex, NULL), 0);
    assert_true(attempt_wait_granted(&scene->loop, &scene->holder));
    assert_true(run_until(&scene->loop, nobody_is_left_out, scene, PATIENCE_MS));
    return scene;
}

static void assert_right(const struct contest *contest)
{
    printf("%d grants\n", contest->grants);
    assert_int_equal(contest->excesses, 0);
    assert_int_equal(contest->regressions, 0);
    assert_int_equal(contest->losses, 0);
    assert_int_equal(contest->refusals, 0);
}

static void assert_nothing_stands(void)
{
    const char *const paths[] = {HELD, MUTEX, SEMAPHORE "/locks", SEMAPHORE "/leases"};
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, ensemble_leader(ensemble)));
    assert_non_null(zh);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(raw_children_count(zh, paths[i]), 0);
    }
    raw_close(zh);
}

static void scene_end(struct scene *scene)
{
    assert_true(contest_stop(&scene->for_mutex, &scene->loop));
    assert_true(contest_stop(&scene->for_leases, &scene->loop));
    assert_true(attempt_release_and_wait(&scene->loop, &scene->holder));
    assert_nothing_stands(); /* while the sessions live */
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(scene->sides[i].lost, 0);
        side_close(&scene->sides[i], &scene->loop);
    }
    assert_int_equal(run_down(&scene->loop), 0);
    free(scene);
    ensemble_is_clean = true;
}

static void test_nobody_notices(void **state)
{
    (void)state;
    struct scene *scene = scene_open();
    int first = ensemble_follower(ensemble);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        int member = (first + i) % ENSEMBLE_SIZE;
        ensemble_kill(ensemble, member);
        assert_true(ensemble_revive(ensemble, member));
        assert_true(run_until(&scene->loop, ensemble_all_serve, ensemble, PATIENCE_MS));
        mark(scene);
        assert_true(run_until(&scene->loop, nobody_is_left_out, scene, PATIENCE_MS));
        assert_true(attempt_holds(&scene->holder));
        assert_true(uvzk_hold_is_valid(&scene->holder.request));
    }
    assert_right(&scene->for_mutex);
    assert_right(&scene->for_leases);
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_notices, one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, one_ensemble_start, one_ensemble_stop);
}
