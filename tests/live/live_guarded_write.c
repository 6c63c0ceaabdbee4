/* Writes that only a hold that stands can make, against a real server. */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NAMESPACE "guarded"
#define BASE "/guarded" /* as the server sees it */

static struct live live;
static uvzk_mutex_t mutex;
static struct attempt holder;

static struct {
    uvzk_write_t request;
    int told, status;
    size_t failed;
} writing;

static void on_written(uvzk_write_t *request, int status, size_t failed)
{
    assert_null(request->impl);
    writing.told++;
    writing.status = status;
    writing.failed = failed;
}

static int ask(uvzk_hold_t *hold, const uvzk_write_op_t *ops, size_t count)
{
    memset(&writing, 0, sizeof(writing));
    writing.status = ATTEMPT_UNTOLD;
    return uvzk_hold_write(hold, &writing.request, ops, count, on_written);
}

static void expect(const uvzk_write_op_t *ops, size_t count, int status, size_t failed)
{
    assert_int_equal(ask(&holder.request, ops, count), 0);
    assert_true(run_until_count(live.loop, &writing.told, 1));
    assert_int_equal(writing.status, status);
    assert_int_equal(writing.failed, failed);
}

/* A client in a namespace, behind the proxy, that holds the lock. */
static void begin(void)
{
    live_begin(&live);
    live_use_proxy(&live);
    live.options.ns = NAMESPACE;
    live_start(&live);
    memset(&mutex, 0, sizeof(mutex));
    memset(&holder, 0, sizeof(holder));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/lock"), 0);
    assert_int_equal(attempt_start(&holder, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &holder));
}

static void end(void)
{
    if (attempt_holds(&holder)) {
        assert_true(attempt_release_and_wait(live.loop, &holder));
    }
    (void)raw_delete(live.raw, BASE "/a/b");
    (void)raw_delete(live.raw, BASE "/a");
    live_end(&live);
}

static bool exists(const char *path)
{
    return raw_exists(live.raw, path, NULL) == ZOK;
}

static void expect_data(const char *path, const char *expected)
{
    char text[64];

    assert_int_equal(raw_get(live.raw, path, text, sizeof(text)), ZOK);
    assert_string_equal(text, expected);
}

static const uvzk_write_op_t create[] = {{UVZK_WRITE_CREATE, -1, "/a", "one", 3}};
static const uvzk_write_op_t set[] = {{UVZK_WRITE_SET, -1, "/a", "two", 3}};

static void test_a_holder_writes(void **state)
{
    static const uvzk_write_op_t more[] = {{UVZK_WRITE_CHECK, 0, "/a", NULL, 0},
                                           {UVZK_WRITE_SET, 0, "/a", "two", 3},
                                           {UVZK_WRITE_CREATE, -1, "/a/b", NULL, 0},
                                           {UVZK_WRITE_CREATE, -1, "/c", "", 0},
                                           {UVZK_WRITE_DELETE, 0, "/c", NULL, 0}};
    struct Stat stat;
    (void)state;

    begin();
    expect(create, 1, 0, SIZE_MAX);
    expect_data(BASE "/a", "one");
    expect(more, LENGTH(more), 0, SIZE_MAX);
    expect_data(BASE "/a", "two");
    assert_int_equal(raw_exists(live.raw, BASE "/a/b", &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_false(exists(BASE "/c"));
    end();
}

static void test_a_refused_operation_is_named(void **state)
{
    static const struct {
        uvzk_write_op_t op;
        int status;
    } refused[] = {
        {{UVZK_WRITE_CREATE, -1, "/a", NULL, 0}, UVZK_ENODEEXISTS},
        {{UVZK_WRITE_CREATE, -1, "/no/x", NULL, 0}, UVZK_ENONODE},
        {{UVZK_WRITE_SET, 9, "/a", "x", 1}, UVZK_EBADVERSION},
        {{UVZK_WRITE_SET, -1, "/no", "x", 1}, UVZK_ENONODE},
        {{UVZK_WRITE_CHECK, 9, "/a", NULL, 0}, UVZK_EBADVERSION},
        {{UVZK_WRITE_CHECK, -1, "/no", NULL, 0}, UVZK_ENONODE},
        {{UVZK_WRITE_DELETE, 9, "/a", NULL, 0}, UVZK_EBADVERSION},
        {{UVZK_WRITE_DELETE, -1, "/no", NULL, 0}, UVZK_ENONODE},
        {{UVZK_WRITE_DELETE, -1, "/lock", NULL, 0}, UVZK_ENOTEMPTY},
    };
    (void)state;

    begin();
    expect(create, 1, 0, SIZE_MAX);
    for (size_t i = 0; i < LENGTH(refused); i++) {
        const uvzk_write_op_t ops[] = {
            set[0], refused[i].op, {UVZK_WRITE_CREATE, -1, "/c", NULL, 0}};
        expect(ops, 3, refused[i].status, 1);
        expect_data(BASE "/a", "one");
        assert_false(exists(BASE "/c"));
    }
    assert_int_equal(raw_forbid_creates(live.raw, BASE "/a"), ZOK);
    expect((const uvzk_write_op_t[]){{UVZK_WRITE_CREATE, -1, "/a/b", NULL, 0}}, 1,
           UVZK_ENOAUTH, 0);
    assert_true(attempt_holds(&holder));
    end();
}

/* Somebody deletes the holder's znode, another one is granted and writes: the first one
 * writes nothing, whether it has learnt of that or not. */
static void test_writes_nothing_after_its_znode_was_deleted(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&holder.request)), ZOK);
    expect(set, 1, UVZK_EDELETED, SIZE_MAX);
    expect_data(BASE "/a", "one");
    assert_true(attempt_wait_lost(live.loop, &holder));
    assert_int_equal(holder.lost_reason, UVZK_EDELETED);
    assert_int_equal(ask(&holder.request, set, 1), UVZK_ENOTHELD);
    run_for(live.loop, 200);
    assert_int_equal(writing.told, 0);
    expect_data(BASE "/a", "one");
    end();
}

static void test_writes_nothing_after_it_was_released(void **state)
{
    (void)state;
    begin();
    assert_int_equal(attempt_release(&holder), 0);
    assert_int_equal(ask(&holder.request, create, 1), UVZK_ENOTHELD);
    assert_true(attempt_wait_released(live.loop, &holder));
    assert_int_equal(ask(&holder.request, create, 1), UVZK_ENOTHELD);
    run_for(live.loop, 200);
    assert_false(exists(BASE "/a"));
    end();
}

/* Its write has left, but is on its way for longer than its session lives. */
static void test_writes_nothing_when_its_session_has_ended(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    proxy_hold_requests(&live.proxy);
    assert_int_equal(ask(&holder.request, set, 1), 0);
    run_for(live.loop, 100);
    assert_int_equal(writing.told, 0);
    assert_int_equal(raw_expire_session(server_hosts(live_server), live.proxy.session_id,
                                        live.proxy.session_password),
                     0);
    proxy_pass(&live.proxy);
    assert_true(run_until_count(live.loop, &writing.told, 1));
    assert_int_equal(writing.status, UVZK_ECONNLOSS);
    assert_true(attempt_wait_lost(live.loop, &holder));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    expect_data(BASE "/a", "one");
    end();
}

/* The same answer, and it was done. */
static void test_a_lost_reply_is_not_known(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    proxy_hold_replies(&live.proxy);
    assert_int_equal(ask(&holder.request, set, 1), 0);
    char text[8] = "";
    for (int i = 0; i < 1000 && strcmp(text, "two") != 0; i++) {
        run_for(live.loop, 10);
        assert_int_equal(raw_get(live.raw, BASE "/a", text, sizeof(text)), ZOK);
    }
    assert_string_equal(text, "two");
    assert_int_equal(writing.told, 0);
    proxy_cut(&live.proxy);
    proxy_pass(&live.proxy);
    assert_true(run_until_count(live.loop, &writing.told, 1));
    assert_int_equal(writing.status, UVZK_ECONNLOSS);
    assert_int_equal(writing.failed, SIZE_MAX);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    assert_true(uvzk_client_state(&live.client) == UVZK_STATE_RECONNECTED);
    assert_true(attempt_holds(&holder));
    end();
}

static void test_says_so_without_a_connection(void **state)
{
    (void)state;
    begin();
    proxy_refuse(&live.proxy);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_SUSPENDED));
    expect(create, 1, UVZK_ENOTSENT, SIZE_MAX);
    proxy_pass(&live.proxy);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    assert_false(exists(BASE "/a"));
    end();
}

/* A request that a server takes, and one that would cost the connection. */
static void test_the_longest_write(void **state)
{
    const size_t longest = 999700;
    char *bytes = calloc(1, 1000000);
    (void)state;

    assert_non_null(bytes);
    begin();
    int connections = live.proxy.accepted;
    uvzk_write_op_t op = {UVZK_WRITE_CREATE, -1, "/a", bytes, longest};
    expect(&op, 1, 0, SIZE_MAX);
    op.data_length = 1000000;
    assert_int_equal(ask(&holder.request, &op, 1), UV_EINVAL);
    assert_true(attempt_holds(&holder));
    assert_int_equal(live.proxy.accepted, connections);
    end();
    free(bytes);
}

static void test_all_leases_are_checked(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_acquire_options_t options;
    struct attempt leases;
    (void)state;

    begin();
    memset(&leases, 0, sizeof(leases));
    uvzk_acquire_options_init(&options);
    options.leases = 3;
    assert_int_equal(uvzk_semaphore_init(&live.client, &semaphore, "/semaphore", 3, NULL),
                     0);
    assert_int_equal(attempt_start(&leases, &semaphore, &options), 0);
    assert_true(attempt_wait_granted(live.loop, &leases));
    assert_int_equal(ask(&leases.request, create, 1), 0);
    assert_true(run_until_count(live.loop, &writing.told, 1));
    assert_int_equal(writing.status, 0);
    assert_int_equal(raw_delete(live.raw, uvzk_hold_lease_path(&leases.request, 2)), ZOK);
    assert_int_equal(ask(&leases.request, set, 1), 0);
    assert_true(run_until_count(live.loop, &writing.told, 1));
    assert_int_equal(writing.status, UVZK_EDELETED);
    expect_data(BASE "/a", "one");
    assert_true(attempt_wait_lost(live.loop, &leases));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_holder_writes),
        cmocka_unit_test(test_a_refused_operation_is_named),
        cmocka_unit_test(test_writes_nothing_after_its_znode_was_deleted),
        cmocka_unit_test(test_writes_nothing_after_it_was_released),
        cmocka_unit_test(test_writes_nothing_when_its_session_has_ended),
        cmocka_unit_test(test_a_lost_reply_is_not_known),
        cmocka_unit_test(test_says_so_without_a_connection),
        cmocka_unit_test(test_the_longest_write),
        cmocka_unit_test(test_all_leases_are_checked),
    };

    return cmocka_run_group_tests_name("guarded write", tests, live_server_start,
                                       live_server_stop);
}
