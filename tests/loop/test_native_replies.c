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

#define CASE(name) cmocka_unit_test_setup(name, native_test_reset)

int native_reply_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_reply_that_cannot_be_read_is_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
