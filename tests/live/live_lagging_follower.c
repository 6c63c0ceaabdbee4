/* A follower may be behind the leader when a client comes to it, as far as the last
 * reply that the client has had; and an event is no reply.
 *
 *     former taker --- leader --- proxy --- next taker
 *                        |                     |
 *                     follower ---- proxy -----+
 *
 * The next taker of a semaphore's leases learns by an event of the leader's that the
 * ticket before its own has gone, and loses its connection before it has listed the
 * leases. It comes to the follower, where the former taker's lease is still to come: a
 * listing shows room for one more.
 *
 * A slow wire from the leader to the follower does not show this: the leader's word that
 * the session lives, without which the follower does not open the connection, comes on
 * the same wire, behind all that was committed before. But the follower carries out
 * what it knows to be committed in a thread of its own, which also takes the reads,
 * and those first; while that thread is short of time, the lag is there. */
#include <stdio.h>
#include <stdlib.h>

#include "attempt.h"
#include "one_ensemble.h"
#include "proxy.h"
#include "raw.h"
#include "run_loop.h"

#define SEMAPHORE "/lagging"
#define TICKETS SEMAPHORE "/locks"
#define LEASES SEMAPHORE "/leases"
#define COMMITTER "CommitProcessor"
#define SESSION_MS 30000
#define QUIET_MS 300 /* in which a wrong grant would come */

struct scene {
    uv_loop_t loop;
    int leader, follower;
    struct proxy at_leader, at_follower;
    struct side side;
    uvzk_semaphore_t semaphore;
    struct attempt attempt;
    zhandle_t *raw; /* the former taker, at the leader */
    char ticket[256], lease[256];
};

/* -------------------------------------------------------------- conditions */

static bool waits_for_the_ticket(void *context)
{
    const struct scene *scene = context;
    return ensemble_watch_count(ensemble, scene->leader) == 2; /* and its own */
}

static bool listing_is_lost(void *context)
{
    const struct scene *scene = context;
    return scene->at_leader.lost_listings == 1;
}

/* And what it has asked has arrived: a listing, or what has to be answered before it. */
static bool asks_the_follower(void *context)
{
    const struct scene *scene = context;
    const int *requests = scene->at_follower.requests;
    return requests[PROXY_CHILDREN] + requests[PROXY_MULTI] > 0 &&
           ensemble_outstanding_count(ensemble, scene->follower) >= 1;
}

/* Granted by a wrong count; or it has listed, is asking for nothing more, and has
 * withdrawn what it may have made. */
static bool has_counted(void *context)
{
    const struct scene *scene = context;
    return scene->attempt.acquired > 0 ||
           (scene->at_follower.requests[PROXY_CHILDREN] > 0 &&
            ensemble_outstanding_count(ensemble, scene->follower) == 0 &&
            raw_children_count(scene->raw, LEASES) == 1);
}

/* ------------------------------------------------------------------- scene */

static void take_the_ticket(struct scene *scene)
{
    scene->raw = raw_open(ensemble_hosts_of(ensemble, scene->leader));
    assert_non_null(scene->raw);
    assert_int_equal(raw_create(scene->raw, SEMAPHORE), ZOK);
    assert_int_equal(raw_create(scene->raw, TICKETS), ZOK);
    assert_int_equal(raw_create(scene->raw, LEASES), ZOK);
    assert_int_equal(
        raw_contend(scene->raw, TICKETS, scene->ticket, sizeof(scene->ticket)), ZOK);
}

static void open_proxies(struct scene *scene, char *hosts, size_t size)
{
    const char *leader = ensemble_hosts_of(ensemble, scene->leader);
    const char *follower = ensemble_hosts_of(ensemble, scene->follower);
    assert_int_equal(proxy_open_to(&scene->loop, &scene->at_leader, leader), 0);
    assert_int_equal(proxy_open_to(&scene->loop, &scene->at_follower, follower), 0);
    proxy_refuse(&scene->at_follower);
    snprintf(hosts, size, "%s,%s", scene->at_leader.hosts, scene->at_follower.hosts);
}

/* The next taker waits for the former one's ticket. A failed test leaves its scene as
 * it is: threads may still use it. */
static struct scene *scene_open(void)
{
    char hosts[128];
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    ensemble_is_clean = false;
    scene->leader = ensemble_leader(ensemble);
    scene->follower = ensemble_follower(ensemble);
    assert_true(scene->leader >= 0 && scene->follower >= 0);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    take_the_ticket(scene);
    open_proxies(scene, hosts, sizeof(hosts));
    uvzk_client_options_t options = side_options(hosts, SESSION_MS);
    side_open(&scene->side, &scene->loop, &options, "/unused");
    assert_int_equal(
        uvzk_semaphore_init(&scene->side.client, &scene->semaphore, SEMAPHORE, 1, NULL),
        0);
    assert_int_equal(attempt_start(&scene->attempt, &scene->semaphore, NULL), 0);
    assert_true(attempt_wait_queued(&scene->loop, &scene->attempt));
    assert_true(run_until(&scene->loop, waits_for_the_ticket, scene, PATIENCE_MS));
    return scene;
}

/* So far the follower has followed: it has opened a session after all of that. */
static void wait_for_the_follower(const struct scene *scene)
{
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, scene->follower));
    assert_non_null(zh);
    assert_int_equal(raw_children_count(zh, TICKETS), 2);
    raw_close(zh);
}

static void scene_end(struct scene *scene)
{
    assert_int_equal(raw_children_count(scene->raw, LEASES), 0);
    assert_int_equal(raw_children_count(scene->raw, TICKETS), 0);
    raw_close(scene->raw);
    side_close(&scene->side, &scene->loop);
    proxy_close(&scene->at_leader);
    proxy_close(&scene->at_follower);
    assert_int_equal(run_down(&scene->loop), 0);
    free(scene);
    ensemble_is_clean = true;
}

/* -------------------------------------------------------------------- tests */

/* The lease before the ticket, as every taker does it. */
static void take_the_lease(struct scene *scene)
{
    assert_int_equal(
        raw_take_lease(scene->raw, LEASES, scene->lease, sizeof(scene->lease)), ZOK);
    assert_int_equal(raw_delete(scene->raw, scene->ticket), ZOK);
}

static void test_lease_is_counted_that_a_follower_has_not_seen(void **state)
{
    (void)state;
    struct scene *scene = scene_open();
    wait_for_the_follower(scene);
    assert_true(ensemble_stall(ensemble, scene->follower, COMMITTER));
    proxy_lose_listing(&scene->at_leader);
    take_the_lease(scene);
    assert_true(run_until(&scene->loop, listing_is_lost, scene, PATIENCE_MS));

    proxy_pass(&scene->at_follower);
    bool asked = run_until(&scene->loop, asks_the_follower, scene, PATIENCE_MS);
    ensemble_unstall(ensemble, scene->follower);
    assert_true(asked);
    assert_true(run_until(&scene->loop, has_counted, scene, PATIENCE_MS));
    run_for(&scene->loop, QUIET_MS);
    assert_false(uvzk_hold_is_valid(&scene->attempt.request));
    assert_int_equal(scene->attempt.acquired, 0);

    assert_int_equal(raw_delete(scene->raw, scene->lease), ZOK);
    assert_true(attempt_wait_granted(&scene->loop, &scene->attempt));
    assert_true(attempt_release_and_wait(&scene->loop, &scene->attempt));
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lease_is_counted_that_a_follower_has_not_seen,
                               one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, one_ensemble_start, one_ensemble_stop);
}
