/* The server dies under a holder and a thousand waiters. If the session is there
 * when it is back, nobody has lost his place; if it is not, everybody is told
 * so once. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK "/restart/lock"
#define WAITERS 1000
#define SESSION_MS 30000

static struct live live;
static uvzk_mutex_t mutex;
static struct attempt holder, *waiters;
static struct raw_names before;
static int64_t tokens[WAITERS + 1]; /* of the znodes, in queue order */

static bool all_queued(void *context)
{
    int queued = 0;
    (void)context;
    for (int i = 0; i < WAITERS; i++) {
        queued += waiters[i].queued;
    }
    return queued == WAITERS;
}

static bool all_told(void *context)
{
    int told = 0;
    (void)context;
    for (int i = 0; i < WAITERS; i++) {
        told += waiters[i].acquired;
    }
    return told == WAITERS;
}

static bool all_released(void *context)
{
    int released = 0;
    (void)context;
    for (int i = 0; i < WAITERS; i++) {
        released += waiters[i].released;
    }
    return released == WAITERS;
}

/* A granted holder, then a thousand waiters that are known to be queued, and
 * their znodes as somebody else sees them. */
static void queue_up(void)
{
    waiters = calloc(WAITERS, sizeof(*waiters));
    assert_non_null(waiters);
    live_begin(&live);
    live_use_proxy(&live);
    live.options.session_timeout_ms = SESSION_MS;
    live_start(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    assert_int_equal(attempt_start(&holder, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holder));
    for (int i = 0; i < WAITERS; i++) {
        waiters[i].release_at_once = true;
        assert_int_equal(attempt_start(&waiters[i], &mutex, NULL), 0);
    }
    assert_true(run_until(live.loop, all_queued, NULL, PATIENCE_MS));
    assert_int_equal(raw_children(live.raw, LOCK, &before), ZOK);
    assert_int_equal(before.count, WAITERS + 1);
    for (size_t i = 0; i < before.count; i++) {
        struct Stat stat;
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", LOCK, before.names[i]);
        assert_int_equal(raw_exists(live.raw, path, &stat), ZOK);
        tokens[i] = stat.czxid;
    }
}

/* The raw session may not have outlived the server. */
static void look_again(void)
{
    raw_close(live.raw);
    live.raw = raw_open(server_hosts(live_server));
    assert_non_null(live.raw);
}

static void assert_same_znodes(void)
{
    struct raw_names after;
    assert_int_equal(raw_children(live.raw, LOCK, &after), ZOK);
    assert_int_equal(after.count, before.count);
    for (size_t i = 0; i < after.count; i++) {
        assert_string_equal(after.names[i], before.names[i]);
    }
    raw_names_free(&after);
    assert_int_equal(raw_creation_count(live.raw, LOCK), WAITERS + 1);
}

static void test_nobody_loses_the_place(void **state)
{
    (void)state;
    queue_up();
    int64_t session = uvzk_client_session_id(&live.client);
    server_kill(live_server);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_SUSPENDED));
    assert_true(server_restart(live_server));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    look_again();
    assert_same_znodes();
    assert_true(attempt_holds(&holder));
    assert_int_equal(uvzk_client_session_id(&live.client), session);

    assert_true(attempt_release_and_wait(live.loop, &holder));
    assert_true(run_until(live.loop, all_released, NULL, PATIENCE_MS));
    assert_int_equal(holder.token, tokens[0]);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].status, 0);
        assert_int_equal(waiters[i].queued, 1);
        assert_int_equal(waiters[i].granted_turn, holder.granted_turn + 1 + i);
        assert_int_equal(waiters[i].token, tokens[i + 1]);
        assert_true(attempt_is_over(&waiters[i]));
    }
    assert_true(live_wait_children(&live, LOCK, 0));
    raw_names_free(&before);
    live_end(&live);
    free(waiters);
}

static void test_everybody_hears_of_the_lost_session(void **state)
{
    static struct attempt later;
    (void)state;
    queue_up();
    int64_t session = uvzk_client_session_id(&live.client);
    proxy_refuse(&live.proxy); /* until the session is gone */
    server_kill(live_server);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_SUSPENDED));
    assert_true(server_restart(live_server));
    assert_int_equal(raw_expire_session(server_hosts(live_server), session,
                                        live.proxy.session_password),
                     0);
    proxy_pass(&live.proxy);
    assert_true(run_until(live.loop, all_told, NULL, PATIENCE_MS));
    assert_true(attempt_wait_lost(live.loop, &holder));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_LOST));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    look_again();

    assert_int_not_equal(uvzk_client_session_id(&live.client), session);
    assert_int_equal(attempt_start(&later, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &later));
    assert_int_equal(raw_children_count(live.raw, LOCK), 1);
    assert_true(attempt_release_and_wait(live.loop, &later));
    assert_int_equal(holder.lost, 1);
    assert_int_equal(holder.lost_reason, UVZK_EEXPIRED);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].acquired, 1);
        assert_int_equal(waiters[i].status, UVZK_EEXPIRED);
        assert_true(attempt_is_over(&waiters[i]));
    }
    assert_true(live_wait_children(&live, LOCK, 0));
    raw_names_free(&before);
    live_end(&live);
    free(waiters);
}

/* A server that comes back empty refuses the session's connection for good: it
 * has seen less than the client has (its last zxid). Only another session helps,
 * and when the time of the old one is over it is not missed. */
static void test_outlives_an_empty_server(void **state)
{
    static struct attempt queued, later;
    (void)state;
    live_begin(&live);
    live.options.session_timeout_ms = 2000;
    live_start(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    assert_int_equal(attempt_start(&holder, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&queued, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holder));
    assert_true(attempt_wait_queued(live.loop, &queued));
    server_kill(live_server);
    server_wipe(live_server);
    assert_true(server_restart(live_server));
    look_again();
    assert_true(attempt_wait_lost(live.loop, &holder));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_LOST));
    assert_true(attempt_wait_told(live.loop, &queued));
    assert_int_equal(queued.status, UVZK_EEXPIRED);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    assert_int_equal(attempt_start(&later, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &later));
    assert_true(attempt_release_and_wait(live.loop, &later));
    assert_true(live_wait_children(&live, LOCK, 0));
    live_end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_loses_the_place),
        cmocka_unit_test(test_everybody_hears_of_the_lost_session),
        cmocka_unit_test(test_outlives_an_empty_server),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
