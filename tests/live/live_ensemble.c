/* Two clients contend on an ensemble of three servers while its members die: a
 * session moves to another server with its hold and its places in the queue, a
 * new leader goes on where the old one ended, and without a quorum a holder
 * knows that it is none before anybody else can be one. */
#include <stdio.h>
#include <stdlib.h>

#include "attempt.h"
#include "one_ensemble.h"
#include "raw.h"
#include "run_loop.h"

#define LOCK "/ensemble/lock"
#define LONG_SESSION_MS 30000 /* outlives everything that happens here */
#define SHORT_SESSION_MS 4000
#define WAITERS 3

/* ------------------------------------------------------------------- scene */

/* One holder and some waiters in a known order, of both clients in turn. */
struct scene {
    uv_loop_t loop;
    struct side first, second;
    struct attempt holder, waiters[WAITERS], later;
    struct raw_names names; /* of the znodes, in queue order */
    int64_t sessions[2];
};

static void take_names(struct raw_names *names)
{
    zhandle_t *zh = raw_open(ensemble_hosts(ensemble));
    assert_non_null(zh);
    assert_int_equal(raw_children(zh, LOCK, names), ZOK);
    raw_close(zh);
}

/* A failed test leaves its scene as it is: threads may still use it. */
static struct scene *scene_open(const char *first_hosts, uint32_t session_ms)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    ensemble_is_clean = false;
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    uvzk_client_options_t options = side_options(first_hosts, session_ms);
    side_open(&scene->first, &scene->loop, &options, LOCK);
    options.hosts = ensemble_hosts(ensemble);
    side_open(&scene->second, &scene->loop, &options, LOCK);
    assert_int_equal(attempt_start(&scene->holder, &scene->first.mutex, NULL), 0);
    assert_true(attempt_wait_granted(&scene->loop, &scene->holder));
    for (int i = 0; i < WAITERS; i++) {
        struct side *side = i % 2 == 0 ? &scene->second : &scene->first;
        scene->waiters[i].release_at_once = true;
        assert_int_equal(attempt_start(&scene->waiters[i], &side->mutex, NULL), 0);
        assert_true(attempt_wait_queued(&scene->loop, &scene->waiters[i]));
        assert_int_equal(scene->waiters[i].ahead, i + 1);
    }
    take_names(&scene->names);
    assert_int_equal(scene->names.count, 1 + WAITERS);
    scene->sessions[0] = uvzk_client_session_id(&scene->first.client);
    scene->sessions[1] = uvzk_client_session_id(&scene->second.client);
    return scene;
}

/* Same sessions, same znodes, and nobody has been told anything. */
static void assert_nothing_lost(struct scene *scene)
{
    struct raw_names names;
    take_names(&names);
    assert_int_equal(names.count, scene->names.count);
    for (size_t i = 0; i < names.count; i++) {
        assert_string_equal(names.names[i], scene->names.names[i]);
    }
    raw_names_free(&names);
    assert_int_equal(uvzk_client_session_id(&scene->first.client), scene->sessions[0]);
    assert_int_equal(uvzk_client_session_id(&scene->second.client), scene->sessions[1]);
    assert_int_equal(scene->first.lost + scene->second.lost, 0);
    assert_true(attempt_holds(&scene->holder));
    assert_true(uvzk_hold_is_valid(&scene->holder.request));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(scene->waiters[i].acquired, 0);
    }
}

/* The holder's release goes through all of them, in the order of their znodes. */
static void release_in_order(struct scene *scene)
{
    int64_t token = scene->holder.token;
    assert_true(attempt_release_and_wait(&scene->loop, &scene->holder));
    for (int i = 0; i < WAITERS; i++) {
        struct attempt *waiter = &scene->waiters[i];
        assert_true(attempt_wait_granted(&scene->loop, waiter));
        assert_true(attempt_wait_released(&scene->loop, waiter));
        assert_int_equal(waiter->release_status, 0);
        assert_int_equal(waiter->queued, 1);
        assert_int_equal(waiter->granted_turn, scene->holder.granted_turn + 1 + i);
        assert_true(waiter->token > token);
        assert_true(attempt_is_over(waiter));
        token = waiter->token;
    }
}

static bool lock_is_free(void *context)
{
    return raw_children_count(context, LOCK) == 0;
}

static void scene_end(struct scene *scene)
{
    zhandle_t *zh = raw_open(ensemble_hosts(ensemble));
    assert_non_null(zh);
    assert_true(run_until(&scene->loop, lock_is_free, zh, PATIENCE_MS));
    raw_close(zh);
    side_close(&scene->first, &scene->loop);
    side_close(&scene->second, &scene->loop);
    assert_int_equal(run_down(&scene->loop), 0);
    raw_names_free(&scene->names);
    free(scene);
    ensemble_is_clean = true;
}

/* ----------------------------------------------------------- one member dies */

static bool has_leader(void *context)
{
    (void)context;
    return ensemble_leader(ensemble) >= 0;
}

static void test_hold_moves_to_another_server(void **state)
{
    char followers[128];
    (void)state;
    int leader = ensemble_leader(ensemble);
    int one = (leader + 1) % ENSEMBLE_SIZE, other = (leader + 2) % ENSEMBLE_SIZE;
    snprintf(followers, sizeof(followers), "%s,%s", ensemble_hosts_of(ensemble, one),
             ensemble_hosts_of(ensemble, other));
    struct scene *scene = scene_open(followers, LONG_SESSION_MS);
    int server = ensemble_member_of(ensemble, scene->sessions[0]);
    assert_true(server == one || server == other);

    ensemble_kill(ensemble, server);
    assert_true(run_until_count(&scene->loop, &scene->first.reconnected, 1));
    assert_int_equal(scene->first.suspended, 1);
    assert_int_equal(ensemble_member_of(ensemble, scene->sessions[0]),
                     one + other - server);
    assert_nothing_lost(scene);
    release_in_order(scene);
    scene_end(scene);
}

/* Every follower drops its clients until there is a new leader. */
static void test_new_leader_goes_on(void **state)
{
    (void)state;
    struct scene *scene = scene_open(ensemble_hosts(ensemble), LONG_SESSION_MS);
    int leader = ensemble_leader(ensemble);

    ensemble_kill(ensemble, leader);
    assert_true(run_until_count(&scene->loop, &scene->first.suspended, 1));
    assert_true(run_until_count(&scene->loop, &scene->second.suspended, 1));
    assert_int_equal(attempt_start(&scene->later, &scene->second.mutex, NULL), 0);
    assert_true(run_until(&scene->loop, has_leader, NULL, PATIENCE_MS));
    assert_int_not_equal(ensemble_leader(ensemble), leader);
    assert_true(run_until_count(&scene->loop, &scene->first.reconnected, 1));
    assert_true(attempt_wait_queued(&scene->loop, &scene->later));
    assert_int_equal(scene->later.ahead, 1 + WAITERS);
    assert_true(attempt_holds(&scene->holder));

    release_in_order(scene);
    assert_true(attempt_wait_granted(&scene->loop, &scene->later));
    assert_int_equal(scene->later.granted_turn,
                     scene->waiters[WAITERS - 1].granted_turn + 1);
    assert_int_equal(uvzk_client_session_id(&scene->first.client), scene->sessions[0]);
    assert_int_equal(uvzk_client_session_id(&scene->second.client), scene->sessions[1]);
    assert_int_equal(scene->first.lost + scene->second.lost, 0);
    assert_true(attempt_release_and_wait(&scene->loop, &scene->later));
    scene_end(scene);
}

/* --------------------------------------------------------------- no quorum */

/* What takes two members away, and what brings them back. */
struct outage {
    void (*begin)(struct ensemble *, int member);
    void (*end)(struct ensemble *, int member);
};

static void revive(struct ensemble *e, int member)
{
    assert_true(ensemble_revive(e, member));
}

static bool lock_works(struct scene *scene, struct side *side, int64_t *token)
{
    struct attempt *later = &scene->later;
    bool works = attempt_start(later, &side->mutex, NULL) == 0 &&
                 attempt_wait_granted(&scene->loop, later) && later->token > *token;
    *token = later->token;
    return works && attempt_release_and_wait(&scene->loop, later);
}

/* The old leader comes back to a new one. Beside a follower that was stopped with it, a
 * leader of 3.8.0 may go on leading and never commit anything again. */
static void run_outage(struct outage outage)
{
    struct scene *scene = scene_open(ensemble_hosts(ensemble), SHORT_SESSION_MS);
    int leader = ensemble_leader(ensemble), follower = ensemble_follower(ensemble);
    int64_t token = scene->holder.token;

    outage.begin(ensemble, follower);
    outage.begin(ensemble, leader);
    uint64_t valid_until = uvzk_hold_valid_until(&scene->holder.request);
    assert_true(attempt_wait_lost(&scene->loop, &scene->holder));
    assert_true(uvzk_now() >= valid_until);
    assert_true(scene->holder.lost_reason == UVZK_EPROOF ||
                scene->holder.lost_reason == UVZK_EEXPIRED);
    assert_false(uvzk_lock_is_held(&scene->first.mutex));
    assert_true(attempt_is_over(&scene->holder));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_not_equal(scene->waiters[i].status, 0);
    }

    outage.end(ensemble, follower);
    assert_true(run_until(&scene->loop, has_leader, NULL, PATIENCE_MS));
    outage.end(ensemble, leader);
    for (int i = 0; i < WAITERS; i++) {
        struct attempt *waiter = &scene->waiters[i];
        assert_true(attempt_wait_told(&scene->loop, waiter));
        assert_true(waiter->status == 0 || waiter->status == UVZK_EEXPIRED);
        assert_true(waiter->status != 0 || waiter->token > token);
        token = waiter->status == 0 ? waiter->token : token;
    }
    assert_true(lock_works(scene, &scene->first, &token));
    assert_true(lock_works(scene, &scene->second, &token));
    scene_end(scene);
}

static void test_two_killed_members(void **state)
{
    (void)state;
    run_outage((struct outage){ensemble_kill, revive});
}

static void test_two_stopped_members(void **state)
{
    (void)state;
    run_outage((struct outage){ensemble_pause, ensemble_resume});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hold_moves_to_another_server,
                               one_ensemble_make_whole),
        cmocka_unit_test_setup(test_new_leader_goes_on, one_ensemble_make_whole),
        cmocka_unit_test_setup(test_two_killed_members, one_ensemble_make_whole),
        cmocka_unit_test_setup(test_two_stopped_members, one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, one_ensemble_start, one_ensemble_stop);
}
