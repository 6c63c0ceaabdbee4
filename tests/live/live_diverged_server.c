/* SPDX-License-Identifier: Apache-2.0 */
/* One server of three has lost its place in history (kit/diverge.h), and a client comes to
 * it. What it shows for good the others have deleted.
 *
 *     client --+-- proxy ---- the two that keep their place
 *              +-- proxy ---- the one that does not
 *
 * The client leaves it with all that it has, and gets the lock while all sessions live. */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "diverge.h"
#include "scratch.h"
#include "session/close_keep_session.h"

#define LOCK "/diverged"
#define KEPT_LOCK "/kept"
#define QUEUE "/queue"
#define LONG_MS 40000 /* a session that outlives what is done to the servers */
#define SHORT_MS 4000 /* one that has waited for long soon */
#define LATE_MS 1000  /* far more than the 20 ms within which others may be second */
#define LEFT "shows a znode that was deleted; the client has left it for another server"

static struct world world;
static struct proxy proxies[ENSEMBLE_SIZE];
static struct process a, b;
static struct hold hold, kept, place;
static uvzk_lock_t kept_lock, queue;
static int odd, one; /* of the others */
static int64_t session;
static int told;         /* lines of log that say that it is left */
static bool others_late; /* from then on what they are asked is kept back */
static int accepted;     /* connections to the odd one, until then */
static int resumptions;  /* and how often the session has come to it */
static atomic_bool closing_late;

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    (void)client;
    (void)level;
    if (strstr(line, LEFT) == NULL || strstr(line, proxies[odd].hosts) == NULL) {
        return;
    }
    told++;
    accepted = proxies[odd].accepted;
    resumptions = proxies[odd].resumptions;
    for (int i = 0; others_late && i < ENSEMBLE_SIZE; i++) {
        if (i != odd) {
            proxy_hold_requests(&proxies[i]);
        }
    }
}

static uvzk_client_metrics_t counted(void)
{
    uvzk_client_metrics_t metrics;
    uvzk_client_metrics_init(&metrics);
    assert_int_equal(uvzk_client_metrics(&a.client, &metrics), 0);
    return metrics;
}

/* ------------------------------------------------------------------- scene */

static void begin(uint32_t session_ms)
{
    static char hosts[128];
    world_begin(&world, LOCK);
    odd = ensemble_follower(ensemble);
    assert_true(odd >= 0);
    one = odd == 0 ? 1 : 0;
    world_look_from(&world, ensemble_hosts_of(ensemble, one));
    world_make_path(&world, LOCK);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        const char *server = ensemble_hosts_of(ensemble, i);
        assert_int_equal(proxy_open_to(world.loop, &proxies[i], server), 0);
    }
    snprintf(hosts, sizeof(hosts), "%s,%s,%s", proxies[0].hosts, proxies[1].hosts,
             proxies[2].hosts);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = session_ms;
    world.options.log_cb = on_log;
    told = 0;
    others_late = false;
}

static void begin_at_the_others(uint32_t session_ms)
{
    begin(session_ms);
    proxy_refuse(&proxies[odd]);
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    session = uvzk_client_session_id(&a.client);
}

/* What happens from now on it will have missed. */
static void stop_following(void)
{
    raw_close(raw_open(ensemble_hosts_of(ensemble, odd))); /* it has followed so far */
    ensemble_kill(ensemble, odd);
}

static long children_at_the_odd_one(void)
{
    zhandle_t *zh = raw_open(ensemble_hosts_of(ensemble, odd));
    assert_non_null(zh);
    long count = raw_children_count(zh, LOCK);
    raw_close(zh);
    return count;
}

static void reach_the_others(bool reach)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != odd && reach) {
            proxy_pass(&proxies[i]);
        } else if (i != odd) {
            proxy_refuse(&proxies[i]);
        }
    }
}

static bool is_at_the_odd_one(void *context)
{
    (void)context;
    return ensemble_member_of(ensemble, session) == odd;
}

static bool is_elsewhere(void *context)
{
    (void)context;
    int member = ensemble_member_of(ensemble, session);
    return member >= 0 && member != odd;
}

/* It could go elsewhere afterwards, and has no reason to. */
static void move_to_the_odd_one(void)
{
    reach_the_others(false);
    proxy_pass(&proxies[odd]);
    assert_true(world_await_that(&world, is_at_the_odd_one, NULL));
    reach_the_others(true);
}

/* Until something else is the reason why there is no connection. */
static bool says_why(void *context)
{
    uvzk_client_error_t error;
    (void)context;
    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
    return error.code == UVZK_EDIVERGED && strcmp(error.address, proxies[odd].hosts) == 0;
}

static void await_told(void)
{
    assert_true(world_await(&world, &told, PATIENCE_MS));
    assert_true(world_await_that(&world, says_why, NULL));
}

static void assert_gone_elsewhere(void)
{
    assert_true(world_await_that(&world, is_elsewhere, NULL));
    assert_int_equal(uvzk_client_session_id(&a.client), session);
    assert_int_equal(counted().diverged, 1);
    assert_int_equal(a.lost, 0);
}

static void assert_left(void)
{
    await_told();
    assert_gone_elsewhere();
}

/* As an operator does it: it comes to have what the others have. */
static void heal(void)
{
    ensemble_kill(ensemble, odd);
    scratch_remove_tree(ensemble_data_of(ensemble, odd));
    assert_true(ensemble_revive(ensemble, odd));
    assert_true(ensemble_wait_serving(ensemble));
    assert_int_equal(children_at_the_odd_one(), 0);
}

static void end(void)
{
    process_end(&a);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_close(&proxies[i]);
    }
    heal();
    world_end(&world);
}

/* -------------------------------------------------------------------- tests */

/* It has missed that A has given the lock back. */
static void begin_with_an_orphan(void)
{
    begin_at_the_others(LONG_MS);
    hold_take(&hold, &a);
    stop_following();
    hold_give_back(&hold);
    assert_true(diverge(ensemble, odd));
}

/* A hold and a place in a line, which that server shows as they are, are kept. */
static void test_orphan_of_our_own_session(void **state)
{
    (void)state;
    begin_with_an_orphan();
    assert_int_equal(children_at_the_odd_one(), 1);
    assert_true(world_await_children(&world, LOCK, 0));
    assert_int_equal(uvzk_mutex_init(&a.client, &kept_lock, KEPT_LOCK), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &queue, QUEUE), 0);
    hold_take_on(&kept, &a, &kept_lock, 1);
    world_make_path(&world, QUEUE);
    struct world_path before = world_foreign_node(&world, QUEUE, "lock-");
    hold_queue(&place, &a, &queue);
    assert_true(world_await_children(&world, QUEUE, 2));
    struct world_path ours = world_child(&world, QUEUE, 1);

    move_to_the_odd_one();
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    hold_await(&hold, PATIENCE_MS);
    assert_left();
    assert_true(hold_holds(&kept));
    assert_true(uvzk_hold_is_valid(&kept.request));
    world_delete(&world, &before);
    hold_await(&place, PATIENCE_MS);
    assert_string_equal(place.path, ours.text);
    hold_give_back(&place);
    hold_give_back(&kept);
    hold_give_back(&hold);
    end();
}

/* The server that is left has answered before the old connection is closed. */
static void close_late(zhandle_t *zh)
{
    const struct timespec moment = {.tv_nsec = LATE_MS / 4 * 1000000L};
    (void)zh;
    (void)nanosleep(&moment, NULL);
    atomic_store(&closing_late, true);
}

static bool is_probed_and_closing(void *context)
{
    (void)context;
    return proxies[odd].accepted > accepted && atomic_load(&closing_late);
}

/* It is left for one that is slow to answer, and not taken again because it is quicker. */
static void test_the_others_answer_late(void **state)
{
    (void)state;
    if (world_is_native()) {
        skip(); /* no thread beside the loop connects */
    }
    begin_with_an_orphan();
    move_to_the_odd_one();
    others_late = true;
    uvzk__close_keep_session_hook(close_late);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    await_told();
    assert_true(world_await_that(&world, is_probed_and_closing, NULL));
    world_run_for(&world, LATE_MS);
    assert_int_equal(proxies[odd].resumptions, resumptions); /* probes alone came */
    uvzk__close_keep_session_hook(NULL);
    reach_the_others(true);
    hold_await(&hold, PATIENCE_MS);
    assert_gone_elsewhere();
    hold_give_back(&hold);
    end();
}

/* Its owner's client is elsewhere, and never sees it. */
static void test_znode_of_another_living_session(void **state)
{
    (void)state;
    begin(SHORT_MS);
    struct world_path deleted = world_foreign_node(&world, LOCK, "lock-");
    stop_following();
    world_delete(&world, &deleted);
    assert_true(diverge(ensemble, odd));
    assert_int_equal(children_at_the_odd_one(), 1);
    reach_the_others(false);
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    hold_queue(&hold, &a, NULL);
    session = uvzk_client_session_id(&a.client);
    assert_true(is_at_the_odd_one(NULL));
    reach_the_others(true);
    hold_await(&hold, PATIENCE_MS);
    assert_left();
    assert_int_equal(raw_exists(world.raw, LOCK, NULL), ZOK); /* its session lives */
    hold_give_back(&hold);
    end();
}

static bool is_back(void *context)
{
    (void)context;
    return uvzk_client_state(&a.client) == UVZK_STATE_RECONNECTED;
}

/* All proofs ask the leader, which has it. */
static void test_hold_whose_create_it_lacks_is_kept(void **state)
{
    (void)state;
    begin_at_the_others(LONG_MS);
    stop_following();
    hold_take(&hold, &a);
    assert_true(diverge(ensemble, odd));
    assert_int_equal(children_at_the_odd_one(), 0);
    assert_true(world_await_children(&world, LOCK, 1));
    move_to_the_odd_one();
    assert_true(world_await_that(&world, is_back, NULL));
    hold_verify(&hold, PATIENCE_MS, 0);
    assert_true(is_at_the_odd_one(NULL));
    assert_true(uvzk_hold_is_valid(&hold.request));
    hold_release(&hold); /* which that server takes for one that was late */
    hold_await_released(&hold, PATIENCE_MS, UVZK_ELOST);
    assert_int_equal(hold.lost, 0);
    assert_true(world_await_children(&world, LOCK, 0));
    end();
}

static void never_asked(uvzk_hold_t *request)
{
    (void)request;
}

/* It reads its own znode, which that server does not show: the hold is lost, and whoever is
 * next, at the others, does not wait for the end of its session. */
static void test_hold_that_looks_for_its_own_znode(void **state)
{
    uvzk_acquire_options_t options;
    (void)state;
    begin_at_the_others(LONG_MS);
    stop_following();
    uvzk_acquire_options_init(&options);
    options.revoke_cb = never_asked;
    assert_int_equal(hold_ask(&hold, &a, NULL, &options), 0);
    hold_await(&hold, PATIENCE_MS);
    assert_true(diverge(ensemble, odd));
    assert_true(world_await_children(&world, LOCK, 1));
    move_to_the_odd_one();
    hold_await_lost(&hold, PATIENCE_MS, UVZK_EDELETED);
    assert_true(world_await_children(&world, LOCK, 0));
    assert_left();
    end();
}

/* ------------------------------------------------------------------ once it leads */

static bool leads(void *context)
{
    (void)context;
    return ensemble_leader(ensemble) == odd;
}

/* The others have nothing of their own, so that what it has is what all have. The last
 * one is started when it leads: two that have nothing could elect one of themselves. */
static void let_it_lead(void)
{
    int last = odd == ENSEMBLE_SIZE - 1 ? ENSEMBLE_SIZE - 2 : ENSEMBLE_SIZE - 1;

    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != odd) {
            ensemble_kill(ensemble, i);
            scratch_remove_tree(ensemble_data_of(ensemble, i));
        }
    }
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        assert_true(i == last || ensemble_revive(ensemble, i)); /* nothing if it runs */
    }
    assert_true(world_await_that(&world, leads, NULL));
    assert_true(ensemble_revive(ensemble, last));
    assert_true(world_await_that(&world, ensemble_all_serve, ensemble));
    assert_int_equal(ensemble_leader(ensemble), odd);
}

/* The reply of the delete may come after others have been granted what was deleted. */
static bool has_deleted_the_orphan(void *context)
{
    (void)context;
    return counted().orphans == 1;
}

/* What was deleted is back for everybody, and only its owner's client can know that. */
static void test_leader_brings_an_orphan_back(void **state)
{
    static struct hold other;
    (void)state;
    begin_with_an_orphan();
    assert_true(world_await_children(&world, LOCK, 0));
    let_it_lead();
    proxy_pass(&proxies[odd]);
    assert_true(world_await_that(&world, is_back, NULL));
    assert_int_equal(uvzk_client_session_id(&a.client), session);
    assert_true(world_await_children(&world, LOCK, 1));

    process_begin(&b, &world, "b", NULL);
    hold_queue(&other, &b, NULL);
    hold_queue(&hold, &a, NULL); /* behind b's, which hides it */
    hold_await(&other, PATIENCE_MS);
    assert_true(world_await_that(&world, has_deleted_the_orphan, NULL));
    assert_int_equal(counted().diverged, 0);
    hold_give_back(&other);
    hold_acquire_release(&hold, PATIENCE_MS);
    assert_true(world_await_children(&world, LOCK, 0));
    process_end(&b);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orphan_of_our_own_session),
        cmocka_unit_test(test_the_others_answer_late),
        cmocka_unit_test(test_znode_of_another_living_session),
        cmocka_unit_test(test_hold_whose_create_it_lacks_is_kept),
        cmocka_unit_test(test_hold_that_looks_for_its_own_znode),
        cmocka_unit_test(test_leader_brings_an_orphan_back),
    };
    if (!diverge_is_possible()) {
        puts("skipped: no javac");
        return 77;
    }
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
