/* SPDX-License-Identifier: Apache-2.0 */
/* One request each: what it does and what it tells. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

void create_tells_name_and_stat(void **state)
{
    struct probe *probe = connected(state);
    const struct ask *first = ask_done(ask_create(probe, "/a", UVZK__EPHEMERAL));
    assert_string_equal(first->name, "/a");
    assert_true(first->stat.czxid > 0);
    assert_int_equal(first->stat.mzxid, first->stat.czxid);
    assert_true(first->stat.ephemeral_owner == probe->session_id);
    assert_int_equal(first->stat.version, 0);

    const struct ask *second = ask_done(ask_create(probe, "/b", UVZK__PERSISTENT));
    assert_true(second->stat.czxid > first->stat.czxid);
    assert_true(second->stat.ephemeral_owner == 0);
}

void create_numbers_siblings(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/lock", UVZK__PERSISTENT), 0);
    for (int i = 0; i < 3; i++) {
        char name[40];
        const struct ask *ask =
            ask_done(ask_create(probe, "/lock/n-", UVZK__EPHEMERAL_SEQUENTIAL));
        snprintf(name, sizeof(name), "/lock/n-%010d", i);
        assert_string_equal(ask->name, name);
        assert_true(ask->stat.ephemeral_owner == probe->session_id);
    }
}

/* Of two sessions: what is persistent outlives the one that made it. */
void create_numbers_persistent_siblings(void **state)
{
    static const enum uvzk__mode modes[] = {
        UVZK__PERSISTENT_SEQUENTIAL, UVZK__EPHEMERAL_SEQUENTIAL,
        UVZK__PERSISTENT_SEQUENTIAL, UVZK__PERSISTENT};
    struct probe *probe = connected(state);
    const struct ask *ask;
    assert_int_equal(create(probe, "/d", UVZK__PERSISTENT), 0);
    for (int i = 0; i < 4; i++) {
        char name[40];
        bool ephemeral = modes[i] == UVZK__EPHEMERAL_SEQUENTIAL;
        ask = ask_done(ask_create(probe, "/d/n-", modes[i]));
        snprintf(name, sizeof(name), i < 3 ? "/d/n-%010d" : "/d/n-", i);
        assert_string_equal(ask->name, name);
        assert_true(ask->stat.czxid > 0);
        assert_true(ask->stat.ephemeral_owner == (ephemeral ? probe->session_id : 0));
    }
    probe->reopens = true;
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    ask = ask_done(ask_read(probe, UVZK__RPC_CHILDREN, "/d", false));
    assert_string_equal(ask->text, "n- n-0000000000 n-0000000002");
    ask = ask_done(ask_create(probe, "/d/n-", UVZK__PERSISTENT_SEQUENTIAL));
    assert_string_equal(ask->name, "/d/n-0000000004");
}

void create_refuses(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/no/parent", UVZK__PERSISTENT), UVZK_ENONODE);
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), UVZK_ENODEEXISTS);
    assert_int_equal(create(probe, "/e/child", UVZK__PERSISTENT), UVZK_ENOCHILDREN);
    probe->acl = NULL;
    assert_int_equal(create(probe, "/without-acl", UVZK__PERSISTENT), UVZK_EINVALIDACL);
}

void container_is_made(void **state)
{
    struct probe *probe = connected(state);
    const struct ask *ask = ask_done(ask_create(probe, "/box", UVZK__CONTAINER));
    assert_string_equal(ask->name, "/box");
    assert_true(ask->stat.czxid > 0);
    assert_int_equal(create(probe, "/box/child", UVZK__EPHEMERAL), 0);
    assert_int_equal(create(probe, "/box", UVZK__CONTAINER), UVZK_ENODEEXISTS);
}

void delete_minds_the_version(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/a/b", UVZK__PERSISTENT), 0);
    assert_int_equal(ask_wait(ask_delete(probe, "/a", -1)), UVZK_ENOTEMPTY);
    struct ask *ask = ask_delete(probe, "/a/b", 7);
    assert_int_equal(ask_wait(ask), UVZK_EBADVERSION);
    ask->rpc.version = 0;
    assert_int_equal(ask_wait(ask_submit(ask)), 0);
    ask->rpc.version = -1;
    assert_int_equal(ask_wait(ask_submit(ask)), UVZK_ENONODE);
}

void set_and_get(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    assert_string_equal(ask_done(ask_read(probe, UVZK__RPC_GET, "/a", false))->text, "");

    struct ask *set = ask_done(ask_set(probe, "/a", "text", -1));
    assert_int_equal(set->stat.version, 1);
    set->rpc.version = 0;
    assert_int_equal(ask_wait(ask_submit(set)), UVZK_EBADVERSION);

    const struct ask *get = ask_done(ask_read(probe, UVZK__RPC_GET, "/a", false));
    assert_string_equal(get->text, "text");
    assert_int_equal(get->stat.version, 1);
    assert_true(get->stat.mzxid > get->stat.czxid);
}

/* jute.maxbuffer as it comes is some bytes less than that, all in all. */
void a_server_reads_no_megabyte_of_data(void **state)
{
    static const char data[1048576];
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    struct ask *set = ask_new(probe, UVZK__RPC_SET, "/a");
    set->rpc.data = data;
    set->rpc.data_length = UVZK__DATA_MAX;
    assert_int_equal(ask_wait(ask_submit(set)), 0);
    set->rpc.data_length = sizeof(data);
    assert_int_equal(ask_wait(ask_submit(set)), UVZK_ECONNLOSS);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    const struct ask *after = ask_done(ask_read(probe, UVZK__RPC_EXISTS, "/a", false));
    assert_int_equal(after->stat.version, 1);
}

void exists_and_sync(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/a/b", UVZK__PERSISTENT), 0);
    const struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_EXISTS, "/a", false));
    assert_int_equal(ask->stat.child_count, 1);
    (void)ask_done(ask_sync(probe, "/a"));
}

void children_are_listed(void **state)
{
    struct probe *probe = connected(state);
    assert_int_equal(read_once(probe, UVZK__RPC_CHILDREN, "/a"), UVZK_ENONODE);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    const struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_CHILDREN, "/a", false));
    assert_int_equal(ask->count, 0);
    assert_int_equal(create(probe, "/a/one", UVZK__PERSISTENT), 0);
    assert_int_equal(create(probe, "/a/two", UVZK__PERSISTENT), 0);
    ask = ask_done(ask_read(probe, UVZK__RPC_CHILDREN, "/a", false));
    assert_int_equal(ask->count, 2);
    assert_string_equal(ask->text, "one two");
}

void malformed_paths_are_refused(void **state)
{
    static const char *const paths[] = {"/a//b", "a", "/a/", "/a/./b"};
    struct probe *probe = connected(state);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, paths[i]), UVZK_EREJECTED);
    }
}

/* ------------------------------------------------------------------- order */

void replies_come_in_order(void **state)
{
    static const enum uvzk__rpc_kind kinds[] = {
        UVZK__RPC_CREATE, UVZK__RPC_EXISTS,   UVZK__RPC_SET,    UVZK__RPC_SYNC,
        UVZK__RPC_GET,    UVZK__RPC_CHILDREN, UVZK__RPC_DELETE, UVZK__RPC_EXISTS};
    enum { COUNT = sizeof(kinds) / sizeof(kinds[0]) };
    struct probe *probe = connected(state);
    struct ask *asks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_submit(ask_new(probe, kinds[i], i == 3 ? "/a//malformed" : "/a"));
    }
    ask_wait(asks[COUNT - 1]);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->replied_nth, asks[0]->replied_nth + (uint64_t)i);
        assert_int_equal(asks[i]->status, i == COUNT - 1 ? UVZK_ENONODE
                                          : i == 3       ? UVZK_EREJECTED
                                                         : 0);
    }
}

void many_requests_come_back_in_order(void **state)
{
    enum { COUNT = 3500 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_set(probe, "/a", "", -1);
    }
    ask_wait(asks[COUNT - 1]);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->status, 0);
        assert_int_equal(asks[i]->stat.version, i + 1);
        assert_int_equal(asks[i]->replied_nth, asks[0]->replied_nth + (uint64_t)i);
    }
}

void an_rpc_is_free_in_its_reply(void **state)
{
    struct probe *probe = connected(state);
    struct ask *first = ask_new(probe, UVZK__RPC_EXISTS, "/a");
    struct ask *second = first->again = ask_new(probe, UVZK__RPC_EXISTS, "/a");
    ask_submit(first);
    assert_int_equal(ask_wait(second), UVZK_ENONODE);
    assert_int_equal(first->replied, 1);
}
