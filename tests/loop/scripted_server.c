/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted server (scripted_server.h). */
#include "scripted_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discovery/sockets.h"

#include "native/digest_md5.h"

#define FRAME_MAX (4U << 20)

struct scripted_connection {
    uv_tcp_t socket;
    struct scripted_server *server;
    struct scripted_connection *next;
    bool established; /* it is not a probe's */
    unsigned char *in;
    size_t in_length, in_capacity;
};

/* ------------------------------------------------------------------------ connections */

static void freed(uv_handle_t *handle)
{
    struct scripted_connection *connection = handle->data;

    free(connection->in);
    free(connection);
}

static void drop(struct scripted_connection *connection)
{
    struct scripted_connection **link = &connection->server->connections;

    while (*link != NULL && *link != connection) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = connection->next;
        uv_close((uv_handle_t *)&connection->socket, freed);
    }
}

static struct scripted_connection *current(struct scripted_server *server)
{
    struct scripted_connection *connection = server->connections;

    while (connection != NULL && !connection->established) {
        connection = connection->next;
    }
    assert_non_null(connection);
    return connection;
}

/* ---------------------------------------------------------------------------- sending */

struct outgoing {
    uv_write_t write;
    size_t at, length;
    bool in_pieces;
    unsigned char bytes[];
};

static void written(uv_write_t *write, int status);

static void write_next(struct outgoing *outgoing, uv_stream_t *stream)
{
    size_t count = outgoing->in_pieces ? 1 : outgoing->length;
    uv_buf_t buffer =
        uv_buf_init((char *)outgoing->bytes + outgoing->at, (unsigned)count);

    outgoing->at += count;
    if (uv_write(&outgoing->write, stream, &buffer, 1, written) < 0) {
        free(outgoing);
    }
}

static void written(uv_write_t *write, int status)
{
    struct outgoing *outgoing = (struct outgoing *)(void *)write;

    if (status == 0 && outgoing->at < outgoing->length) {
        write_next(outgoing, write->handle);
    } else {
        free(outgoing);
    }
}

static void send_bytes(struct scripted_connection *connection, const void *bytes,
                       size_t length)
{
    struct outgoing *outgoing = calloc(1, sizeof(*outgoing) + length);

    assert_non_null(outgoing);
    memcpy(outgoing->bytes, bytes, length);
    outgoing->length = length;
    outgoing->in_pieces = connection->server->in_pieces;
    write_next(outgoing, (uv_stream_t *)&connection->socket);
}

static void send_reply(struct scripted_connection *connection,
                       const struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_reply_write(&writer, FRAME_MAX, reply), 0);
    send_bytes(connection, writer.bytes, writer.length);
    uvzk__jute_writer_end(&writer);
}

static void answer(struct scripted_connection *connection, int32_t xid, int32_t opcode,
                   int32_t err)
{
    const struct uvzk__wire_reply reply = {
        .xid = xid, .opcode = opcode, .err = err, .zxid = connection->server->zxid++};

    send_reply(connection, &reply);
}

/* ------------------------------------------------------------------------- the record */

__attribute__((format(printf, 2, 3))) static void note(struct scripted_server *server,
                                                       const char *format, ...)
{
    size_t at = strlen(server->heard);
    va_list arguments;

    if (at > sizeof(server->heard) - 600) {
        return; /* a test that reads the record clears it */
    }
    if (at > 0) {
        at += (size_t)snprintf(server->heard + at, sizeof(server->heard) - at, "; ");
    }
    va_start(arguments, format);
    vsnprintf(server->heard + at, sizeof(server->heard) - at, format, arguments);
    va_end(arguments);
}

const char *scripted_server_heard(struct scripted_server *server)
{
    static char heard[sizeof(server->heard)];

    memcpy(heard, server->heard, sizeof(heard));
    server->heard[0] = '\0';
    return heard;
}

static const char *name_of(int32_t opcode)
{
    static const char *const names[] = {[UVZK__OPCODE_CREATE] = "old create",
                                        [UVZK__OPCODE_CREATE2] = "create",
                                        [UVZK__OPCODE_DELETE] = "delete",
                                        [UVZK__OPCODE_SET_DATA] = "set",
                                        [UVZK__OPCODE_GET_DATA] = "get",
                                        [UVZK__OPCODE_EXISTS] = "exists",
                                        [UVZK__OPCODE_SYNC] = "sync",
                                        [UVZK__OPCODE_GET_CHILDREN] = "children",
                                        [UVZK__OPCODE_CREATE_CONTAINER] = "container",
                                        [UVZK__OPCODE_REMOVE_WATCHES] = "remove",
                                        [UVZK__OPCODE_ADD_WATCH] = "add watch"};

    assert_in_range(opcode, 0, sizeof(names) / sizeof(names[0]) - 1);
    assert_non_null(names[opcode]);
    return names[opcode];
}

/* The paths of a list, for the record. */
static void note_paths(struct scripted_server *server, const char *what,
                       struct uvzk__jute_list paths)
{
    struct uvzk__jute_bytes path;

    while (uvzk__jute_strings_next(&paths, &path)) {
        note(server, "rearm %s %.*s", what, (int)path.length, (const char *)path.at);
    }
}

static void note_multi(struct scripted_server *server, struct uvzk__jute_list ops)
{
    struct uvzk__wire_request op;

    while (uvzk__wire_op_next(&ops, UVZK__OPCODE_MULTI, &op)) {
        note(server, "op %.*s", (int)op.path.length, (const char *)op.path.at);
    }
}

/* ------------------------------------------------------------------ what clients say */

static void answer_multi(struct scripted_connection *connection,
                         const struct uvzk__wire_request *request)
{
    struct uvzk__jute_list ops = request->ops;
    struct uvzk__wire_request op;
    struct uvzk__jute_writer results;
    struct uvzk__wire_reply reply = {.xid = request->xid,
                                     .opcode = UVZK__OPCODE_MULTI,
                                     .zxid = connection->server->zxid++};
    size_t count = 0;

    uvzk__jute_writer_init(&results);
    while (uvzk__wire_op_next(&ops, UVZK__OPCODE_MULTI, &op)) {
        const struct uvzk__wire_reply result = {.opcode = op.opcode, .path = op.path};
        uvzk__wire_result_add(&results, UVZK__OPCODE_MULTI, &result);
        count++;
    }
    assert_int_equal(uvzk__jute_list_of(&results, count, &reply.results), 0);
    send_reply(connection, &reply);
    uvzk__jute_writer_end(&results);
}

static void answer_request(struct scripted_connection *connection,
                           const struct uvzk__wire_request *request)
{
    if (request->opcode == UVZK__OPCODE_MULTI) {
        answer_multi(connection, request);
        return;
    }
    const struct uvzk__wire_reply reply = {.xid = request->xid,
                                           .opcode = request->opcode,
                                           .zxid = connection->server->zxid++,
                                           .path = request->path};
    send_reply(connection, &reply);
}

static void hear_rearm(struct scripted_connection *connection,
                       const struct uvzk__wire_request *request, size_t length)
{
    struct scripted_server *server = connection->server;

    server->rearms++;
    if (length > server->longest_rearm) {
        server->longest_rearm = length;
    }
    note(server, "rearm from %lld", (long long)request->zxid);
    note_paths(server, "data", request->watches[UVZK__WATCHES_DATA]);
    note_paths(server, "exist", request->watches[UVZK__WATCHES_EXIST]);
    note_paths(server, "child", request->watches[UVZK__WATCHES_CHILD]);
    if (server->drops_rearms) {
        drop(connection);
    } else if (!server->silent && !server->ignores_rearms &&
               (server->answers_rearms == 0 ||
                server->rearms <= server->answers_rearms)) {
        answer(connection, request->xid, request->opcode, server->refuses_rearms);
    }
}

static void hear_request(struct scripted_connection *connection,
                         const struct uvzk__wire_request *request)
{
    struct scripted_server *server = connection->server;

    server->requests++;
    server->last_xid = request->xid;
    if (request->opcode == UVZK__OPCODE_MULTI) {
        note_multi(server, request->ops);
    } else if (request->opcode == UVZK__OPCODE_REMOVE_WATCHES ||
               request->opcode == UVZK__OPCODE_ADD_WATCH) {
        note(server, "%s %.*s %d", name_of(request->opcode), (int)request->path.length,
             (const char *)request->path.at, request->mode);
    } else {
        note(server, "%s %.*s%s", name_of(request->opcode), (int)request->path.length,
             (const char *)request->path.at, request->watch ? " watched" : "");
    }
    if (server->answers && !server->silent) {
        answer_request(connection, request);
    }
}

/* ---------------------------------------------------------------------- the questions */

#define ERR_UNIMPLEMENTED (-6)
#define ERR_NO_NODE (-101)
#define ERR_NO_WATCHER (-121)

static bool is_question(const struct uvzk__wire_request *request)
{
    return request->path.length == strlen(UVZK__DIALECT_PATH) &&
           memcmp(request->path.at, UVZK__DIALECT_PATH, request->path.length) == 0;
}

static enum uvzk__feature asked_feature(const struct uvzk__wire_request *request)
{
    switch (request->opcode) {
    case UVZK__OPCODE_CREATE2:
        return UVZK__FEATURE_CREATE2;
    case UVZK__OPCODE_CREATE_CONTAINER:
        return UVZK__FEATURE_CONTAINERS;
    case UVZK__OPCODE_ADD_WATCH:
        return UVZK__FEATURE_PERSISTENT;
    default:
        assert_int_equal(request->opcode, UVZK__OPCODE_REMOVE_WATCHES);
        return UVZK__FEATURE_REMOVAL;
    }
}

/* With zxid 0, so that the questions leave no trace in the records of tests. */
static void answer_question(struct scripted_connection *connection,
                            const struct uvzk__wire_request *request, int32_t err)
{
    send_reply(connection, &(struct uvzk__wire_reply){.xid = request->xid,
                                                      .opcode = request->opcode,
                                                      .err = err});
}

/* AddWatchMode, and WatcherType.Any. */
enum { PERSISTENT_RECURSIVE = 1, ANY_WATCHES = 3 };

/* The watch that a question sets is removed by another one. */
static int32_t result_of_question(struct scripted_server *server,
                                  enum uvzk__feature feature, int32_t mode)
{
    bool is_set = server->question_sets_watch;

    if (feature == UVZK__FEATURE_PERSISTENT) {
        assert_int_equal(mode, PERSISTENT_RECURSIVE); /* others are logged as errors */
        server->question_sets_watch = true;
        return 0;
    }
    if (feature == UVZK__FEATURE_REMOVAL && mode == ANY_WATCHES) {
        server->question_sets_watch = false;
        return is_set ? 0 : ERR_NO_WATCHER;
    }
    return ERR_NO_NODE;
}

static void hear_question(struct scripted_connection *connection,
                          const struct uvzk__wire_request *request)
{
    struct scripted_server *server = connection->server;
    enum uvzk__feature feature = asked_feature(request);

    server->questions++;
    if (server->ignores_questions) {
        return;
    }
    if (server->unknown & 1U << feature) {
        if (server->unimplemented) {
            answer_question(connection, request, ERR_UNIMPLEMENTED);
        }
        drop(connection);
    } else {
        answer_question(connection, request,
                        result_of_question(server, feature, request->mode));
    }
}

/* What the user's client has to be answered: its own response has the random text. */
static void prove(const struct uvzk__wire_request *request, const char *password,
                  char proof[64])
{
    struct uvzk__digest_challenge challenge = {"zk-sasl-md5", "n0nce", true};
    struct uvzk__jute_writer ignored;
    char cnonce[33], expected[UVZK__MD5_TEXT];
    const char *at = memmem(request->data.at, request->data.length, "cnonce=\"", 8);

    assert_non_null(at);
    memcpy(cnonce, at + 8, 32);
    cnonce[32] = '\0';
    const struct uvzk__digest_client client = {"bob", password, cnonce};
    uvzk__jute_writer_init(&ignored);
    assert_int_equal(uvzk__digest_respond(&challenge, &client, &ignored, expected), 0);
    /* The client's response is the right one. */
    if (strcmp(password, "secret") == 0) {
        assert_int_equal(ignored.length, request->data.length);
        assert_memory_equal(ignored.bytes, request->data.at, ignored.length);
    }
    uvzk__jute_writer_end(&ignored);
    snprintf(proof, 64, "rspauth=%s", expected);
}

static void answer_sasl(struct scripted_connection *connection, int32_t xid, int32_t err,
                        const char *token)
{
    const struct uvzk__wire_reply reply = {.xid = xid,
                                           .opcode = UVZK__OPCODE_SASL,
                                           .err = err,
                                           .data = uvzk__jute_text(token)};

    send_reply(connection, &reply);
}

static void hear_sasl(struct scripted_connection *connection,
                      const struct uvzk__wire_request *request)
{
    static const char challenge[] = "realm=\"zk-sasl-md5\",nonce=\"n0nce\",charset=utf-8,"
                                    "algorithm=md5-sess";
    struct scripted_server *server = connection->server;
    bool first = request->data.length == 0;
    int32_t xid = server->sasl == SASL_STRANGE ? 1 : request->xid;
    char proof[64];

    note(server, first ? "sasl" : "response");
    switch (server->sasl) {
    case SASL_SILENT:
        return;
    case SASL_ABSENT:
        answer_sasl(connection, xid, 0, NULL);
        return;
    case SASL_BABBLES:
        answer_sasl(connection, xid, 0, "nonce");
        return;
    default:
        break;
    }
    if (first) {
        answer_sasl(connection, xid, 0, challenge);
    } else if (server->sasl == SASL_REFUSES || server->sasl == SASL_DEMANDS) {
        answer_sasl(connection, xid, server->sasl == SASL_REFUSES ? -115 : -124, NULL);
        drop(connection);
    } else {
        prove(request, server->sasl == SASL_IMPOSTOR ? "other" : "secret", proof);
        answer_sasl(connection, xid, 0, server->sasl == SASL_LAX ? NULL : proof);
    }
}

static void hear(struct scripted_connection *connection, struct uvzk__jute_bytes frame)
{
    struct scripted_server *server = connection->server;
    struct uvzk__wire_request request;

    assert_int_equal(uvzk__wire_request_read(frame, &request), 0);
    if (server->demands && request.opcode != UVZK__OPCODE_SASL) {
        answer(connection, request.xid, UVZK__OPCODE_AUTH, -124);
        drop(connection);
        return;
    }
    if (is_question(&request)) {
        hear_question(connection, &request);
        return;
    }
    switch (request.opcode) {
    case UVZK__OPCODE_PING:
        server->pings++;
        if (!server->silent && !server->ignores_pings) {
            answer(connection, UVZK__XID_PING, UVZK__OPCODE_PING, 0);
        }
        break;
    case UVZK__OPCODE_AUTH:
        note(server, "auth %.*s", (int)request.scheme.length,
             (const char *)request.scheme.at);
        answer(connection, UVZK__XID_AUTH, UVZK__OPCODE_AUTH, server->auth_err);
        break;
    case UVZK__OPCODE_SASL:
        hear_sasl(connection, &request);
        break;
    case UVZK__OPCODE_CLOSE_SESSION:
        server->closes++;
        note(server, "close");
        if (!server->silent) {
            drop(connection);
        }
        break;
    case UVZK__OPCODE_SET_WATCHES:
        hear_rearm(connection, &request, frame.length);
        break;
    default:
        hear_request(connection, &request);
    }
}

/* ------------------------------------------------------------------ connect requests */

static void grant(struct scripted_connection *connection, int64_t session_id,
                  int32_t timeout_ms)
{
    const struct scripted_server *server = connection->server;
    const struct uvzk__connect_response response = {
        .timeout_ms = timeout_ms,
        .session_id = session_id,
        .password = uvzk__jute_bytes(server->password, sizeof(server->password)),
        .has_read_only = true,
        .read_only = server->read_only};
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_response_write(&writer, FRAME_MAX, &response), 0);
    send_bytes(connection, writer.bytes, writer.length);
    uvzk__jute_writer_end(&writer);
}

/* The discovery asks for a session that no server has created. */
static bool is_of_a_probe(const struct uvzk__connect_request *request)
{
    return (uint64_t)request->session_id >> 56 == 0xff;
}

static int join_queue(const struct scripted_server *server)
{
    struct uvzk__address address;
    int fd;

    assert_true(uvzk__address_read("127.0.0.1", server->port, &address));
    assert_int_equal(uvzk__socket_connect(&address, &fd), 0);
    return fd;
}

/* The kernel's queue has one place. libuv takes the first of the crowd from it, and then
 * no more, because that one is not accepted. */
static void fill(struct scripted_server *server)
{
    uv_os_fd_t listener;

    uv_fileno((uv_handle_t *)&server->listener, &listener);
    assert_int_equal(listen(listener, 0), 0);
    server->fills = false;
    server->full = true;
    server->crowd[0] = join_queue(server);
}

/* What it does when it has granted a session. */
static void misbehave(struct scripted_connection *connection)
{
    static const unsigned char of_no_request[4 + 16] = {0, 0, 0, 16, 0, 0, 0, 99};

    if (connection->server->breaks) {
        send_bytes(connection, of_no_request, sizeof(of_no_request));
    } else if (connection->server->drops_granted) {
        drop(connection);
    }
}

static void hear_connect(struct scripted_connection *connection,
                         struct uvzk__jute_bytes frame)
{
    struct scripted_server *server = connection->server;
    struct uvzk__connect_request request;

    assert_int_equal(uvzk__connect_request_read(frame, &request), 0);
    if (is_of_a_probe(&request)) {
        grant(connection, 0, 0);
        if (server->fills) {
            fill(server);
        }
        return;
    }
    connection->established = true;
    server->connects++;
    if (request.session_id != 0) {
        assert_int_equal(request.password.length, sizeof(server->password));
        assert_memory_equal(request.password.at, server->password,
                            sizeof(server->password));
    }
    note(server, "connect %llx zxid %lld", (unsigned long long)request.session_id,
         (long long)request.last_zxid);
    if (!server->silent) {
        grant(connection, server->session_id, server->timeout_ms);
        misbehave(connection);
    }
}

/* -------------------------------------------------------------------------- receiving */

static bool is_there(const struct scripted_server *server,
                     const struct scripted_connection *connection)
{
    const struct scripted_connection *at = server->connections;

    while (at != NULL && at != connection) {
        at = at->next;
    }
    return at != NULL;
}

/* A frame may end the connection. */
static void read_frames(struct scripted_connection *connection)
{
    struct scripted_server *server = connection->server;
    struct uvzk__jute_bytes frame;
    size_t at = 0;

    while (is_there(server, connection) &&
           uvzk__jute_frame(
               uvzk__jute_bytes(connection->in + at, connection->in_length - at),
               FRAME_MAX, &frame) == 0) {
        at += frame.length + 4;
        if (connection->established) {
            hear(connection, frame);
        } else {
            hear_connect(connection, frame);
        }
    }
    connection->in_length -= at;
    memmove(connection->in, connection->in + at, connection->in_length);
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct scripted_connection *connection = handle->data;
    size_t wanted = connection->in_length + suggested;

    if (connection->in_capacity < wanted) {
        connection->in = realloc(connection->in, wanted);
        assert_non_null(connection->in);
        connection->in_capacity = wanted;
    }
    *buffer =
        uv_buf_init((char *)connection->in + connection->in_length, (unsigned)suggested);
}

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct scripted_connection *connection = stream->data;

    (void)buffer;
    if (count < 0) {
        drop(connection);
    } else {
        connection->in_length += (size_t)count;
        read_frames(connection);
    }
}

static void accepted(uv_stream_t *listener, int status)
{
    struct scripted_server *server = listener->data;

    assert_int_equal(status, 0);
    if (server->full) {
        server->crowd[1] = join_queue(server);
        return;
    }
    struct scripted_connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->server = server;
    connection->next = server->connections;
    server->connections = connection;
    uv_tcp_init(server->loop, &connection->socket);
    connection->socket.data = connection;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&connection->socket), 0);
    uv_tcp_nodelay(&connection->socket, 1);
    if (!server->deaf) {
        uv_read_start((uv_stream_t *)&connection->socket, allocate, received);
    }
}

/* -------------------------------------------------------------------------- the calls */

void scripted_server_open(uv_loop_t *loop, struct scripted_server *server)
{
    struct sockaddr_in address;
    int length = sizeof(address);

    /* Its clients may close their connections while it writes. */
    (void)signal(SIGPIPE, SIG_IGN);
    memset(server, 0, sizeof(*server));
    server->loop = loop;
    server->session_id = 0x101;
    server->timeout_ms = 4000;
    server->answers = true;
    server->zxid = 1;
    server->event_zxid = -1;
    memset(server->password, 'p', sizeof(server->password));
    uv_tcp_init(loop, &server->listener);
    server->listener.data = server;
    uv_ip4_addr("127.0.0.1", 0, &address);
    assert_int_equal(uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&server->listener, 16, accepted), 0);
    uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &length);
    server->port = ntohs(address.sin_port);
    snprintf(server->hosts, sizeof(server->hosts), "127.0.0.1:%u", server->port);
}

void scripted_server_close(struct scripted_server *server)
{
    while (server->connections != NULL) {
        drop(server->connections);
    }
    uv_close((uv_handle_t *)&server->listener, NULL);
}

void scripted_server_listen(struct scripted_server *server, bool listens)
{
    server->deaf = !listens;
    for (struct scripted_connection *at = server->connections; at != NULL;
         at = at->next) {
        if (listens) {
            uv_read_start((uv_stream_t *)&at->socket, allocate, received);
        } else {
            uv_read_stop((uv_stream_t *)&at->socket);
        }
    }
}

void scripted_server_drain(struct scripted_server *server)
{
    uv_os_fd_t listener;

    uv_fileno((uv_handle_t *)&server->listener, &listener);
    assert_int_equal(listen(listener, 16), 0);
    server->full = false;
    close(server->crowd[0]);
    close(server->crowd[1]);
    accepted((uv_stream_t *)&server->listener, 0);
}

void scripted_server_drop(struct scripted_server *server)
{
    drop(current(server));
}

void scripted_server_reply(struct scripted_server *server, int32_t xid, int32_t opcode,
                           int32_t err)
{
    answer(current(server), xid, opcode, err);
}

void scripted_server_event(struct scripted_server *server, int32_t event,
                           const char *path)
{
    const struct uvzk__wire_reply reply = {.xid = UVZK__XID_EVENT,
                                           .zxid = server->event_zxid,
                                           .opcode = UVZK__OPCODE_EVENT,
                                           .event = event,
                                           .state = 3,
                                           .path = uvzk__jute_text(path)};

    send_reply(current(server), &reply);
}

void scripted_server_send(struct scripted_server *server, const void *bytes,
                          size_t length)
{
    send_bytes(current(server), bytes, length);
}
