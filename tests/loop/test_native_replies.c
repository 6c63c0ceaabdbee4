/* SPDX-License-Identifier: Apache-2.0 */
/* What the native port makes of replies that no request of its own can have: the server is
 * broken, or somebody on the path has changed them. */
#include "native_test.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"

#define FRAME_MAX 4096

/* Sends the first `length` bytes of the reply, as a frame of its own. */
static void send_cut(struct native_test *test, const struct uvzk__wire_reply *reply,
                     size_t length)
{
    struct uvzk__jute_writer whole, cut;

    uvzk__jute_writer_init(&whole);
    uvzk__jute_writer_init(&cut);
    assert_int_equal(uvzk__wire_reply_write(&whole, FRAME_MAX, reply), 0);
    assert_in_range(length, 16, contents(&whole).length);
    uvzk__jute_put_bytes(&cut, uvzk__jute_bytes(contents(&whole).at, length));
    scripted_server_send(&test->server, cut.bytes, cut.length);
    uvzk__jute_writer_end(&cut);
    uvzk__jute_writer_end(&whole);
}

/* ------------------------------------------------------- replies that cannot be read */

/* The request may have been executed. Another one waits behind it, and both are told of the
 * loss. The watch is not armed; the user may free everything. */
static void assert_a_cut_reply_is_a_loss(enum uvzk__rpc_kind kind, int32_t opcode,
                                         size_t length)
{
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    bool watched = kind == UVZK__RPC_GET || kind == UVZK__RPC_CHILDREN;
    struct ask *ask = ask_new(test->probe, kind, "/a");
    ask->rpc.watch = watched ? &ask->watch : NULL;
    ask_submit(ask);
    struct ask *behind = ask_sync(test->probe, "/a");
    native_await(test, &test->server.requests, 2);
    (void)probe_said(test->probe);
    send_cut(test,
             &(struct uvzk__wire_reply){.xid = test->server.last_xid - 1,
                                        .opcode = opcode,
                                        .path = uvzk__jute_text("/a")},
             length);
    test->server.answers = true;
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(ask->replied, 1);
    assert_int_equal(ask->status, UVZK_ECONNLOSS);
    assert_null(ask->watch.armed);
    assert_int_equal(behind->status, UVZK_ECONNLOSS);
    assert_true(ask->replied_nth > test->probe->session_nth[UVZK__SESSION_SUSPENDED]);
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/b"), 0);
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/c"), 0);
    native_end(test);
}

static void a_reply_that_cannot_be_read_is_a_loss(void **state)
{
    (void)state;
    assert_a_cut_reply_is_a_loss(UVZK__RPC_CREATE, UVZK__OPCODE_CREATE2, 16);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_CREATE, UVZK__OPCODE_CREATE2, 21);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_CREATE, UVZK__OPCODE_CREATE2, 40);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_GET, UVZK__OPCODE_GET_DATA, 19);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_GET, UVZK__OPCODE_GET_DATA, 50);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_CHILDREN, UVZK__OPCODE_GET_CHILDREN, 18);
    assert_a_cut_reply_is_a_loss(UVZK__RPC_MULTI, UVZK__OPCODE_MULTI, 16);
}

/* --------------------------------------------------- replies to another kind of request */

static const struct uvzk__op two_ops[] = {
    {.kind = UVZK__OP_CREATE, .path = "/a/n-", .mode = UVZK__EPHEMERAL_SEQUENTIAL},
    {.kind = UVZK__OP_DELETE, .path = "/a/m", .version = -1}};

/* Sends this reply to a request, and returns what the user is told. The connection is lost
 * exactly when the reply is not the one to the request. */
static int told(struct uvzk__rpc rpc, struct uvzk__wire_reply reply)
{
    struct native_test *test = native_begin_connected();
    test->server.answers = false;
    struct ask *ask = ask_new(test->probe, rpc.kind, rpc.path == NULL ? "/" : rpc.path);
    ask->rpc.mode = rpc.mode;
    ask->rpc.ops = rpc.ops;
    ask->rpc.op_count = rpc.op_count;
    ask_submit(ask);
    native_await(test, &test->server.requests, 1);
    reply.xid = test->server.last_xid;
    struct uvzk__jute_writer writer;
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_reply_write(&writer, FRAME_MAX, &reply), 0);
    scripted_server_send(&test->server, writer.bytes, writer.length);
    uvzk__jute_writer_end(&writer);
    test->server.answers = true;
    int status = ask_wait(ask);
    if (status == UVZK_ECONNLOSS) {
        probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    }
    native_settle(test);
    assert_int_equal(test->probe->sessions[UVZK__SESSION_SUSPENDED],
                     status == UVZK_ECONNLOSS ? 1 : 0);
    native_end(test);
    return status;
}

static int created(enum uvzk__mode mode, struct uvzk__jute_bytes path)
{
    return told((struct uvzk__rpc){.kind = UVZK__RPC_CREATE,
                                   .path = "/a/n-",
                                   .mode = (uint8_t)mode},
                (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_CREATE2, .path = path});
}

static void another_path_is_no_created_one(void **state)
{
    const enum uvzk__mode numbered = UVZK__EPHEMERAL_SEQUENTIAL;
    static const char nul[] = "/a/n-0000000007\0x";
    (void)state;
    assert_int_equal(created(UVZK__EPHEMERAL, uvzk__jute_text("/a/n-")), 0);
    assert_int_equal(created(numbered, uvzk__jute_text("/a/n-0000000007")), 0);
    assert_int_equal(created(numbered, uvzk__jute_text("/a/n-")), UVZK_ECONNLOSS);
    assert_int_equal(created(numbered, uvzk__jute_text("/b/n-0000000007")),
                     UVZK_ECONNLOSS);
    assert_int_equal(created(numbered, uvzk__jute_bytes(nul, sizeof(nul) - 1)),
                     UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, uvzk__jute_bytes(NULL, 0)), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, uvzk__jute_text("")), UVZK_ECONNLOSS);
}

static int synced(const char *path)
{
    return told((struct uvzk__rpc){.kind = UVZK__RPC_SYNC, .path = "/a"},
                (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_SYNC,
                                          .path = uvzk__jute_text(path)});
}

static void a_sync_is_of_its_path(void **state)
{
    (void)state;
    assert_int_equal(synced("/a"), 0);
    assert_int_equal(synced("/b"), UVZK_ECONNLOSS);
}

/* first: NULL: null. */
static int listed(int32_t count, struct uvzk__jute_bytes first)
{
    struct uvzk__wire_reply reply = {.opcode = UVZK__OPCODE_GET_CHILDREN};
    struct uvzk__jute_writer names;

    uvzk__jute_writer_init(&names);
    uvzk__jute_put_bytes(&names, first);
    reply.children = (struct uvzk__jute_list){names.bytes, names.length, count};
    if (count < 0) {
        reply.children.length = 0;
    }
    int status =
        told((struct uvzk__rpc){.kind = UVZK__RPC_CHILDREN, .path = "/a"}, reply);
    uvzk__jute_writer_end(&names);
    return status;
}

static void names_are_names_of_children(void **state)
{
    (void)state;
    assert_int_equal(listed(1, uvzk__jute_text("b")), 0);
    assert_int_equal(listed(-1, uvzk__jute_text("b")), UVZK_ECONNLOSS);
    assert_int_equal(listed(1, uvzk__jute_text("b/c")), UVZK_ECONNLOSS);
    assert_int_equal(listed(1, uvzk__jute_text("")), UVZK_ECONNLOSS);
    assert_int_equal(listed(1, uvzk__jute_bytes(NULL, 0)), UVZK_ECONNLOSS);
    assert_int_equal(listed(1, uvzk__jute_bytes("b\0c", 3)), UVZK_ECONNLOSS);
}

/* The results of a create and a delete: their opcodes, and the path of the first. */
static int executed(const char *path, const int32_t *opcodes, size_t count, int32_t err)
{
    struct uvzk__wire_reply reply = {.opcode = UVZK__OPCODE_MULTI};
    struct uvzk__jute_writer results;

    uvzk__jute_writer_init(&results);
    for (size_t i = 0; i < count; i++) {
        struct uvzk__wire_reply result = {.opcode = opcodes[i], .body_err = err};
        result.path =
            i == 0 && path != NULL ? uvzk__jute_text(path) : uvzk__jute_bytes(NULL, 0);
        uvzk__wire_result_add(&results, UVZK__OPCODE_MULTI, &result);
    }
    assert_int_equal(uvzk__jute_list_of(&results, count, &reply.results), 0);
    int status =
        told((struct uvzk__rpc){.kind = UVZK__RPC_MULTI, .ops = two_ops, .op_count = 2},
             reply);
    uvzk__jute_writer_end(&results);
    return status;
}

static void every_op_has_its_result(void **state)
{
    enum {
        CREATE = UVZK__OPCODE_CREATE,
        CREATE2 = UVZK__OPCODE_CREATE2,
        DELETE = UVZK__OPCODE_DELETE,
        SET = UVZK__OPCODE_SET_DATA,
        ERROR = UVZK__OPCODE_ERROR
    };
    static const char name[] = "/a/n-0000000007";
    (void)state;
    assert_int_equal(executed(name, (int32_t[]){CREATE, DELETE}, 2, 0), 0);
    assert_int_equal(executed(name, (int32_t[]){CREATE2, DELETE}, 2, 0), 0);
    assert_int_equal(executed(NULL, (int32_t[]){ERROR, ERROR}, 2, -101), UVZK_ENONODE);
    assert_int_equal(executed(name, (int32_t[]){CREATE}, 1, 0), UVZK_ECONNLOSS);
    assert_int_equal(executed(name, (int32_t[]){CREATE, DELETE, DELETE}, 3, 0),
                     UVZK_ECONNLOSS);
    assert_int_equal(executed(name, (int32_t[]){DELETE, DELETE}, 2, 0), UVZK_ECONNLOSS);
    assert_int_equal(executed(name, (int32_t[]){CREATE, SET}, 2, 0), UVZK_ECONNLOSS);
    assert_int_equal(executed(NULL, (int32_t[]){CREATE, DELETE}, 2, 0), UVZK_ECONNLOSS);
    assert_int_equal(executed("/a/n-", (int32_t[]){CREATE, DELETE}, 2, 0),
                     UVZK_ECONNLOSS);
    assert_int_equal(executed(NULL, (int32_t[]){ERROR, ERROR}, 2, 0), UVZK_ECONNLOSS);
    assert_int_equal(executed(NULL, (int32_t[]){ERROR}, 1, -101), UVZK_ECONNLOSS);
    assert_int_equal(executed(NULL, (int32_t[]){ERROR, ERROR, ERROR}, 3, -101),
                     UVZK_ECONNLOSS);
}

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_reply_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_reply_that_cannot_be_read_is_a_loss),
        CASE(another_path_is_no_created_one),
        CASE(a_sync_is_of_its_path),
        CASE(names_are_names_of_children),
        CASE(every_op_has_its_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
