/* SPDX-License-Identifier: Apache-2.0 */
/* Several operations in one: all of them or none, and what the reply tells. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct uvzk__stat stat_of(struct probe *probe, const char *path)
{
    return ask_done(ask_read(probe, UVZK__RPC_EXISTS, path, false))->stat;
}

static size_t children_of(struct probe *probe, const char *path)
{
    return ask_done(ask_read(probe, UVZK__RPC_CHILDREN, path, false))->count;
}

/* The next sequential child's full path. */
static void assert_next(struct probe *probe, const char *prefix, const char *expected)
{
    const struct ask *ask =
        ask_done(ask_create(probe, prefix, UVZK__EPHEMERAL_SEQUENTIAL));
    assert_string_equal(ask->name, expected);
}

/* It says so, and which one is to blame. */
static void assert_fails(struct probe *probe, const struct uvzk__op *ops, size_t count,
                         int status, size_t failed)
{
    struct ask *ask = ask_multi(probe, ops, count);
    assert_int_equal(ask_wait(ask), status);
    assert_int_equal(ask->failed_op, failed);
    assert_null(ask->made);
}

/* It changes nothing and still takes a transaction of its own: a barrier. */
void multi_of_nothing_is_a_barrier(void **state)
{
    struct probe *probe = connected(state);
    assert_next(probe, "/a-", "/a-0000000000");
    int64_t before = stat_of(probe, "/a-0000000000").czxid;
    (void)ask_done(ask_multi(probe, NULL, 0));
    assert_next(probe, "/a-", "/a-0000000001");
    assert_true(stat_of(probe, "/a-0000000001").czxid == before + 2);
}

void multi_does_all(void **state)
{
    struct uvzk__op ops[] = {
        op_create("/a", UVZK__PERSISTENT),   op_create("/a/b", UVZK__EPHEMERAL),
        op_of(UVZK__OP_SET, "/a", 0),        op_of(UVZK__OP_CHECK, "/a", 1),
        op_of(UVZK__OP_DELETE, "/gone", -1),
    };
    struct probe *probe = connected(state);
    ops[2].data = "x";
    ops[2].data_length = 1;
    assert_int_equal(create(probe, "/gone", UVZK__PERSISTENT), 0);
    (void)ask_done(ask_multi(probe, ops, COUNT_OF(ops)));
    const struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_GET, "/a", false));
    assert_string_equal(ask->text, "x");
    assert_int_equal(ask->stat.child_count, 1);
    assert_true(stat_of(probe, "/a/b").ephemeral_owner == probe->session_id);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/gone"), UVZK_ENONODE);
}

void multi_does_nothing(void **state)
{
    const struct uvzk__op ops[] = {
        op_create("/a", UVZK__PERSISTENT),
        op_of(UVZK__OP_DELETE, "/not/there", -1),
        op_create("/c", UVZK__PERSISTENT),
    };
    const struct uvzk__op check[] = {op_of(UVZK__OP_CHECK, "/", -1),
                                     op_of(UVZK__OP_CHECK, "/b", 5)};
    struct probe *probe = connected(state);
    assert_fails(probe, ops, 3, UVZK_ENONODE, 1);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    assert_int_equal(create(probe, "/b", UVZK__PERSISTENT), 0);
    assert_fails(probe, check, 2, UVZK_EBADVERSION, 1);
}

void multi_refuses_what_cannot_be(void **state)
{
    const struct uvzk__op cannot_be[] = {
        op_of(UVZK__OP_DELETE, "/mal//formed", -1),
        op_create("/box", UVZK__CONTAINER),
        op_create("/box", UVZK__PERSISTENT_SEQUENTIAL + 1),
    };
    if (!world_forgives()) {
        skip();
    }
    struct probe *probe = connected(state);
    for (size_t i = 0; i < COUNT_OF(cannot_be); i++) {
        const struct uvzk__op ops[] = {op_create("/a", UVZK__PERSISTENT), cannot_be[i]};
        assert_fails(probe, ops, 2, UVZK_EREJECTED, 1);
        assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    }
}

/* ----------------------------------------------------- names, numbers, zxid */

void multi_tells_what_it_made(void **state)
{
    const struct uvzk__op ops[] = {
        op_of(UVZK__OP_CHECK, "/b", 0),
        op_create("/a", UVZK__PERSISTENT),
        op_of(UVZK__OP_SET, "/b", -1),
        op_create("/a/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_of(UVZK__OP_DELETE, "/b", -1),
        op_create("/a/e", UVZK__EPHEMERAL),
        op_create("/a/p-", UVZK__PERSISTENT_SEQUENTIAL),
    };
    static const char *const expected[] = {
        "", "/a", "", "/a/n-0000000000", "", "/a/e", "/a/p-0000000002"};
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/b", UVZK__PERSISTENT), 0);
    const struct ask *ask = ask_done(ask_multi(probe, ops, COUNT_OF(ops)));
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_string_equal(ask->made[i], expected[i]);
        if (expected[i][0] != '\0') {
            bool ephemeral = i == 3 || i == 5;
            assert_true(stat_of(probe, expected[i]).ephemeral_owner ==
                        (ephemeral ? probe->session_id : 0));
        }
    }
    assert_true(ask->failed_op == SIZE_MAX);
}

void multi_is_one_transaction(void **state)
{
    const struct uvzk__op ops[] = {
        op_create("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/other", UVZK__PERSISTENT),
        op_create("/d/n-", UVZK__PERSISTENT_SEQUENTIAL),
        op_of(UVZK__OP_SET, "/d", -1),
    };
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    int64_t before = stat_of(probe, "/d").czxid;
    char **made = ask_done(ask_multi(probe, ops, COUNT_OF(ops)))->made;
    int64_t zxid = stat_of(probe, made[0]).czxid;
    assert_true(zxid > before);
    assert_true(stat_of(probe, made[1]).czxid == zxid);
    assert_true(stat_of(probe, made[2]).czxid == zxid);
    assert_true(stat_of(probe, made[2]).mzxid == zxid);
    assert_true(stat_of(probe, "/d").mzxid == zxid);
    const struct ask *next = ask_done(ask_create(probe, "/next", UVZK__PERSISTENT));
    assert_true(next->stat.czxid == zxid + 1);
}

void multi_numbers_siblings(void **state)
{
    const struct uvzk__op ops[] = {
        op_create("/d/a-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/d/b-", UVZK__PERSISTENT_SEQUENTIAL),
        op_create("/d/plain", UVZK__PERSISTENT), /* is counted too */
        op_of(UVZK__OP_DELETE, "/d/b-0000000002", -1),
        op_create("/d/a-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    assert_next(probe, "/d/x-", "/d/x-0000000000");
    char **made = ask_done(ask_multi(probe, ops, COUNT_OF(ops)))->made;
    assert_string_equal(made[0], "/d/a-0000000001");
    assert_string_equal(made[1], "/d/b-0000000002");
    assert_string_equal(made[4], "/d/a-0000000004");
    assert_int_equal(children_of(probe, "/d"), 4);
    assert_next(probe, "/d/x-", "/d/x-0000000005");
}

void multi_numbers_each_directory(void **state)
{
    const struct uvzk__op ops[] = {
        op_create("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/new", UVZK__PERSISTENT),
        op_create("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/new/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/new/n-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    static const char *const expected[] = {
        "/one/n-0000000000", "/two/n-0000000001", "/new",
        "/one/n-0000000001", "/new/n-0000000000", "/two/n-0000000002",
        "/new/n-0000000001"};
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/one", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/two", UVZK__PERSISTENT), 0);
    assert_next(probe, "/two/x-", "/two/x-0000000000");
    const struct ask *ask = ask_done(ask_multi(probe, ops, COUNT_OF(ops)));
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_string_equal(ask->made[i], expected[i]);
    }
}

/* Each has its room, whatever its length. */
void multi_tells_each_of_many_names(void **state)
{
    enum { COUNT = 150, LENGTH_MAX = 200 };
    struct uvzk__op ops[COUNT];
    static char prefixes[COUNT][LENGTH_MAX];
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    for (int i = 0; i < COUNT; i++) {
        memset(prefixes[i], 0, sizeof(prefixes[i]));
        memset(prefixes[i], 'n', 4 + (size_t)(i * 7 % 101));
        memcpy(prefixes[i], "/d/", 3);
        ops[i] = op_create(prefixes[i], UVZK__PERSISTENT_SEQUENTIAL);
    }
    const struct ask *ask = ask_done(ask_multi(probe, ops, COUNT));
    for (int i = 0; i < COUNT; i++) {
        char expected[2 * LENGTH_MAX];
        snprintf(expected, sizeof(expected), "%.*s%010d", LENGTH_MAX, prefixes[i], i);
        assert_string_equal(ask->made[i], expected);
    }
    assert_int_equal(children_of(probe, "/d"), COUNT);
}

/* ----------------------------------------------------------- all or nothing */

enum { OPS = 4 };

/* A directory, and what would make some children, but for the last of it. */
static void make_failing(struct probe *probe, struct uvzk__op ops[OPS])
{
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    ops[0] = op_create("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    ops[1] = op_create("/d/p-", UVZK__PERSISTENT_SEQUENTIAL);
    ops[2] = op_create("/d/plain", UVZK__PERSISTENT);
    ops[3] = op_of(UVZK__OP_CHECK, "/d", 7);
}

void multi_that_fails_counts_nothing(void **state)
{
    struct probe *probe = connected(state);
    struct uvzk__op ops[OPS];
    make_failing(probe, ops);
    assert_fails(probe, ops, OPS, UVZK_EBADVERSION, 3);
    assert_int_equal(children_of(probe, "/d"), 0);
    assert_next(probe, "/d/n-", "/d/n-0000000000");
    assert_fails(probe, ops, OPS, UVZK_EBADVERSION, 3);
    assert_next(probe, "/d/n-", "/d/n-0000000001");
}

/* The server has numbered the next one before it has done the one before. */
void multi_that_fails_among_others_counts_nothing(void **state)
{
    enum { COUNT = 40 };
    struct ask *good[COUNT], *bad[COUNT];
    struct probe *probe = connected(state);
    struct uvzk__op ops[OPS];
    make_failing(probe, ops);
    for (int i = 0; i < COUNT; i++) {
        good[i] = ask_create(probe, "/d/n-", UVZK__EPHEMERAL_SEQUENTIAL);
        bad[i] = ask_multi(probe, ops, OPS);
    }
    ask_wait(bad[COUNT - 1]);
    for (int i = 0; i < COUNT; i++) {
        char expected[40];
        snprintf(expected, sizeof(expected), "/d/n-%010d", i);
        assert_int_equal(good[i]->status, 0);
        assert_string_equal(good[i]->name, expected);
        assert_int_equal(bad[i]->status, UVZK_EBADVERSION);
    }
    assert_int_equal(children_of(probe, "/d"), COUNT);
}

void multi_creates_if_the_check_holds(void **state)
{
    struct uvzk__op ops[] = {
        op_of(UVZK__OP_CHECK, "/guard", 0),
        op_create("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    assert_fails(probe, ops, 3, UVZK_ENONODE, 0);
    world_create(probe->world, "/guard");
    const struct ask *ask = ask_done(ask_multi(probe, ops, 3));
    assert_string_equal(ask->made[1], "/d/n-0000000000");
    assert_string_equal(ask->made[2], "/d/n-0000000001");
    world_set(probe->world, "/guard");
    assert_fails(probe, ops, 3, UVZK_EBADVERSION, 0);
    assert_int_equal(children_of(probe, "/d"), 2);
    ops[0].version = 1;
    ask = ask_done(ask_multi(probe, ops, 3));
    assert_string_equal(ask->made[1], "/d/n-0000000002");
}

void multi_refuses_sequential_creates(void **state)
{
    struct uvzk__op without_acl[] = {op_create("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
                                     op_create("/no/n-", UVZK__EPHEMERAL_SEQUENTIAL)};
    without_acl[0].acl = without_acl[1].acl = NULL;
    const struct {
        struct uvzk__op op;
        int expected;
    } table[] = {
        {op_create("/no/n-", UVZK__EPHEMERAL_SEQUENTIAL), UVZK_ENONODE},
        {op_create("/e/n-", UVZK__EPHEMERAL_SEQUENTIAL), UVZK_ENOCHILDREN},
        {without_acl[0], UVZK_EINVALIDACL},
        {without_acl[1], UVZK_EINVALIDACL},
        {op_create("/d/n-0000000000", UVZK__PERSISTENT), UVZK_ENODEEXISTS},
    };
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct uvzk__op pair[] = {op_create("/d/n-", UVZK__PERSISTENT_SEQUENTIAL),
                                        table[i].op};
        assert_fails(probe, pair, 2, table[i].expected, 1);
        assert_int_equal(children_of(probe, "/d"), 0);
    }
}

/* Nobody told what became of it; the znodes say. */
void multi_lost_on_its_way_is_whole(void **state)
{
    const struct uvzk__op ops[] = {
        op_create("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        op_create("/two/n-", UVZK__PERSISTENT_SEQUENTIAL),
    };
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/one", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/two", UVZK__PERSISTENT), 0);
    struct ask *ask = ask_multi(probe, ops, COUNT_OF(ops));
    world_lose(probe->world);
    assert_int_equal(ask_wait(ask), UVZK_ECONNLOSS);
    assert_true(ask->failed_op == SIZE_MAX);
    assert_null(ask->made);
    world_restore(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(children_of(probe, "/one"), children_of(probe, "/two"));
}
