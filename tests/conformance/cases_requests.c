/* One request each: what it does and what it tells. */
#include <stdio.h>
#include <string.h>

#include "cases.h"

static struct user *connected(void **state)
{
    struct user *user = *state;
    assert_true(user_connect(user));
    return user;
}

void create_tells_name_and_stat(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, "/a");
    ask.rpc.mode = UVZK__EPHEMERAL;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.name, "/a");
    assert_true(ask.stat.czxid > 0);
    assert_int_equal(ask.stat.mzxid, ask.stat.czxid);
    assert_true(ask.stat.ephemeral_owner == user->session_id);
    assert_int_equal(ask.stat.version, 0);
    int64_t first = ask.stat.czxid;

    ask_init(&ask, user, UVZK__RPC_CREATE, "/b");
    assert_int_equal(ask_run(&ask), 0);
    assert_true(ask.stat.czxid > first);
    assert_true(ask.stat.ephemeral_owner == 0);
}

void create_numbers_siblings(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/lock", UVZK__PERSISTENT), 0);
    for (int i = 0; i < 3; i++) {
        char name[40];
        ask_init(&ask, user, UVZK__RPC_CREATE, "/lock/n-");
        ask.rpc.mode = UVZK__EPHEMERAL_SEQUENTIAL;
        assert_int_equal(ask_run(&ask), 0);
        snprintf(name, sizeof(name), "/lock/n-%010d", i);
        assert_string_equal(ask.name, name);
        assert_true(ask.stat.ephemeral_owner == user->session_id);
    }
}

/* Of two sessions: what is persistent outlives the one that made it. */
void create_numbers_persistent_siblings(void **state)
{
    static const enum uvzk__mode modes[] = {
        UVZK__PERSISTENT_SEQUENTIAL, UVZK__EPHEMERAL_SEQUENTIAL,
        UVZK__PERSISTENT_SEQUENTIAL, UVZK__PERSISTENT};
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/d", UVZK__PERSISTENT), 0);
    for (int i = 0; i < 4; i++) {
        char name[40];
        bool ephemeral = modes[i] == UVZK__EPHEMERAL_SEQUENTIAL;
        ask_init(&ask, user, UVZK__RPC_CREATE, "/d/n-");
        ask.rpc.mode = (uint8_t)modes[i];
        assert_int_equal(ask_run(&ask), 0);
        snprintf(name, sizeof(name), i < 3 ? "/d/n-%010d" : "/d/n-", i);
        assert_string_equal(ask.name, name);
        assert_true(ask.stat.czxid > 0);
        assert_true(ask.stat.ephemeral_owner == (ephemeral ? user->session_id : 0));
    }
    user->reopen = true;
    world_expire(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    ask_init(&ask, user, UVZK__RPC_CHILDREN, "/d");
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.names, 3);
    assert_null(strstr(ask.text, "n-0000000001"));
    ask_init(&ask, user, UVZK__RPC_CREATE, "/d/n-");
    ask.rpc.mode = UVZK__PERSISTENT_SEQUENTIAL;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.name, "/d/n-0000000004");
}

void create_refuses(void **state)
{
    struct user *user = connected(state);
    assert_int_equal(user_create(user, "/no/parent", UVZK__PERSISTENT), UVZK_ENONODE);
    assert_int_equal(user_create(user, "/e", UVZK__EPHEMERAL), 0);
    assert_int_equal(user_create(user, "/e", UVZK__EPHEMERAL), UVZK_ENODEEXISTS);
    assert_int_equal(user_create(user, "/e/child", UVZK__PERSISTENT), UVZK_ENOCHILDREN);

    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, "/without-acl");
    ask.rpc.acl = NULL;
    assert_int_equal(ask_run(&ask), UVZK_EINVALIDACL);
}

void container_is_made(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, "/box");
    ask.rpc.mode = UVZK__CONTAINER;
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.name, "/box");
    assert_true(ask.stat.czxid > 0);
    assert_int_equal(user_create(user, "/box/child", UVZK__EPHEMERAL), 0);
    assert_int_equal(user_create(user, "/box", UVZK__CONTAINER), UVZK_ENODEEXISTS);
}

void delete_minds_the_version(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/a/b", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_DELETE, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENOTEMPTY);
    ask_init(&ask, user, UVZK__RPC_DELETE, "/a/b");
    ask.rpc.version = 7;
    assert_int_equal(ask_run(&ask), UVZK_EBADVERSION);
    ask.rpc.version = 0;
    ask.replies = 0;
    assert_int_equal(ask_run(&ask), 0);
    ask.replies = 0;
    ask.rpc.version = -1;
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);
}

void set_and_get(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_GET, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.text, "");

    ask_init(&ask, user, UVZK__RPC_SET, "/a");
    ask.rpc.data = "text";
    ask.rpc.data_length = 4;
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.stat.version, 1);
    ask.rpc.version = 0;
    ask.replies = 0;
    assert_int_equal(ask_run(&ask), UVZK_EBADVERSION);

    ask_init(&ask, user, UVZK__RPC_GET, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_string_equal(ask.text, "text");
    assert_int_equal(ask.stat.version, 1);
    assert_true(ask.stat.mzxid > ask.stat.czxid);
}

/* jute.maxbuffer as it comes is some bytes less than that, all in all. */
void a_server_reads_no_megabyte_of_data(void **state)
{
    static const char data[1048576];
    struct user *user = connected(state);
    struct ask ask;
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_SET, "/a");
    ask.rpc.data = data;
    ask.rpc.data_length = UVZK__DATA_MAX;
    assert_int_equal(ask_run(&ask), 0);
    ask_init(&ask, user, UVZK__RPC_SET, "/a");
    ask.rpc.data = data;
    ask.rpc.data_length = sizeof(data);
    assert_int_equal(ask_run(&ask), UVZK_ECONNLOSS);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.stat.version, 1);
}

void exists_and_sync(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/a/b", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.stat.child_count, 1);
    ask_init(&ask, user, UVZK__RPC_SYNC, "/a");
    assert_int_equal(ask_run(&ask), 0);
}

void children_are_listed(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.names, 0);
    assert_int_equal(user_create(user, "/a/one", UVZK__PERSISTENT), 0);
    assert_int_equal(user_create(user, "/a/two", UVZK__PERSISTENT), 0);
    ask_init(&ask, user, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(ask_run(&ask), 0);
    assert_int_equal(ask.names, 2);
    assert_non_null(strstr(ask.text, "one "));
    assert_non_null(strstr(ask.text, "two "));
}

void malformed_paths_are_refused(void **state)
{
    static const char *const paths[] = {"/a//b", "a", "/a/", "/a/./b"};
    struct user *user = connected(state);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct ask ask;
        ask_init(&ask, user, UVZK__RPC_EXISTS, paths[i]);
        assert_int_equal(ask_run(&ask), UVZK_EREJECTED);
    }
}

/* ------------------------------------------------------------------- order */

void replies_come_in_order(void **state)
{
    static const enum uvzk__rpc_kind kinds[] = {
        UVZK__RPC_CREATE, UVZK__RPC_EXISTS,   UVZK__RPC_SET,    UVZK__RPC_SYNC,
        UVZK__RPC_GET,    UVZK__RPC_CHILDREN, UVZK__RPC_DELETE, UVZK__RPC_EXISTS};
    enum { COUNT = sizeof(kinds) / sizeof(kinds[0]) };
    struct user *user = connected(state);
    struct ask asks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, kinds[i], i == 3 ? "/a//malformed" : "/a");
        ask_submit(&asks[i]);
    }
    assert_true(ask_wait(&asks[COUNT - 1]));
    size_t at = 0;
    for (int i = 0; i < COUNT; i++) {
        size_t next = user_find(user, 0, NOTE_REPLY, asks[i].number);
        assert_true(next < user->count);
        assert_true(i == 0 || next == at + 1);
        at = next;
        assert_int_equal(asks[i].status, i == COUNT - 1 ? UVZK_ENONODE
                                         : i == 3       ? UVZK_EREJECTED
                                                        : 0);
    }
}

void many_requests_come_back_in_order(void **state)
{
    enum { COUNT = 3500 };
    static struct ask asks[COUNT];
    struct user *user = connected(state);
    assert_int_equal(user_create(user, "/a", UVZK__PERSISTENT), 0);
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_SET, "/a");
        ask_submit(&asks[i]);
    }
    assert_true(ask_wait(&asks[COUNT - 1]));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i].replies, 1);
        assert_int_equal(asks[i].status, 0);
        assert_int_equal(asks[i].stat.version, i + 1);
    }
    size_t first = user_find(user, 0, NOTE_REPLY, asks[0].number);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(user->notes[first + (size_t)i].value, asks[i].number);
    }
}

void an_rpc_is_free_in_its_reply(void **state)
{
    struct user *user = connected(state);
    struct ask first, second;
    ask_init(&first, user, UVZK__RPC_EXISTS, "/a");
    ask_init(&second, user, UVZK__RPC_EXISTS, "/a");
    first.again = &second;
    ask_submit(&first);
    assert_true(ask_wait(&second));
    assert_int_equal(first.replies, 1);
    assert_int_equal(second.status, UVZK_ENONODE);
}
