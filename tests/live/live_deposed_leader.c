/* A leader that has been replaced and does not know it yet answers reads and sync by
 * itself, for as long as sync_limit says. Whatever is asked of it shows the tree as it
 * was when it was cut off.
 *
 *     client --+-- proxy ---- new leader ---- follower
 *              |                   x
 *              +-- proxy ---- old leader, alone
 *
 * The new leader makes the client's znode, the reply is lost, and the caller gives up
 * meanwhile. All that the client has heard of the new leader's reign may be the opening
 * of its connection, so that the old leader takes it back; and there its znode is
 * absent. Forgotten, it stands in everybody's way for as long as the session lives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "one_ensemble.h"
#include "proxy.h"
#include "raw.h"
#include "run_loop.h"

#define LOCK "/orphan"
#define SESSION_MS 40000 /* outlives the election */

static const struct ensemble_options ensemble_options = {.tick_ms = 200,
                                                         .sync_limit = 300};

static int start(void **state)
{
    (void)state;
    return one_ensemble_start_with(&ensemble_options);
}

struct scene {
    uv_loop_t loop;
    int old, elected; /* leaders */
    struct proxy proxies[ENSEMBLE_SIZE];
    struct side side;
    struct attempt attempt;
    int64_t session;
    zhandle_t *raw; /* at the elected leader */
};

/* -------------------------------------------------------------- conditions */

static bool another_leads(void *context)
{
    struct scene *scene = context;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != scene->old && ensemble_leads(ensemble, i)) {
            scene->elected = i;
            return true;
        }
    }
    return false;
}

static int creates(const struct proxy *proxy)
{
    return proxy->requests[PROXY_CREATE] + proxy->requests[PROXY_CREATE2];
}

static bool has_asked(void *context)
{
    const struct scene *scene = context;
    const struct proxy *proxy = &scene->proxies[scene->elected];
    return creates(proxy) > 0 || proxy->requests[PROXY_MULTI] > 0;
}

static bool znode_stands(void *context)
{
    const struct scene *scene = context;
    return raw_children_count(scene->raw, LOCK) == 1;
}

static bool reply_is_lost(void *context)
{
    const struct scene *scene = context;
    return scene->proxies[scene->elected].dropped == 1;
}

static bool is_forgotten(const struct scene *scene)
{
    uvzk_client_stats_t stats;
    uvzk_client_stats(&scene->side.client, &stats);
    return stats.contenders == 0;
}

/* It believes the old leader, or it asks for more than that one can give, or it is sent
 * away, since it knows of transactions that that one has not seen. */
static bool has_met_the_old_leader(void *context)
{
    const struct scene *scene = context;
    const struct proxy *proxy = &scene->proxies[scene->old];
    return is_forgotten(scene) || proxy->requests[PROXY_MULTI] > 0 || proxy->accepted > 1;
}

static bool is_settled(void *context)
{
    const struct scene *scene = context;
    uvzk_client_state_t state = uvzk_client_state(&scene->side.client);
    return is_forgotten(scene) && state == UVZK_STATE_RECONNECTED;
}

/* ------------------------------------------------------------------- scene */

static void make_directory(const struct scene *scene)
{
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, scene->old));
    assert_non_null(zh);
    int status = raw_create(zh, LOCK);
    assert_true(status == ZOK || status == ZNODEEXISTS);
    raw_close(zh);
}

/* A client whose session all members know, and none of them is in its reach. A failed
 * test leaves its scene as it is: threads may still use it. */
static struct scene *scene_open(void)
{
    char hosts[128];
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    ensemble_is_clean = false;
    scene->old = ensemble_leader(ensemble);
    assert_true(scene->old >= 0);
    make_directory(scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        const char *server = ensemble_hosts_of(ensemble, i);
        assert_int_equal(proxy_open_to(&scene->loop, &scene->proxies[i], server), 0);
    }
    snprintf(hosts, sizeof(hosts), "%s,%s,%s", scene->proxies[0].hosts,
             scene->proxies[1].hosts, scene->proxies[2].hosts);
    uvzk_client_options_t options = side_options(hosts, SESSION_MS);
    side_open(&scene->side, &scene->loop, &options, LOCK);
    assert_int_equal(attempt_start(&scene->attempt, &scene->side.mutex, NULL), 0);
    assert_true(attempt_wait_granted(&scene->loop, &scene->attempt));
    assert_true(attempt_release_and_wait(&scene->loop, &scene->attempt));
    scene->session = uvzk_client_session_id(&scene->side.client);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_refuse(&scene->proxies[i]);
        scene->proxies[i].accepted = 0;
    }
    assert_true(run_until_count(&scene->loop, &scene->side.suspended, 1));
    return scene;
}

static void scene_end(struct scene *scene)
{
    raw_close(scene->raw);
    side_close(&scene->side, &scene->loop);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_close(&scene->proxies[i]);
    }
    assert_int_equal(run_down(&scene->loop), 0);
    free(scene);
    ensemble_is_clean = true;
}

static void elect_another(struct scene *scene)
{
    ensemble_depose(ensemble, scene->old);
    assert_true(run_until(&scene->loop, another_leads, scene, PATIENCE_MS));
    assert_true(ensemble_leads(ensemble, scene->old));
    scene->raw = raw_open(ensemble_hosts_of(ensemble, scene->elected));
    assert_non_null(scene->raw);
}

static void empty(struct proxy *proxy)
{
    memset(proxy->requests, 0, sizeof(proxy->requests));
}

/* The elected leader makes the znode, and the client hears nothing: neither of that, nor,
 * as long as it creates all the same, of anything else. */
static void lose_the_create(struct scene *scene)
{
    struct proxy *proxy = &scene->proxies[scene->elected];
    empty(proxy);
    assert_int_equal(attempt_start(&scene->attempt, &scene->side.mutex, NULL), 0);
    proxy_pass(proxy);
    proxy_hold_answers(proxy);
    assert_true(run_until(&scene->loop, has_asked, scene, PATIENCE_MS));
    if (creates(proxy) == 0) { /* it waits for a word of a quorum */
        proxy_pass(proxy);
        proxy_drop_reply(proxy, true);
        assert_true(run_until(&scene->loop, reply_is_lost, scene, PATIENCE_MS));
    }
    assert_true(run_until(&scene->loop, znode_stands, scene, PATIENCE_MS));
    proxy_refuse(proxy);
}

/* -------------------------------------------------------------------- tests */

static void test_leaves_no_orphan(void **state)
{
    (void)state;
    struct scene *scene = scene_open();
    elect_another(scene);
    lose_the_create(scene);
    assert_int_equal(uvzk_hold_cancel(&scene->attempt.request), 0);
    assert_true(attempt_wait_told(&scene->loop, &scene->attempt));
    assert_int_equal(scene->attempt.status, UV_ECANCELED);

    empty(&scene->proxies[scene->old]);
    proxy_pass(&scene->proxies[scene->old]);
    assert_true(run_until(&scene->loop, has_met_the_old_leader, scene, PATIENCE_MS));
    assert_true(ensemble_leads(ensemble, scene->old));
    assert_true(znode_stands(scene));

    ensemble_mend(ensemble, scene->old);
    proxy_pass(&scene->proxies[scene->elected]);
    assert_true(run_until(&scene->loop, is_settled, scene, PATIENCE_MS));
    assert_false(znode_stands(scene));
    assert_int_equal(uvzk_client_session_id(&scene->side.client), scene->session);
    assert_int_equal(scene->side.lost, 0);
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_leaves_no_orphan, one_ensemble_make_whole),
    };
    return cmocka_run_group_tests(tests, start, one_ensemble_stop);
}
