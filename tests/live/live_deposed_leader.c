/* SPDX-License-Identifier: Apache-2.0 */
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
#include "world.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/orphan"
#define SESSION_MS 40000 /* outlives the election */

static const struct ensemble_options ensemble_options = {.tick_ms = 200,
                                                         .sync_limit = 300};

static int start(void **state)
{
    (void)state;
    return servers_start_three_with(&ensemble_options);
}

static struct world world;
static struct proxy proxies[ENSEMBLE_SIZE];
static struct process a;
static struct hold hold;
static int old, elected; /* leaders */
static int64_t session;

/* -------------------------------------------------------------- conditions */

static bool another_leads(void *context)
{
    (void)context;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != old && ensemble_leads(ensemble, i)) {
            elected = i;
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
    const struct proxy *proxy = context;
    return creates(proxy) > 0 || proxy->requests[PROXY_MULTI] > 0;
}

static bool is_forgotten(void)
{
    return process_metrics(&a).contenders == 0;
}

/* It believes the old leader, or it asks for more than that one can give, or it is sent
 * away, since it knows of transactions that that one has not seen. */
static bool has_met_the_old_leader(void *context)
{
    const struct proxy *proxy = &proxies[old];
    (void)context;
    return is_forgotten() || proxy->requests[PROXY_MULTI] > 0 || proxy->accepted > 1;
}

static bool is_settled(void *context)
{
    (void)context;
    return is_forgotten() && uvzk_client_state(&a.client) == UVZK_STATE_RECONNECTED;
}

/* ------------------------------------------------------------------- scene */

/* A client whose session all members know, and none of them is in its reach. */
static void begin(void)
{
    char hosts[128];
    world_begin(&world, LOCK);
    old = ensemble_leader(ensemble);
    assert_true(old >= 0);
    world_make_path(&world, LOCK);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        const char *server = ensemble_hosts_of(ensemble, i);
        assert_int_equal(proxy_open_to(world.loop, &proxies[i], server), 0);
    }
    snprintf(hosts, sizeof(hosts), "%s,%s,%s", proxies[0].hosts, proxies[1].hosts,
             proxies[2].hosts);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    hold_take(&hold, &a);
    hold_give_back(&hold);
    session = uvzk_client_session_id(&a.client);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_refuse(&proxies[i]);
        proxies[i].accepted = 0;
    }
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
}

static void end(void)
{
    process_end(&a);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_close(&proxies[i]);
    }
    world_end(&world);
}

static void elect_another(void)
{
    ensemble_depose(ensemble, old);
    assert_true(world_await_that(&world, another_leads, NULL));
    assert_true(ensemble_leads(ensemble, old));
    world_look_from(&world, ensemble_hosts_of(ensemble, elected));
}

static void empty(struct proxy *proxy)
{
    memset(proxy->requests, 0, sizeof(proxy->requests));
}

/* The elected leader makes the znode, and the client hears nothing: neither of that, nor,
 * as long as it creates all the same, of anything else. */
static void lose_the_create(void)
{
    struct proxy *proxy = &proxies[elected];
    empty(proxy);
    hold_begin(&hold, &a, UVZK_WAIT_FOREVER);
    proxy_pass(proxy);
    proxy_hold_answers(proxy);
    assert_true(world_await_that(&world, has_asked, proxy));
    if (creates(proxy) == 0) { /* it waits for a word of a quorum */
        proxy_pass(proxy);
        proxy_drop_reply(proxy, true);
        assert_true(world_await(&world, &proxy->dropped, PATIENCE_MS));
    }
    assert_true(world_await_children(&world, LOCK, 1));
    proxy_refuse(proxy);
}

/* -------------------------------------------------------------------- tests */

static void test_leaves_no_orphan(void **state)
{
    (void)state;
    begin();
    elect_another();
    lose_the_create();
    hold_cancel(&hold);
    hold_await_status(&hold, PATIENCE_MS, UV_ECANCELED);

    empty(&proxies[old]);
    proxy_pass(&proxies[old]);
    assert_true(world_await_that(&world, has_met_the_old_leader, NULL));
    assert_true(ensemble_leads(ensemble, old));
    assert_int_equal(world_children(&world, LOCK), 1);

    ensemble_mend(ensemble, old);
    proxy_pass(&proxies[elected]);
    assert_true(world_await_that(&world, is_settled, NULL));
    assert_true(world_await_children(&world, LOCK, 0)); /* the client may be elsewhere */
    assert_int_equal(uvzk_client_session_id(&a.client), session);
    assert_int_equal(a.lost, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_no_orphan),
    };
    return cmocka_run_group_tests(tests, start, servers_stop);
}
