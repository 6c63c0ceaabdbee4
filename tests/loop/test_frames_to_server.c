/* SPDX-License-Identifier: Apache-2.0 */
/* A server understands what is written, also the requests that the C client does not have:
 * addWatch, multiRead, setWatches2, containers in a multi. What it answers is written again
 * with the same bytes. */
#include "frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include "native/wire_reply.h"
#include "native/wire_request.h"
#include "server.h"
#include "wire_socket.h"

#define RECEIVED_MAX 65536
#define RUNTIMEINCONSISTENCY (-2)
#define NONODE (-101)

static struct server *server;
static int fd;
static int32_t last_xid;
static unsigned char received[RECEIVED_MAX];
static struct uvzk__jute_writer acls, ops, watches;
static struct uvzk__jute_list open_acl;
static struct uvzk__wire_reply last_event;
static int event_count;

/* Receives one frame into `received`. */
static struct uvzk__jute_bytes receive(void)
{
    struct uvzk__jute_bytes frame;

    assert_true(wire_socket_receive(fd, received, sizeof(received), &frame));
    return frame;
}

static void assert_same(const struct uvzk__jute_writer *writer,
                        struct uvzk__jute_bytes frame)
{
    assert_int_equal(writer->length, frame.length + 4);
    assert_memory_equal(writer->bytes + 4, frame.at, frame.length);
}

static struct uvzk__wire_reply read_reply(struct uvzk__jute_bytes frame, int32_t opcode)
{
    struct uvzk__jute_writer writer;
    struct uvzk__wire_reply reply;

    assert_int_equal(uvzk__wire_reply_read(frame, opcode, &reply), 0);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_reply_write(&writer, RECEIVED_MAX, &reply), 0);
    assert_same(&writer, frame);
    uvzk__jute_writer_end(&writer);
    return reply;
}

/* The reply is valid until the next call. Events that come before it are counted. */
static struct uvzk__wire_reply call(struct uvzk__wire_request request)
{
    struct uvzk__jute_writer writer;
    struct uvzk__wire_reply header;

    request.xid = request.xid != 0 ? request.xid : ++last_xid;
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_request_write(&writer, UVZK__JUTE_MAXBUFFER, &request),
                     0);
    wire_socket_send(fd, &writer);
    for (;;) {
        struct uvzk__jute_bytes frame = receive();
        assert_int_equal(uvzk__wire_reply_read_header(frame, &header), 0);
        if (header.xid == request.xid) {
            return read_reply(frame, request.opcode);
        }
        assert_int_equal(header.xid, UVZK__XID_EVENT);
        last_event = read_reply(frame, UVZK__OPCODE_EVENT);
        event_count++;
    }
}

static struct uvzk__wire_request request_for(int32_t opcode, const char *path)
{
    return (struct uvzk__wire_request){
        .opcode = opcode, .path = uvzk__jute_text(path), .acl = open_acl, .version = -1};
}

static struct uvzk__wire_reply call_for(int32_t opcode, const char *path)
{
    struct uvzk__wire_reply reply = call(request_for(opcode, path));

    assert_int_equal(reply.err, 0);
    return reply;
}

static void open_session(void)
{
    struct uvzk__connect_request request = {.timeout_ms = 10000,
                                            .password =
                                                uvzk__jute_text("0123456789abcdef"),
                                            .has_read_only = true};
    struct uvzk__connect_response response;
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_request_write(&writer, UVZK__JUTE_MAXBUFFER, &request),
                     0);
    wire_socket_send(fd, &writer);
    assert_int_equal(uvzk__connect_response_read(receive(), &response), 0);
    assert_int_equal(response.timeout_ms, 10000);
    assert_true(response.session_id != 0);
    assert_int_equal(response.password.length, 16);
    assert_true(response.has_read_only && !response.read_only);
}

static int begin(void **state)
{
    (void)state;
    server = server_start(NULL);
    if (server == NULL) {
        return -1;
    }
    uvzk__jute_writer_init(&acls);
    uvzk__jute_writer_init(&ops);
    uvzk__jute_writer_init(&watches);
    uvzk__wire_acl_add(&acls, &(struct uvzk__wire_acl){31, uvzk__jute_text("world"),
                                                       uvzk__jute_text("anyone")});
    assert_int_equal(uvzk__jute_list_of(&acls, 1, &open_acl), 0);
    fd = wire_socket_open(server_port(server));
    open_session();
    (void)call_for(UVZK__OPCODE_CREATE, "/w");
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(fd);
    uvzk__jute_writer_end(&acls);
    uvzk__jute_writer_end(&ops);
    uvzk__jute_writer_end(&watches);
    server_stop(server);
    return 0;
}

static void a_persistent_recursive_watch_fires(void **state)
{
    struct uvzk__wire_request watch = request_for(UVZK__OPCODE_ADD_WATCH, "/w");
    struct uvzk__wire_request create = request_for(UVZK__OPCODE_CREATE2, "/w/e-");
    (void)state;

    watch.mode = 1; /* persistent and recursive */
    assert_int_equal(call(watch).body_err, 0);
    event_count = 0;
    create.mode = 3; /* ephemeral and sequential */
    struct uvzk__wire_reply reply = call(create);
    assert_int_equal(reply.err, 0);
    assert_bytes(reply.path, "/w/e-0000000000");
    assert_true(reply.stat.czxid == reply.zxid);
    assert_int_equal(event_count, 1);
    assert_int_equal(last_event.event, 1); /* created */
    assert_int_equal(last_event.state, 3); /* connected */
    watch.opcode = UVZK__OPCODE_REMOVE_WATCHES;
    watch.mode = 3; /* any */
    assert_int_equal(call(watch).err, 0);
    assert_true(call(watch).err != 0);
}

/* Takes what was added to `ops`. */
static struct uvzk__wire_reply call_multi(int32_t multi, size_t count)
{
    struct uvzk__wire_request request = {.opcode = multi};

    assert_int_equal(uvzk__jute_list_of(&ops, count, &request.ops), 0);
    struct uvzk__wire_reply reply = call(request);
    assert_int_equal(reply.err, 0);
    assert_int_equal(reply.results.count, count);
    uvzk__jute_writer_clear(&ops);
    return reply;
}

static void add_op(int32_t multi, int32_t opcode, const char *path, int32_t mode)
{
    struct uvzk__wire_request op = request_for(opcode, path);

    op.mode = mode;
    uvzk__wire_op_add(&ops, multi, &op);
}

static struct uvzk__wire_reply next_result(struct uvzk__wire_reply *reply)
{
    struct uvzk__wire_reply result;

    assert_true(uvzk__wire_result_next(&reply->results, reply->opcode, &result));
    if (result.opcode == UVZK__OPCODE_CREATE2) {
        assert_true(result.stat.czxid == reply->zxid);
    }
    return result;
}

static void assert_result(struct uvzk__wire_reply *reply, int32_t opcode, int32_t err)
{
    struct uvzk__wire_reply result = next_result(reply);

    assert_int_equal(result.opcode, opcode);
    assert_int_equal(result.body_err, err);
}

static void a_transaction_creates_containers_too(void **state)
{
    (void)state;
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_CREATE_CONTAINER, "/c", 4);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_CREATE2, "/c/a", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_CREATE, "/c/b", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_CHECK, "/c", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_SET_DATA, "/c/b", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_DELETE, "/c/b", 0);
    struct uvzk__wire_reply reply = call_multi(UVZK__OPCODE_MULTI, 6);
    assert_result(&reply, UVZK__OPCODE_CREATE2, 0);
    assert_bytes(next_result(&reply).path, "/c/a"); /* of CREATE2: see wire_reply.h */
    assert_result(&reply, UVZK__OPCODE_CREATE, 0);
    assert_result(&reply, UVZK__OPCODE_CHECK, 0);
    assert_result(&reply, UVZK__OPCODE_SET_DATA, 0);
    assert_result(&reply, UVZK__OPCODE_DELETE, 0);
}

static void a_failed_transaction_has_an_error_for_each_operation(void **state)
{
    (void)state;
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_CHECK, "/w", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_DELETE, "/none", 0);
    add_op(UVZK__OPCODE_MULTI, UVZK__OPCODE_SET_DATA, "/w", 0);
    struct uvzk__wire_reply reply = call_multi(UVZK__OPCODE_MULTI, 3);
    assert_result(&reply, UVZK__OPCODE_ERROR, 0);
    assert_result(&reply, UVZK__OPCODE_ERROR, NONODE);
    assert_result(&reply, UVZK__OPCODE_ERROR, RUNTIMEINCONSISTENCY);
}

static void several_reads_are_one_request(void **state)
{
    (void)state;
    add_op(UVZK__OPCODE_MULTI_READ, UVZK__OPCODE_GET_DATA, "/w", 0);
    add_op(UVZK__OPCODE_MULTI_READ, UVZK__OPCODE_GET_CHILDREN, "/none", 0);
    add_op(UVZK__OPCODE_MULTI_READ, UVZK__OPCODE_GET_CHILDREN, "/", 0);
    struct uvzk__wire_reply reply = call_multi(UVZK__OPCODE_MULTI_READ, 3);
    assert_result(&reply, UVZK__OPCODE_GET_DATA, 0);
    assert_result(&reply, UVZK__OPCODE_ERROR, NONODE);
    assert_result(&reply, UVZK__OPCODE_GET_CHILDREN, 0);
}

static void all_watches_are_set_again(void **state)
{
    struct uvzk__wire_request request = {
        .xid = UVZK__XID_SET_WATCHES, .opcode = UVZK__OPCODE_SET_WATCHES2, .zxid = 1};
    (void)state;

    uvzk__jute_put_bytes(&watches, uvzk__jute_text("/w"));
    for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
        assert_int_equal(uvzk__jute_list_of(&watches, 1, &request.watches[i]), 0);
    }
    event_count = 0;
    assert_int_equal(call(request).err, 0);
    assert_true(event_count > 0); /* much has changed since the first transaction */
    request.opcode = UVZK__OPCODE_SET_WATCHES;
    assert_int_equal(call(request).err, 0);
}

static void the_session_is_closed(void **state)
{
    struct uvzk__wire_request ttl = request_for(UVZK__OPCODE_CREATE_TTL, "/t");
    struct uvzk__wire_request ping = {.xid = UVZK__XID_PING, .opcode = UVZK__OPCODE_PING};
    struct uvzk__wire_request auth = {.xid = UVZK__XID_AUTH,
                                      .opcode = UVZK__OPCODE_AUTH,
                                      .scheme = uvzk__jute_text("digest"),
                                      .data = uvzk__jute_text("u:p")};
    (void)state;

    ttl.mode = 5; /* persistent with a time to live */
    ttl.ttl_ms = 100000;
    assert_int_equal(call(ttl).err, 0);
    assert_bytes(call_for(UVZK__OPCODE_SYNC, "/w").path, "/w");
    assert_int_equal(call_for(UVZK__OPCODE_GET_CHILDREN2, "/w").children.count, 1);
    assert_int_equal(call(ping).err, 0);
    assert_int_equal(call(auth).err, 0);
    assert_int_equal(call(request_for(UVZK__OPCODE_EXISTS, "/none")).err, NONODE);
    assert_int_equal(
        call((struct uvzk__wire_request){.opcode = UVZK__OPCODE_CLOSE_SESSION}).err, 0);
    assert_int_equal(recv(fd, received, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_persistent_recursive_watch_fires),
        cmocka_unit_test(a_transaction_creates_containers_too),
        cmocka_unit_test(a_failed_transaction_has_an_error_for_each_operation),
        cmocka_unit_test(several_reads_are_one_request),
        cmocka_unit_test(all_watches_are_set_again),
        cmocka_unit_test(the_session_is_closed),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
