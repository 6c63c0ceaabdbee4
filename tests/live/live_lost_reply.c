/* The server has made a contender's znode, and the reply that says so is lost
 * with the connection: the znode is found again, and there is but one. */
#include "live.h"

#include <string.h>

#define LOCK "/reply"

static struct live live;
static uvzk_mutex_t mutex;
static struct attempt attempt;

static bool reply_was_dropped(void *context)
{
    (void)context;
    return live.proxy.dropped == 1;
}

/* A connected client whose next create will lose its reply, and that create. The
 * directory is there before and is no container, so its count of creations
 * lasts. */
static void lose_a_reply(bool then_refuse, int64_t timeout_ms)
{
    live_begin(&live);
    live_use_proxy(&live);
    int status = raw_create(live.raw, LOCK);
    assert_true(status == ZOK || status == ZNODEEXISTS);
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    proxy_drop_reply(&live.proxy, then_refuse);
    assert_int_equal(attempt_start_within(&attempt, &mutex, timeout_ms), 0);
    assert_true(run_until(live.loop, reply_was_dropped, NULL, PATIENCE_MS));
    assert_int_equal(raw_children_count(live.raw, LOCK), 1);
}

static void end(void)
{
    assert_true(live_wait_children(&live, LOCK, 0));
    live_end(&live);
    live_begin(&live);
    assert_int_equal(raw_delete(live.raw, LOCK), ZOK);
    live_end(&live);
}

static void test_finds_its_znode_again(void **state)
{
    struct raw_names names;
    (void)state;
    lose_a_reply(false, UVZK_WAIT_FOREVER);
    assert_true(attempt_wait_granted(live.loop, &attempt));
    assert_int_equal(raw_children(live.raw, LOCK, &names), ZOK);
    assert_int_equal(names.count, 1);
    assert_string_equal(uvzk_hold_path(&attempt.request) + strlen(LOCK "/"),
                        names.names[0]);
    raw_names_free(&names);
    assert_int_equal(raw_creation_count(live.raw, LOCK), 1);
    struct Stat stat;
    assert_int_equal(raw_exists(live.raw, uvzk_hold_path(&attempt.request), &stat), ZOK);
    assert_int_equal(uvzk_hold_token(&attempt.request), stat.czxid);
    assert_true(attempt_release_and_wait(live.loop, &attempt));
    end();
}

static void test_keeps_its_place_behind_a_stranger(void **state)
{
    char stranger[256];
    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    assert_int_equal(raw_create(live.raw, LOCK), ZOK);
    assert_int_equal(raw_contend(live.raw, LOCK, stranger, sizeof(stranger)), ZOK);
    live_start(&live);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    proxy_drop_reply(&live.proxy, false);
    assert_int_equal(attempt_start(&attempt, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &attempt));
    assert_int_equal(live.proxy.dropped, 1);
    assert_int_equal(raw_creation_count(live.raw, LOCK), 2);
    assert_int_equal(attempt.acquired, 0);
    assert_int_equal(raw_delete(live.raw, stranger), ZOK);
    assert_true(attempt_wait_granted(live.loop, &attempt));
    assert_int_equal(raw_creation_count(live.raw, LOCK), 2);
    assert_true(attempt_release_and_wait(live.loop, &attempt));
    end();
}

static void test_cancelled_meanwhile_leaves_no_znode(void **state)
{
    (void)state;
    lose_a_reply(true, UVZK_WAIT_FOREVER);
    assert_int_equal(uvzk_hold_cancel(&attempt.request), 0);
    assert_true(attempt_wait_told(live.loop, &attempt));
    assert_int_equal(attempt.status, UV_ECANCELED);
    assert_int_equal(raw_children_count(live.raw, LOCK), 1); /* out of reach */
    proxy_pass(&live.proxy);
    assert_true(live_wait_children(&live, LOCK, 0));
    live_assert_nothing_left(&live);
    assert_int_equal(raw_creation_count(live.raw, LOCK), 1);
    end();
}

static void test_timed_out_meanwhile_leaves_no_znode(void **state)
{
    (void)state;
    lose_a_reply(true, 1000);
    assert_true(attempt_wait_told(live.loop, &attempt));
    assert_int_equal(attempt.status, UV_ETIMEDOUT);
    assert_int_equal(raw_children_count(live.raw, LOCK), 1);
    proxy_pass(&live.proxy);
    assert_true(live_wait_children(&live, LOCK, 0));
    live_assert_nothing_left(&live);
    assert_int_equal(raw_creation_count(live.raw, LOCK), 1);
    end();
}

/* The replies to everything are lost for a while, releases' among them. */
static void test_releases_in_spite_of_lost_replies(void **state)
{
    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    assert_int_equal(raw_create(live.raw, LOCK), ZOK);
    live_start(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    assert_int_equal(attempt_start(&attempt, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &attempt));
    proxy_hold_replies(&live.proxy);
    assert_int_equal(attempt_release(&attempt), 0);
    assert_true(live_wait_children(&live, LOCK, 0)); /* carried out */
    assert_int_equal(attempt.released, 0);           /* and not heard of */
    proxy_refuse(&live.proxy);
    proxy_pass(&live.proxy);
    assert_true(attempt_wait_released(live.loop, &attempt));
    assert_int_equal(attempt.release_status, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_its_znode_again),
        cmocka_unit_test(test_keeps_its_place_behind_a_stranger),
        cmocka_unit_test(test_cancelled_meanwhile_leaves_no_znode),
        cmocka_unit_test(test_timed_out_meanwhile_leaves_no_znode),
        cmocka_unit_test(test_releases_in_spite_of_lost_replies),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
