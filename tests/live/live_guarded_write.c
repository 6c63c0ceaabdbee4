/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that only a hold that stands can make, against a real server. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NAMESPACE "guarded"
#define BASE "/guarded" /* as the server sees it */

static struct world world;
static struct process a;
static struct hold holder;

static struct {
    uvzk_req_t request;
    int told, status;
    size_t failed;
} writing;

static void on_written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    assert_null(request->impl);
    writing.told++;
    writing.status = status;
    writing.failed = failed;
}

static int ask(struct hold *hold, const uvzk_write_op_t *ops, size_t count)
{
    memset(&writing, 0, sizeof(writing));
    writing.status = HOLD_NO_STATUS;
    return uvzk_hold_write(&hold->request, &writing.request, ops, count, on_written);
}

static void expect_of(struct hold *hold, const uvzk_write_op_t *ops, size_t count,
                      int status, size_t failed)
{
    assert_int_equal(ask(hold, ops, count), 0);
    assert_true(world_await(&world, &writing.told, PATIENCE_MS));
    assert_int_equal(writing.status, status);
    assert_int_equal(writing.failed, failed);
}

static void expect(const uvzk_write_op_t *ops, size_t count, int status, size_t failed)
{
    expect_of(&holder, ops, count, status, failed);
}

/* A client in a namespace, behind the proxy, that holds the lock. */
static void begin(void)
{
    world_begin(&world, "/lock");
    world_use_proxy(&world);
    world.options.ns = NAMESPACE;
    process_begin(&a, &world, "a", NULL);
    hold_take(&holder, &a);
}

static void end(void)
{
    if (hold_holds(&holder)) {
        hold_give_back(&holder);
    }
    (void)raw_delete(world.raw, BASE "/a/b");
    (void)raw_delete(world.raw, BASE "/a");
    world_end(&world);
}

static bool exists(const char *path)
{
    return raw_exists(world.raw, path, NULL) == ZOK;
}

static void expect_data(const char *path, const char *expected)
{
    char text[64];

    assert_int_equal(raw_get(world.raw, path, text, sizeof(text)), ZOK);
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
    assert_int_equal(raw_exists(world.raw, BASE "/a/b", &stat), ZOK);
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
    assert_int_equal(raw_forbid_creates(world.raw, BASE "/a"), ZOK);
    expect((const uvzk_write_op_t[]){{UVZK_WRITE_CREATE, -1, "/a/b", NULL, 0}}, 1,
           UVZK_ENOAUTH, 0);
    assert_true(hold_holds(&holder));
    end();
}

/* Somebody deletes the holder's znode, another one is granted and writes: the first one
 * writes nothing, whether it has learnt of that or not. */
static void test_writes_nothing_after_its_znode_was_deleted(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    assert_int_equal(raw_delete(world.raw, holder.path), ZOK);
    expect(set, 1, UVZK_EDELETED, SIZE_MAX);
    expect_data(BASE "/a", "one");
    hold_await_lost(&holder, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    assert_int_equal(ask(&holder, set, 1), UVZK_ENOTHELD);
    world_run_for(&world, 200);
    assert_int_equal(writing.told, 0);
    expect_data(BASE "/a", "one");
    end();
}

static void test_writes_nothing_after_it_was_released(void **state)
{
    (void)state;
    begin();
    hold_release(&holder);
    assert_int_equal(ask(&holder, create, 1), UVZK_ENOTHELD);
    assert_true(world_await(&world, &holder.released, PATIENCE_MS));
    assert_int_equal(ask(&holder, create, 1), UVZK_ENOTHELD);
    world_run_for(&world, 200);
    assert_false(exists(BASE "/a"));
    end();
}

/* Its write has left, but is on its way for longer than its session lives. */
static void test_writes_nothing_when_its_session_has_ended(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    proxy_hold_requests(&world.proxy);
    assert_int_equal(ask(&holder, set, 1), 0);
    world_run_for(&world, 100);
    assert_int_equal(writing.told, 0);
    process_expire(&a);
    proxy_pass(&world.proxy);
    assert_true(world_await(&world, &writing.told, PATIENCE_MS));
    assert_int_equal(writing.status, UVZK_ECONNLOSS);
    assert_true(world_await(&world, &holder.lost, PATIENCE_MS));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    expect_data(BASE "/a", "one");
    end();
}

/* The same answer, and it was done. */
static void test_a_lost_reply_is_not_known(void **state)
{
    (void)state;
    begin();
    expect(create, 1, 0, SIZE_MAX);
    proxy_hold_replies(&world.proxy);
    assert_int_equal(ask(&holder, set, 1), 0);
    char text[8] = "";
    for (int i = 0; i < 1000 && strcmp(text, "two") != 0; i++) {
        world_run_for(&world, 10);
        assert_int_equal(raw_get(world.raw, BASE "/a", text, sizeof(text)), ZOK);
    }
    assert_string_equal(text, "two");
    assert_int_equal(writing.told, 0);
    proxy_cut(&world.proxy);
    proxy_pass(&world.proxy);
    assert_true(world_await(&world, &writing.told, PATIENCE_MS));
    assert_int_equal(writing.status, UVZK_ECONNLOSS);
    assert_int_equal(writing.failed, SIZE_MAX);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_true(uvzk_client_state(&a.client) == UVZK_STATE_RECONNECTED);
    assert_true(hold_holds(&holder));
    end();
}

static void test_says_so_without_a_connection(void **state)
{
    (void)state;
    begin();
    proxy_refuse(&world.proxy);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    expect(create, 1, UVZK_ENOTSENT, SIZE_MAX);
    proxy_pass(&world.proxy);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
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
    int connections = world.proxy.accepted;
    uvzk_write_op_t op = {UVZK_WRITE_CREATE, -1, "/a", bytes, longest};
    expect(&op, 1, 0, SIZE_MAX);
    op.data_length = 1000000;
    assert_int_equal(ask(&holder, &op, 1), UV_EINVAL);
    assert_true(hold_holds(&holder));
    assert_int_equal(world.proxy.accepted, connections);
    end();
    free(bytes);
}

static void test_all_leases_are_checked(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    struct hold leases;
    (void)state;

    begin();
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, "/semaphore", 3, NULL),
                     0);
    hold_take_on(&leases, &a, &semaphore, 3);
    expect_of(&leases, create, 1, 0, SIZE_MAX);
    assert_int_equal(raw_delete(world.raw, uvzk_hold_node_path(&leases.request, 2)), ZOK);
    expect_of(&leases, set, 1, UVZK_EDELETED, SIZE_MAX);
    expect_data(BASE "/a", "one");
    assert_true(world_await(&world, &leases.lost, PATIENCE_MS));
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

    return cmocka_run_group_tests_name("guarded write", tests, servers_start_one,
                                       servers_stop);
}
