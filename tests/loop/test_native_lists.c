/* SPDX-License-Identifier: Apache-2.0 */
/* Long lists of names: what they cost while they are read, and that they cost nothing
 * afterwards. */
#include "native_test.h"

#include <stdlib.h>
#include <string.h>

#include "native/native_port.h"
#include "native/rpc_message.h"

#define KEPT_MAX (1U << 20) /* bytes that a port may keep from one reply to the next */
#define SESSION_MS 60000

/* A getChildren whose names are counted. */
struct listing {
    struct uvzk__rpc rpc;
    int replied, status;
    size_t names;
};

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct listing *listing = (struct listing *)rpc;

    listing->replied++;
    listing->status = reply->status;
    listing->names = reply->status == 0 ? reply->name_count : 0;
}

static void put_number(unsigned char **at, uint64_t number, int bytes)
{
    for (int i = bytes; i-- > 0;) {
        *(*at)++ = (unsigned char)(number >> (8 * i));
    }
}

/* Answers the last request by a list of names of this length. */
static void send_list(struct native_test *test, size_t count, size_t length)
{
    size_t frame = 20 + count * (4 + length);
    unsigned char *bytes = malloc(4 + frame), *at = bytes;

    assert_non_null(bytes);
    put_number(&at, frame, 4);
    put_number(&at, (uint32_t)test->server.last_xid, 4);
    put_number(&at, 7, 8); /* the zxid */
    put_number(&at, 0, 4);
    put_number(&at, count, 4);
    for (size_t i = 0; i < count; i++) {
        put_number(&at, length, 4);
        memset(at, 'n', length);
        at += length;
    }
    scripted_server_send(&test->server, bytes, 4 + frame);
    free(bytes);
}

static struct listing list(struct native_test *test, size_t count, size_t length)
{
    struct listing listing = {
        .rpc = {.kind = UVZK__RPC_CHILDREN, .path = "/a", .reply_cb = listed}};

    test->server.answers = false;
    test->server.requests = 0;
    test->probe->port->submit(test->probe->port, &listing.rpc);
    native_await(test, &test->server.requests, 1);
    send_list(test, count, length);
    test->server.answers = true;
    while (listing.replied == 0) {
        assert_int_not_equal(uv_run(&test->loop, UV_RUN_ONCE), 0);
    }
    return listing;
}

static void a_long_list_leaves_no_memory_behind(void **state)
{
    struct native_test *test = native_begin_connected();
    (void)state;
    struct listing listing = list(test, 200000, 30);
    assert_int_equal(listing.status, 0);
    assert_int_equal(listing.names, 200000);
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/b"), 0);
    const struct uvzk__native_port *port =
        (const struct uvzk__native_port *)test->probe->port;
    assert_true(port->memory.capacity <= KEPT_MAX);
    assert_true(port->session.stream->in_capacity <= KEPT_MAX);
    native_end(test);
}

/* Of one byte each, so that the frame is much shorter than what it would cost. */
static void a_list_of_too_many_names_is_a_loss(void **state)
{
    struct native_test *test = native_begin_connected();
    (void)state;
    struct listing listing = list(test, UVZK__NAMES_MAX, 1);
    assert_int_equal(listing.status, 0);
    assert_int_equal(listing.names, UVZK__NAMES_MAX);
    listing = list(test, UVZK__NAMES_MAX + 1, 1);
    assert_int_equal(listing.status, UVZK_ECONNLOSS);
    probe_await_session(test->probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(read_once(test->probe, UVZK__RPC_GET, "/b"), 0);
    native_end(test);
}

/* A list is read in one turn of the loop, with a sanitizer on a busy machine in seconds.
 * The session outlives it. */
static int lists_reset(void **state)
{
    (void)native_test_reset(state);
    native_test_settings.session_timeout_ms = SESSION_MS;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, lists_reset)

int native_list_tests_run(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_long_list_leaves_no_memory_behind),
        CASE(a_list_of_too_many_names_is_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
