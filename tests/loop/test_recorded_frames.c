/* SPDX-License-Identifier: Apache-2.0 */
/* What the C client and a server really send each other is read, and written again with
 * the same bytes. */
#define THREADED /* the C client's blocking calls */
#include "frames.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "native/wire_reply.h"
#include "native/wire_request.h"
#include "recorder.h"
#include "server.h"

#define SESSION_MS 1200
#define PATIENCE_S 20
#define FRAMES_MAX 256
#define OPCODE_COUNT 128
/* The opcode of CLOSE_SESSION, where it is an index. */
#define CLOSE_SESSION_AT 127

static struct server *server;
static struct recorder recorder;

/* The requests of one connection, in their order. */
static struct {
    int32_t xid, opcode;
} requests[FRAMES_MAX];
static size_t request_count;
/* How often each opcode was seen. */
static int sent[OPCODE_COUNT], answered[OPCODE_COUNT];

static size_t index_of(int32_t opcode)
{
    return opcode == UVZK__OPCODE_CLOSE_SESSION ? CLOSE_SESSION_AT : (size_t)opcode;
}

/* ------------------------------------------------------------- the session */

static void ignore_event(zhandle_t *zh, int type, int state, const char *path,
                         void *context)
{
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void ignore_line(const char *line)
{
    (void)line;
}

static void ignore_string(int rc, const char *value, const void *data)
{
    (void)rc;
    (void)value;
    (void)data;
}

static void ignore_void(int rc, const void *data)
{
    (void)rc;
    (void)data;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t connected = PTHREAD_COND_INITIALIZER;
static int connections; /* of the session so far */

static void on_session(zhandle_t *zh, int type, int state, const char *path,
                       void *context)
{
    (void)zh;
    (void)path;
    (void)context;
    pthread_mutex_lock(&mutex);
    connections += type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE;
    pthread_cond_broadcast(&connected);
    pthread_mutex_unlock(&mutex);
}

/* Until the session has been connected so many times, and requests are answered. */
static void await_connected(zhandle_t *zh, int times)
{
    struct timespec deadline;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&mutex);
    while (connections < times && status == 0) {
        status = pthread_cond_timedwait(&connected, &mutex, &deadline);
    }
    pthread_mutex_unlock(&mutex);
    assert_int_equal(status, 0);
    assert_int_equal(zoo_exists(zh, "/", 0, NULL), ZOK);
}

static void create_znodes(zhandle_t *zh)
{
    struct ACL_vector *acl = &ZOO_OPEN_ACL_UNSAFE;
    char made[64];
    struct Stat stat;

    assert_int_equal(zoo_create(zh, "/w", NULL, -1, acl, 0, made, sizeof(made)), ZOK);
    assert_int_equal(zoo_create2(zh, "/w/e-", "data", 4, acl, ZOO_EPHEMERAL_SEQUENTIAL,
                                 made, sizeof(made), &stat),
                     ZOK);
    assert_int_equal(zoo_create(zh, "/w/c", "", 0, acl, ZOO_CONTAINER, NULL, 0), ZOK);
    assert_int_equal(zoo_create_ttl(zh, "/w/t", NULL, -1, acl, ZOO_PERSISTENT_WITH_TTL,
                                    100000, NULL, 0),
                     ZOK);
    assert_int_equal(zoo_create(zh, "/w", NULL, -1, acl, 0, NULL, 0), ZNODEEXISTS);
}

static void read_znodes(zhandle_t *zh)
{
    char data[16];
    int length = sizeof(data);
    struct Stat stat;
    struct String_vector names;

    assert_int_equal(zoo_wget(zh, "/w", ignore_event, NULL, data, &length, &stat), ZOK);
    assert_int_equal(zoo_wexists(zh, "/none", ignore_event, NULL, &stat), ZNONODE);
    assert_int_equal(zoo_wget_children(zh, "/w", ignore_event, NULL, &names), ZOK);
    deallocate_String_vector(&names);
    assert_int_equal(zoo_get_children2(zh, "/w/t", 0, &names, &stat), ZOK);
    deallocate_String_vector(&names);
    assert_int_equal(zoo_async(zh, "/w", ignore_string, NULL), ZOK);
    assert_int_equal(zoo_set2(zh, "/w", "value", 5, -1, &stat), ZOK); /* an event */
    assert_int_equal(zoo_delete(zh, "/w/t", 7), ZBADVERSION);
    assert_int_equal(zoo_delete(zh, "/w/t", 0), ZOK); /* an event */
}

static void write_multis(zhandle_t *zh)
{
    struct Stat stat;
    char made[64];
    zoo_op_result_t results[4];
    zoo_op_t ops[4];

    zoo_create_op_init(&ops[0], "/w/m-", "d", 1, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL_SEQUENTIAL, made, sizeof(made));
    zoo_check_op_init(&ops[1], "/w", -1);
    zoo_set_op_init(&ops[2], "/w", NULL, -1, -1, &stat);
    zoo_delete_op_init(&ops[3], "/w/c", -1);
    assert_int_equal(zoo_multi(zh, 4, ops, results), ZOK);
    assert_int_equal(zoo_multi(zh, 4, ops, results), ZNONODE);
    assert_int_equal(zoo_multi(zh, 0, ops, results), ZOK);
}

static void remove_watches(zhandle_t *zh)
{
    assert_int_equal(zoo_wexists(zh, "/other", ignore_event, NULL, NULL), ZNONODE);
    assert_int_equal(
        zoo_remove_watches(zh, "/other", ZWATCHTYPE_ANY, ignore_event, NULL, 0), ZOK);
    assert_int_equal(zoo_wexists(zh, "/third", ignore_event, NULL, NULL), ZNONODE);
    assert_int_equal(zoo_remove_all_watches(zh, "/third", ZWATCHTYPE_ANY, 0), ZOK);
}

/* A session that sends every kind of request that the C client has. */
static void record_session(void)
{
    zhandle_t *zh = zookeeper_init2(recorder.hosts, on_session, SESSION_MS, NULL, NULL,
                                    ZOO_NO_LOG_CLIENTENV, ignore_line);

    assert_non_null(zh);
    await_connected(zh, 1);
    assert_int_equal(zoo_add_auth(zh, "digest", "u:p", 3, ignore_void, NULL), ZOK);
    create_znodes(zh);
    read_znodes(zh);
    write_multis(zh);
    remove_watches(zh);
    assert_true(recorder_await_request(&recorder)); /* a ping */
    assert_int_equal(zoo_exists(zh, "/", 0, NULL), ZOK);
    assert_true(recorder_cut(&recorder));
    await_connected(zh, 2);
    assert_int_equal(zookeeper_close(zh), ZOK);
    recorder_stop(&recorder);
}

/* --------------------------------------------------------------- its bytes */

static struct uvzk__jute_bytes next_frame(struct recording *left)
{
    struct uvzk__jute_bytes frame;

    assert_int_equal(uvzk__jute_frame(uvzk__jute_bytes(left->bytes, left->length),
                                      UVZK__JUTE_MAXBUFFER, &frame),
                     0);
    left->bytes += frame.length + 4;
    left->length -= frame.length + 4;
    return frame;
}

static void assert_same(const struct uvzk__jute_writer *writer,
                        struct uvzk__jute_bytes frame)
{
    assert_int_equal(writer->length, frame.length + 4);
    assert_memory_equal(writer->bytes + 4, frame.at, frame.length);
}

static void check_request(struct uvzk__jute_bytes frame, struct uvzk__jute_writer *writer)
{
    struct uvzk__wire_request request;

    assert_int_equal(uvzk__wire_request_read(frame, &request), 0);
    assert_int_equal(uvzk__wire_request_write(writer, UVZK__JUTE_MAXBUFFER, &request), 0);
    assert_same(writer, frame);
    assert_true(request_count < FRAMES_MAX);
    requests[request_count].xid = request.xid;
    requests[request_count++].opcode = request.opcode;
    sent[index_of(request.opcode)]++;
}

static int32_t opcode_of(int32_t xid)
{
    for (size_t i = 0; i < request_count; i++) {
        if (requests[i].xid == xid) {
            return requests[i].opcode;
        }
    }
    assert_int_equal(xid, UVZK__XID_EVENT);
    return UVZK__OPCODE_EVENT;
}

static void check_reply(struct uvzk__jute_bytes frame, struct uvzk__jute_writer *writer)
{
    struct uvzk__wire_reply reply;

    assert_int_equal(uvzk__wire_reply_read_header(frame, &reply), 0);
    assert_int_equal(uvzk__wire_reply_read(frame, opcode_of(reply.xid), &reply), 0);
    assert_int_equal(uvzk__wire_reply_write(writer, UVZK__JUTE_MAXBUFFER, &reply), 0);
    assert_same(writer, frame);
    answered[index_of(reply.opcode)]++;
}

static void check_connect(struct recording *request_bytes, struct recording *reply_bytes)
{
    struct uvzk__connect_request request;
    struct uvzk__connect_response response;
    struct uvzk__jute_bytes frame = next_frame(request_bytes);
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_request_read(frame, &request), 0);
    assert_int_equal(request.timeout_ms, SESSION_MS);
    assert_int_equal(uvzk__connect_request_write(&writer, UVZK__JUTE_MAXBUFFER, &request),
                     0);
    assert_same(&writer, frame);
    uvzk__jute_writer_clear(&writer);
    frame = next_frame(reply_bytes);
    assert_int_equal(uvzk__connect_response_read(frame, &response), 0);
    assert_int_equal(response.timeout_ms, SESSION_MS);
    assert_int_equal(response.password.length, 16);
    assert_int_equal(
        uvzk__connect_response_write(&writer, UVZK__JUTE_MAXBUFFER, &response), 0);
    assert_same(&writer, frame);
    uvzk__jute_writer_end(&writer);
}

static void check_connection(size_t connection)
{
    struct recording request_bytes = recorder.requests[connection];
    struct recording reply_bytes = recorder.replies[connection];
    struct uvzk__jute_writer writer;

    request_count = 0;
    check_connect(&request_bytes, &reply_bytes);
    uvzk__jute_writer_init(&writer);
    for (; request_bytes.length > 0; uvzk__jute_writer_clear(&writer)) {
        check_request(next_frame(&request_bytes), &writer);
    }
    for (; reply_bytes.length > 0; uvzk__jute_writer_clear(&writer)) {
        check_reply(next_frame(&reply_bytes), &writer);
    }
    uvzk__jute_writer_end(&writer);
}

static void what_the_c_client_and_a_server_send_is_the_same_again(void **state)
{
    static const int32_t opcodes[] = {
        UVZK__OPCODE_CREATE,         UVZK__OPCODE_CREATE2,
        UVZK__OPCODE_CREATE_TTL,     UVZK__OPCODE_DELETE,
        UVZK__OPCODE_SET_DATA,       UVZK__OPCODE_GET_DATA,
        UVZK__OPCODE_EXISTS,         UVZK__OPCODE_GET_CHILDREN,
        UVZK__OPCODE_GET_CHILDREN2,  UVZK__OPCODE_SYNC,
        UVZK__OPCODE_MULTI,          UVZK__OPCODE_CHECK_WATCHES,
        UVZK__OPCODE_AUTH,           UVZK__OPCODE_SET_WATCHES,
        UVZK__OPCODE_PING,           UVZK__OPCODE_CREATE_CONTAINER,
        UVZK__OPCODE_REMOVE_WATCHES, UVZK__OPCODE_CLOSE_SESSION};
    (void)state;

    record_session();
    assert_int_equal(recorder.connections, 2);
    for (size_t i = 0; i < recorder.connections; i++) {
        check_connection(i);
    }
    for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
        if (sent[index_of(opcodes[i])] == 0 || answered[index_of(opcodes[i])] == 0) {
            fail_msg("opcode %d: %d sent, %d answered", opcodes[i],
                     sent[index_of(opcodes[i])], answered[index_of(opcodes[i])]);
        }
    }
    assert_true(answered[UVZK__OPCODE_EVENT] > 0);
}

static int begin(void **state)
{
    (void)state;
    server = server_start(NULL);
    return server != NULL && recorder_start(&recorder, server_port(server)) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    recorder_free(&recorder);
    server_stop(server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_c_client_and_a_server_send_is_the_same_again),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
