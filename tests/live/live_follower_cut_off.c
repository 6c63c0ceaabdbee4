/* A holder's server is a follower that is cut off from its leader, and does not
 * know it yet: it goes on answering pings and reads, "the lock's znode is there"
 * among them, while the leader ends the session and the next contender is
 * granted the lock on the other side.
 *
 *     holder ---- follower --x-- leader ---- other follower ---- contender
 *                                  |
 *                               witness: stamps the moment the znode is deleted
 *
 * The hold must have ended by the clock before that moment. All clocks are
 * CLOCK_BOOTTIME of one machine; the witness stamps on a thread of its own. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "attempt.h"
#include "one_ensemble.h"
#include "raw.h"
#include "run_loop.h"
#include "seeded.h"

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
    return one_ensemble_start_with(&ensemble_options);
}

/* ----------------------------------------------------------------- witness */

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

static void witness(zhandle_t *zh, const char *path)
{
    deleted_at = 0;
    assert_int_equal(zoo_awexists(zh, path, on_event, NULL, ignore_stat, NULL), ZOK);
    assert_int_equal(raw_exists(zh, path, NULL), ZOK); /* behind it: it is armed */
}

/* ------------------------------------------------------------------- scene */

struct scene {
    uv_loop_t loop;
    uv_timer_t sampling;
    int follower;
    struct side holder, contender;
    struct attempt holding, contending;
    zhandle_t *at_leader, *at_follower;
    char path[256];        /* of the holder's znode */
    char other_hosts[128]; /* the members that stay together */
    uint64_t valid_until;  /* the last that was told of the hold */
    uint64_t last_held;    /* the last moment at which it was "held" */
    int both;              /* samples in which both held */
};

static void sample(uv_timer_t *timer)
{
    struct scene *scene = timer->data;
    uint64_t moment = uvzk_now();
    uint64_t valid_until = uvzk_hold_valid_until(&scene->holding.request);
    if (!uvzk_hold_is_valid(&scene->holding.request)) {
        return;
    }
    scene->last_held = moment;
    scene->valid_until = valid_until;
    if (uvzk_hold_is_valid(&scene->contending.request)) {
        scene->both++;
    }
}

/* A failed test leaves its scene as it is: threads may still use it. */
static struct scene *scene_open(uvzk_proof_t proof)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    ensemble_is_clean = false;
    assert_true(ensemble_wait_serving(ensemble));
    int leader = ensemble_leader(ensemble);
    scene->follower = ensemble_follower(ensemble);
    assert_true(leader >= 0 && scene->follower >= 0);
    int other = ENSEMBLE_SIZE - leader - scene->follower;
    snprintf(scene->other_hosts, sizeof(scene->other_hosts), "%s,%s",
             ensemble_hosts_of(ensemble, leader), ensemble_hosts_of(ensemble, other));
    scene->at_leader = raw_open(ensemble_hosts_of(ensemble, leader));
    scene->at_follower = raw_open(ensemble_hosts_of(ensemble, scene->follower));
    assert_non_null(scene->at_leader);
    assert_non_null(scene->at_follower);
    assert_int_equal(uv_loop_init(&scene->loop), 0);

    uvzk_client_options_t options =
        side_options(ensemble_hosts_of(ensemble, scene->follower), SESSION_MS);
    options.proof = (uint32_t)proof;
    side_open(&scene->holder, &scene->loop, &options, LOCK);
    assert_int_equal(attempt_start(&scene->holding, &scene->holder.mutex, NULL), 0);
    assert_true(attempt_wait_granted(&scene->loop, &scene->holding));
    options.hosts = scene->other_hosts;
    options.proof = UVZK_PROOF_QUORUM;
    side_open(&scene->contender, &scene->loop, &options, LOCK);
    assert_int_equal(attempt_start(&scene->contending, &scene->contender.mutex, NULL), 0);
    assert_true(attempt_wait_queued(&scene->loop, &scene->contending));
    snprintf(scene->path, sizeof(scene->path), "%s",
             uvzk_hold_path(&scene->holding.request));
    witness(scene->at_leader, scene->path);
    uv_timer_init(&scene->loop, &scene->sampling);
    scene->sampling.data = scene;
    uv_timer_start(&scene->sampling, sample, 0, SAMPLE_MS);
    return scene;
}

static bool proof_has_come(void *context)
{
    const struct scene *scene = context;
    return uvzk_hold_valid_until(&scene->holding.request) > scene->valid_until;
}

static bool has_been_sampled(void *context)
{
    const struct scene *scene = context;
    return scene->valid_until != 0;
}

static bool has_been_witnessed(void *context)
{
    (void)context;
    return deleted_at != 0;
}

/* Cuts right after a proof, if there are any: the leader knows of it, and has not
 * heard of the session since. Returns when the other side has the lock. */
static void cut(struct scene *scene, enum ensemble_cut what, bool proofs)
{
    assert_true(run_until(&scene->loop, has_been_sampled, scene, PATIENCE_MS));
    run_for(&scene->loop, seeded_below(&seeded, SESSION_MS / 3));
    if (proofs) {
        assert_true(run_until(&scene->loop, proof_has_come, scene, PATIENCE_MS));
    }
    assert_true(attempt_holds(&scene->holding));
    ensemble_cut(ensemble, scene->follower, what);
    assert_true(attempt_wait_granted(&scene->loop, &scene->contending));
    /* The witness hears of it on a thread of its own, perhaps a little later. */
    assert_true(run_until(&scene->loop, has_been_witnessed, scene, PATIENCE_MS));
}

static void scene_end(struct scene *scene)
{
    ensemble_mend(ensemble, scene->follower);
    assert_true(attempt_release_and_wait(&scene->loop, &scene->contending));
    assert_true(attempt_wait_lost(&scene->loop, &scene->holding));
    side_close(&scene->contender, &scene->loop);
    side_close(&scene->holder, &scene->loop);
    assert_true(attempt_is_over(&scene->contending));
    assert_true(attempt_is_over(&scene->holding));
    uv_close((uv_handle_t *)&scene->sampling, NULL);
    assert_int_equal(raw_children_count(scene->at_leader, LOCK), 0);
    raw_close(scene->at_leader);
    raw_close(scene->at_follower);
    assert_int_equal(run_down(&scene->loop), 0);
    free(scene);
    ensemble_is_clean = true;
}

/* ------------------------------------------------------------------- tests */

/* It was told of its loss, and believed nothing any more, when the znode went. */
static void assert_never_two(const struct scene *scene)
{
    const struct attempt *hold = &scene->holding;
    printf("the hold ended %lld ms before its znode, with %s\n",
           (long long)(deleted_at - scene->valid_until),
           uvzk_err_name(hold->lost_reason));
    assert_int_equal(scene->both, 0);
    assert_int_equal(hold->lost, 1);
    assert_true(hold->lost_reason == UVZK_EPROOF || hold->lost_reason == UVZK_EEXPIRED);
    assert_true(scene->valid_until <= deleted_at);
    assert_true(scene->last_held <= deleted_at);
    assert_false(uvzk_lock_is_held(&scene->holder.mutex));
}

static void run_cut(enum ensemble_cut what, uvzk_proof_t proof)
{
    struct scene *scene = scene_open(proof);
    cut(scene, what, true);
    /* That it hears of the end of the session is what a mute member has left. */
    if (what != ENSEMBLE_MUTE) {
        assert_int_equal(raw_exists(scene->at_follower, scene->path, NULL), ZOK);
    }
    assert_never_two(scene);
    scene_end(scene);
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
    struct scene *scene = scene_open(UVZK_PROOF_NONE);
    cut(scene, ENSEMBLE_APART, false);
    assert_int_equal(raw_exists(scene->at_follower, scene->path, NULL), ZOK);
    assert_int_equal(uvzk_client_state(&scene->holder.client), UVZK_STATE_CONNECTED);
    assert_true(attempt_holds(&scene->holding));
    assert_true(uvzk_hold_is_valid(&scene->holding.request));
    assert_true(uvzk_hold_is_valid(&scene->contending.request));
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_ends_before_the_leader_gives_it_away,
                               one_ensemble_make_whole),
        cmocka_unit_test_setup(test_sync_proves_it_of_a_follower_too,
                               one_ensemble_make_whole),
        cmocka_unit_test_setup(test_without_a_proof_there_are_two_holders,
                               one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, start, one_ensemble_stop);
}
