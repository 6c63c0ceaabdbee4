/* Several operations in one: all of them or none, and what the reply tells. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

static const uvzk_acl_t open_entries[] = {{UVZK_PERM_ALL, "world", "anyone"}};
static const struct uvzk__acl open_acl = {open_entries, 1};

#define CREATE(path_, mode_)                                                        \
    {                                                                               \
        .kind = UVZK__OP_CREATE, .mode = (mode_), .path = (path_), .acl = &open_acl \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct user *connected(void **state)
{
    struct user *user = *state;
    assert_true(user_connect(user));
    return user;
}

static void multi_init(struct ask *ask, struct user *user, const struct uvzk__op *ops,
                       size_t count)
{
    ask_init(ask, user, UVZK__RPC_MULTI, NULL);
    ask->rpc.ops = ops;
    ask->rpc.op_count = count;
}

static int run_multi(struct ask *ask, struct user *user, const struct uvzk__op *ops,
                     size_t count, char made[][ASK_NAME])
{
    multi_init(ask, user, ops, count);
    ask->made = made;
    return ask_run(ask);
}

static struct uvzk__stat stat_of(struct user *user, const char *path)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_EXISTS, path);
    assert_int_equal(ask_run(&ask), 0);
    return ask.stat;
}

static size_t children_of(struct user *user, const char *path)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CHILDREN, path);
    assert_int_equal(ask_run(&ask), 0);
    return ask.names;
}

/* The next sequential child's full path. */
static void assert_next(struct user *user, const char *prefix, const char *expected)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, prefix);
    ask.rpc.mode = UVZK__EPHEMERAL_SEQUENTIAL;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.name, expected);
}

/* It changes nothing and still takes a transaction of its own: a barrier. */
void multi_of_nothing_is_a_barrier(void **state)
{
    struct user *user = connected(state);
    struct ask ask;

    assert_next(user, "/a-", "/a-0000000000");
    int64_t before = stat_of(user, "/a-0000000000").czxid;
    assert_int_equal(run_multi(&ask, user, NULL, 0, NULL), 0);
    assert_next(user, "/a-", "/a-0000000001");
    assert_true(stat_of(user, "/a-0000000001").czxid == before + 2);
}

void multi_does_all(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/a", UVZK__PERSISTENT),
        CREATE("/a/b", UVZK__EPHEMERAL),
        {.kind = UVZK__OP_SET, .path = "/a", .version = 0, .data = "x", .data_length = 1},
        {.kind = UVZK__OP_CHECK, .path = "/a", .version = 1},
        {.kind = UVZK__OP_DELETE, .path = "/gone", .version = -1},
    };
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/gone", UVZK__PERSISTENT), 0);
    assert_int_equal(run_multi(&ask, user, ops, COUNT_OF(ops), NULL), 0);
    ask_init(&ask, user, UVZK__RPC_GET, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.text, "x");
    assert_int_equal(ask.stat.child_count, 1);
    assert_true(stat_of(user, "/a/b").ephemeral_owner == user->session_id);
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/gone");
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);
}

void multi_does_nothing(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/a", UVZK__PERSISTENT),
        {.kind = UVZK__OP_DELETE, .path = "/not/there", .version = -1},
        CREATE("/c", UVZK__PERSISTENT),
    };
    static const struct uvzk__op check[] = {
        {.kind = UVZK__OP_CHECK, .path = "/", .version = -1},
        {.kind = UVZK__OP_CHECK, .path = "/b", .version = 5},
    };
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(run_multi(&ask, user, ops, 3, NULL), UVZK_ENONODE);
    assert_int_equal(ask.failed_op, 1);
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);

    assert_int_equal(user_create(user, "/b", UVZK__PERSISTENT), 0);
    assert_int_equal(run_multi(&ask, user, check, 2, NULL), UVZK_EBADVERSION);
    assert_int_equal(ask.failed_op, 1);
}

void multi_refuses_what_cannot_be(void **state)
{
    static const struct uvzk__op cannot_be[] = {
        {.kind = UVZK__OP_DELETE, .path = "/mal//formed", .version = -1},
        CREATE("/box", UVZK__CONTAINER),
        CREATE("/box", UVZK__PERSISTENT_SEQUENTIAL + 1),
    };
    if (!world_forgives()) {
        skip();
    }
    struct user *user = connected(state);
    for (size_t i = 0; i < COUNT_OF(cannot_be); i++) {
        struct uvzk__op ops[] = {CREATE("/a", UVZK__PERSISTENT), cannot_be[i]};
        struct ask ask;
        assert_int_equal(run_multi(&ask, user, ops, 2, NULL), UVZK_EREJECTED);
        assert_int_equal(ask.failed_op, 1);
        ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
        assert_int_equal(ask_run(&ask), UVZK_ENONODE);
    }
}

/* ----------------------------------------------------- names, numbers, zxid */

void multi_tells_what_it_made(void **state)
{
    static const struct uvzk__op ops[] = {
        {.kind = UVZK__OP_CHECK, .path = "/b", .version = 0},
        CREATE("/a", UVZK__PERSISTENT),
        {.kind = UVZK__OP_SET, .path = "/b", .version = -1},
        CREATE("/a/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        {.kind = UVZK__OP_DELETE, .path = "/b", .version = -1},
        CREATE("/a/e", UVZK__EPHEMERAL),
        CREATE("/a/p-", UVZK__PERSISTENT_SEQUENTIAL),
    };
    static const char *const expected[] = {
        "", "/a", "", "/a/n-0000000000", "", "/a/e", "/a/p-0000000002"};
    char made[COUNT_OF(ops)][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/b", UVZK__PERSISTENT), 0);
    assert_int_equal(run_multi(&ask, user, ops, COUNT_OF(ops), made), 0);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_string_equal(made[i], expected[i]);
        if (made[i][0] != '\0') {
            bool ephemeral = i == 3 || i == 5;
            assert_true(stat_of(user, made[i]).ephemeral_owner ==
                        (ephemeral ? user->session_id : 0));
        }
    }
    assert_true(ask.failed_op == SIZE_MAX);
}

void multi_is_one_transaction(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/other", UVZK__PERSISTENT),
        CREATE("/d/n-", UVZK__PERSISTENT_SEQUENTIAL),
        {.kind = UVZK__OP_SET, .path = "/d", .version = -1},
    };
    char made[COUNT_OF(ops)][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask, next;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    int64_t before = stat_of(user, "/d").czxid;
    assert_int_equal(run_multi(&ask, user, ops, COUNT_OF(ops), made), 0);
    int64_t zxid = stat_of(user, made[0]).czxid;
    assert_true(zxid > before);
    assert_true(stat_of(user, made[1]).czxid == zxid);
    assert_true(stat_of(user, made[2]).czxid == zxid);
    assert_true(stat_of(user, made[2]).mzxid == zxid);
    assert_true(stat_of(user, "/d").mzxid == zxid);
    ask_init(&next, user, UVZK__RPC_CREATE, "/next");
    assert_int_equal(ask_run(&next), 0);
    assert_true(next.stat.czxid == zxid + 1);
}

void multi_numbers_siblings(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/d/a-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/d/b-", UVZK__PERSISTENT_SEQUENTIAL),
        CREATE("/d/plain", UVZK__PERSISTENT), /* is counted too */
        {.kind = UVZK__OP_DELETE, .path = "/d/b-0000000002", .version = -1},
        CREATE("/d/a-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    char made[COUNT_OF(ops)][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    assert_next(user, "/d/x-", "/d/x-0000000000");
    assert_int_equal(run_multi(&ask, user, ops, COUNT_OF(ops), made), 0);
    assert_string_equal(made[0], "/d/a-0000000001");
    assert_string_equal(made[1], "/d/b-0000000002");
    assert_string_equal(made[4], "/d/a-0000000004");
    assert_int_equal(children_of(user, "/d"), 4);
    assert_next(user, "/d/x-", "/d/x-0000000005");
}

void multi_numbers_each_directory(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/new", UVZK__PERSISTENT),
        CREATE("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/new/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/two/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/new/n-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    static const char *const expected[] = {
        "/one/n-0000000000", "/two/n-0000000001", "/new",
        "/one/n-0000000001", "/new/n-0000000000", "/two/n-0000000002",
        "/new/n-0000000001"};
    char made[COUNT_OF(ops)][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/one", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/two", UVZK__PERSISTENT), 0);
    assert_next(user, "/two/x-", "/two/x-0000000000");
    assert_int_equal(run_multi(&ask, user, ops, COUNT_OF(ops), made), 0);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_string_equal(made[i], expected[i]);
    }
}

/* Each has its room, whatever its length. */
void multi_tells_each_of_many_names(void **state)
{
    enum { COUNT = 150 };
    static struct uvzk__op ops[COUNT];
    static char prefixes[COUNT][ASK_NAME], made[COUNT][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    for (int i = 0; i < COUNT; i++) {
        memset(prefixes[i], 0, sizeof(prefixes[i]));
        memset(prefixes[i], 'n', 4 + (size_t)(i * 7 % 101));
        memcpy(prefixes[i], "/d/", 3);
        ops[i] = (struct uvzk__op)CREATE(prefixes[i], UVZK__PERSISTENT_SEQUENTIAL);
    }
    assert_int_equal(run_multi(&ask, user, ops, COUNT, made), 0);
    for (int i = 0; i < COUNT; i++) {
        char expected[2 * ASK_NAME];
        snprintf(expected, sizeof(expected), "%s%010d", prefixes[i], i);
        assert_string_equal(made[i], expected);
    }
    assert_int_equal(children_of(user, "/d"), COUNT);
}

/* ----------------------------------------------------------- all or nothing */

static const struct uvzk__op fails_at_the_end[] = {
    CREATE("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
    CREATE("/d/p-", UVZK__PERSISTENT_SEQUENTIAL),
    CREATE("/d/plain", UVZK__PERSISTENT),
    {.kind = UVZK__OP_CHECK, .path = "/d", .version = 7},
};

void multi_that_fails_counts_nothing(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    assert_int_equal(run_multi(&ask, user, fails_at_the_end, 4, NULL), UVZK_EBADVERSION);
    assert_int_equal(ask.failed_op, 3);
    assert_false(ask.made_is_told);
    assert_int_equal(children_of(user, "/d"), 0);
    assert_next(user, "/d/n-", "/d/n-0000000000");
    assert_int_equal(run_multi(&ask, user, fails_at_the_end, 4, NULL), UVZK_EBADVERSION);
    assert_next(user, "/d/n-", "/d/n-0000000001");
}

/* The server has numbered the next one before it has done the one before. */
void multi_that_fails_among_others_counts_nothing(void **state)
{
    enum { COUNT = 40 };
    struct ask good[COUNT], bad[COUNT];
    struct user *user = connected(state);
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    for (int i = 0; i < COUNT; i++) {
        ask_init(&good[i], user, UVZK__RPC_CREATE, "/d/n-");
        good[i].rpc.mode = UVZK__EPHEMERAL_SEQUENTIAL;
        ask_submit(&good[i]);
        multi_init(&bad[i], user, fails_at_the_end, 4);
        ask_submit(&bad[i]);
    }
    assert_true(ask_wait(&bad[COUNT - 1]));
    for (int i = 0; i < COUNT; i++) {
        char expected[40];
        snprintf(expected, sizeof(expected), "/d/n-%010d", i);
        assert_int_equal(good[i].status, 0);
        assert_string_equal(good[i].name, expected);
        assert_int_equal(bad[i].status, UVZK_EBADVERSION);
    }
    assert_int_equal(children_of(user, "/d"), COUNT);
}

void multi_creates_if_the_check_holds(void **state)
{
    struct uvzk__op ops[] = {
        {.kind = UVZK__OP_CHECK, .path = "/guard", .version = 0},
        CREATE("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/d/n-", UVZK__EPHEMERAL_SEQUENTIAL),
    };
    char made[COUNT_OF(ops)][ASK_NAME];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    assert_int_equal(run_multi(&ask, user, ops, 3, made), UVZK_ENONODE);
    assert_int_equal(ask.failed_op, 0);
    world_create(user->world, "/guard");
    assert_int_equal(run_multi(&ask, user, ops, 3, made), 0);
    assert_string_equal(made[1], "/d/n-0000000000");
    assert_string_equal(made[2], "/d/n-0000000001");
    world_set(user->world, "/guard");
    assert_int_equal(run_multi(&ask, user, ops, 3, made), UVZK_EBADVERSION);
    assert_int_equal(ask.failed_op, 0);
    assert_int_equal(children_of(user, "/d"), 2);
    ops[0].version = 1;
    assert_int_equal(run_multi(&ask, user, ops, 3, made), 0);
    assert_string_equal(made[1], "/d/n-0000000002");
}

void multi_refuses_sequential_creates(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/d/n-", UVZK__PERSISTENT_SEQUENTIAL),
        CREATE("/no/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/e/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        {.kind = UVZK__OP_CREATE, .mode = UVZK__EPHEMERAL_SEQUENTIAL, .path = "/d/n-"},
        {.kind = UVZK__OP_CREATE, .mode = UVZK__EPHEMERAL_SEQUENTIAL, .path = "/no/n-"},
        CREATE("/d/n-0000000000", UVZK__PERSISTENT),
    };
    static const int expected[] = {0,
                                   UVZK_ENONODE,
                                   UVZK_ENOCHILDREN,
                                   UVZK_EINVALIDACL,
                                   UVZK_EINVALIDACL,
                                   UVZK_ENODEEXISTS};
    struct user *user = connected(state);
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/e", UVZK__EPHEMERAL), 0);
    for (size_t i = 1; i < COUNT_OF(ops); i++) {
        struct uvzk__op pair[] = {ops[0], ops[i]};
        struct ask ask;
        assert_int_equal(run_multi(&ask, user, pair, 2, NULL), expected[i]);
        assert_int_equal(ask.failed_op, 1);
        assert_int_equal(children_of(user, "/d"), 0);
    }
}

/* Nobody told what became of it; the znodes say. */
void multi_lost_on_its_way_is_whole(void **state)
{
    static const struct uvzk__op ops[] = {
        CREATE("/one/n-", UVZK__EPHEMERAL_SEQUENTIAL),
        CREATE("/two/n-", UVZK__PERSISTENT_SEQUENTIAL),
    };
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/one", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/two", UVZK__PERSISTENT), 0);
    multi_init(&ask, user, ops, COUNT_OF(ops));
    ask_submit(&ask);
    world_lose(user->world);
    assert_true(ask_wait(&ask));
    assert_int_equal(ask.status, UVZK_ECONNLOSS);
    assert_true(ask.failed_op == SIZE_MAX);
    assert_false(ask.made_is_told);
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_int_equal(children_of(user, "/one"), children_of(user, "/two"));
}
