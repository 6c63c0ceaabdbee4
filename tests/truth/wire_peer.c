/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_peer.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire_socket.h"

#define FRAME_MAX (2U << 20)
#define TIMEOUT_MS 4000 /* within the limits of both */

static unsigned char received[FRAME_MAX];

/* ------------------------------------------------------------------------------- telling */

__attribute__((format(printf, 2, 3))) static void tell(struct wire_side *side,
                                                       const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(side->text + side->length, sizeof(side->text) - side->length,
                           format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof(side->text) - side->length - 1);
    side->length += (size_t)length;
}

void wire_side_clear(struct wire_side *side)
{
    side->length = 0;
    side->text[0] = '\0';
}

static int by_text(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

void wire_side_sort(struct wire_side *side)
{
    char *lines[1024], *copy = strdup(side->text), *rest;
    size_t count = 0;

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_in_range(count, 0, 1023);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(lines[0]), by_text);
    wire_side_clear(side);
    for (size_t i = 0; i < count; i++) {
        tell(side, "%s\n", lines[i]);
    }
    free(copy);
}

/* -1 and 0 are no transactions. */
static int64_t relative(const struct wire_side *side, int64_t zxid)
{
    return zxid <= 0 ? zxid : zxid - side->first_zxid;
}

/* The number of the peer whose session it is; -1: none, -2: an unknown one. */
static int session_number(const struct wire_side *side, int64_t id)
{
    for (int i = 0; i < WIRE_PEERS_MAX; i++) {
        if (id != 0 && side->sessions[i] == id) {
            return i;
        }
    }
    return id == 0 ? -1 : -2;
}

static void tell_bytes(struct wire_side *side, const char *what,
                       struct uvzk__jute_bytes bytes)
{
    if (bytes.at == NULL) {
        tell(side, " %s null", what);
    } else {
        tell(side, " %s \"%.*s\"", what, (int)bytes.length, (const char *)bytes.at);
    }
}

static void tell_stat(struct wire_side *side, const struct uvzk__wire_stat *stat)
{
    tell(side,
         " stat c%" PRId64 " m%" PRId64 " p%" PRId64 " v%d cv%d av%d owner%d data%d "
         "children%d set%d",
         relative(side, stat->czxid), relative(side, stat->mzxid),
         relative(side, stat->pzxid), stat->version, stat->cversion, stat->aversion,
         session_number(side, stat->ephemeral_owner), stat->data_length,
         stat->child_count, stat->mtime_ms >= stat->ctime_ms);
}

/* Servers list them in no defined order. */
static void tell_children(struct wire_side *side, struct uvzk__jute_list children)
{
    char *names[256];
    size_t count = 0;
    struct uvzk__jute_bytes name;

    while (uvzk__jute_strings_next(&children, &name)) {
        assert_in_range(count, 0, 255);
        names[count++] = strndup((const char *)name.at, name.length);
    }
    qsort(names, count, sizeof(names[0]), by_text);
    tell(side, " children");
    for (size_t i = 0; i < count; i++) {
        tell(side, " %s", names[i]);
        free(names[i]);
    }
}

static void tell_body(struct wire_side *side, const struct uvzk__wire_reply *reply);

static void tell_results(struct wire_side *side, struct uvzk__jute_list results)
{
    struct uvzk__wire_reply result;

    while (uvzk__wire_result_next(&results, UVZK__OPCODE_MULTI, &result)) {
        tell(side, " [%d", result.opcode);
        tell_body(side, &result);
        tell(side, "]");
    }
}

static void tell_body(struct wire_side *side, const struct uvzk__wire_reply *reply)
{
    switch (reply->opcode) {
    case UVZK__OPCODE_CREATE:
    case UVZK__OPCODE_SYNC:
        tell_bytes(side, "path", reply->path);
        break;
    case UVZK__OPCODE_CREATE2:
    case UVZK__OPCODE_CREATE_CONTAINER:
        tell_bytes(side, "path", reply->path);
        tell_stat(side, &reply->stat);
        break;
    case UVZK__OPCODE_SET_DATA:
    case UVZK__OPCODE_EXISTS:
        tell_stat(side, &reply->stat);
        break;
    case UVZK__OPCODE_GET_DATA:
        tell_bytes(side, "data", reply->data);
        tell_stat(side, &reply->stat);
        break;
    case UVZK__OPCODE_GET_CHILDREN2:
        tell_stat(side, &reply->stat);
        tell_children(side, reply->children);
        break;
    case UVZK__OPCODE_GET_CHILDREN:
        tell_children(side, reply->children);
        break;
    case UVZK__OPCODE_MULTI:
        tell_results(side, reply->results);
        break;
    case UVZK__OPCODE_ERROR:
        tell(side, " err %d", reply->body_err);
        break;
    default:
        break;
    }
}

static void tell_reply(struct wire_peer *peer, const struct uvzk__wire_reply *reply)
{
    struct wire_side *side = peer->side;

    tell(side, "%d: reply to %d at %" PRId64 " err %d", peer->number, reply->opcode,
         relative(side, reply->zxid), reply->err);
    if (reply->err == 0) {
        tell_body(side, reply);
    }
    tell(side, "\n");
}

/* Newer servers tell the zxid of the change, older ones -1. */
static void tell_event(struct wire_peer *peer, struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_reply event;

    assert_int_equal(uvzk__wire_reply_read(frame, UVZK__OPCODE_EVENT, &event), 0);
    tell(peer->side, "%d: event %d state %d", peer->number, event.event, event.state);
    tell_bytes(peer->side, "path", event.path);
    tell(peer->side, "\n");
}

/* ------------------------------------------------------------------------------- the wire */

/* Returns false if the server has closed the connection. */
static bool receive(struct wire_peer *peer, struct uvzk__jute_bytes *frame)
{
    return wire_socket_receive(peer->fd, received, sizeof(received), frame);
}

void wire_peer_drop(struct wire_peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
}

static bool closed_by_server(struct wire_peer *peer)
{
    tell(peer->side, "%d: the server closes the connection\n", peer->number);
    wire_peer_drop(peer);
    return false;
}

bool wire_peer_connect(struct wire_peer *peer, bool resumes)
{
    struct uvzk__connect_request request = {
        .timeout_ms = TIMEOUT_MS,
        .last_zxid = resumes ? peer->last_zxid : 0,
        .session_id = resumes ? peer->session_id : 0,
        .password = uvzk__jute_bytes(peer->password, sizeof(peer->password)),
        .has_read_only = true};
    struct uvzk__connect_response response;
    struct uvzk__jute_writer writer;
    struct uvzk__jute_bytes frame;
    struct wire_side *side = peer->side;

    if (!resumes) {
        memset(peer->password, 0, sizeof(peer->password));
    }
    peer->fd = wire_socket_open(side->port);
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__connect_request_write(&writer, FRAME_MAX, &request), 0);
    wire_socket_send(peer->fd, &writer);
    if (!receive(peer, &frame)) {
        return closed_by_server(peer);
    }
    assert_int_equal(uvzk__connect_response_read(frame, &response), 0);
    if (!resumes) {
        side->sessions[peer->number] = response.session_id;
    }
    peer->session_id = response.session_id;
    memcpy(peer->password, response.password.at, sizeof(peer->password));
    tell(side, "%d: session %d timeout %d protocol %d read-only %d%d\n", peer->number,
         session_number(side, response.session_id), response.timeout_ms,
         response.protocol_version, response.has_read_only, response.read_only);
    return response.session_id != 0 ? true : (wire_peer_drop(peer), false);
}

/* Tells events until a reply with this xid comes. */
static bool await(struct wire_peer *peer, int32_t xid, int32_t opcode, bool quietly)
{
    struct uvzk__wire_reply header, reply;
    struct uvzk__jute_bytes frame;

    for (;;) {
        if (!receive(peer, &frame)) {
            return closed_by_server(peer);
        }
        assert_int_equal(uvzk__wire_reply_read_header(frame, &header), 0);
        if (header.xid == UVZK__XID_EVENT) {
            tell_event(peer, frame);
            continue;
        }
        assert_int_equal(header.xid, xid);
        if (header.zxid > peer->last_zxid && xid != UVZK__XID_PING) {
            peer->last_zxid = header.zxid;
        }
        assert_int_equal(uvzk__wire_reply_read(frame, opcode, &reply), 0);
        if (!quietly) {
            tell_reply(peer, &reply);
        }
        return true;
    }
}

bool wire_peer_call(struct wire_peer *peer, struct uvzk__wire_request request)
{
    struct uvzk__jute_writer writer;

    request.xid = request.xid != 0 ? request.xid : ++peer->xid;
    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_request_write(&writer, FRAME_MAX, &request), 0);
    wire_socket_send(peer->fd, &writer);
    return await(peer, request.xid, request.opcode, false);
}

void wire_peer_hear(struct wire_peer *peer)
{
    struct uvzk__jute_writer writer;
    const struct uvzk__wire_request ping = {.xid = UVZK__XID_PING,
                                            .opcode = UVZK__OPCODE_PING};

    uvzk__jute_writer_init(&writer);
    assert_int_equal(uvzk__wire_request_write(&writer, FRAME_MAX, &ping), 0);
    wire_socket_send(peer->fd, &writer);
    (void)await(peer, UVZK__XID_PING, UVZK__OPCODE_PING, true);
}
