/* SPDX-License-Identifier: Apache-2.0 */
/* One session, without the library: connect, credentials, the multi, the delete, close
 * (access_check.h). Where the path does not exist the multi is tried one level higher, up to
 * the root. */
#include "doctor/access_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#include "native/wire_reply.h"
#include "native/wire_request.h"

#define SESSION_MS 10000
#define PASSWORD_BYTES 16
#define XID 1                      /* of all requests but pings and credentials */
#define WRONG_VERSION INT32_MAX    /* of no znode */
#define CHILD "/uvzk-doctor-tries" /* no other program's */

/* The servers' codes of errors. */
#define ERROR_NO_NODE (-101)
#define ERROR_NO_AUTH (-102)
#define ERROR_BAD_VERSION (-103)
#define ERROR_NODE_EXISTS (-110)

static void end(struct access_check *check, const char *reason)
{
    if (server_exchange_end(&check->exchange)) {
        check->known = reason == NULL;
        snprintf(check->reason, sizeof(check->reason), "%s",
                 reason == NULL ? "" : reason);
    }
}

/* ----------------------------------------------------------------- requests */

/* Sends the frame, which could be written if the status is 0, and frees it. */
static void send_frame(struct access_check *check, int status,
                       struct uvzk__jute_writer *frame)
{
    if (status == 0) {
        server_exchange_send(&check->exchange, frame->bytes, frame->length);
    } else {
        end(check, uv_strerror(status));
    }
    uvzk__jute_writer_end(frame);
}

static void send_request(struct access_check *check,
                         const struct uvzk__wire_request *request)
{
    struct uvzk__jute_writer frame;

    uvzk__jute_writer_init(&frame);
    send_frame(check, uvzk__wire_request_write(&frame, UVZK__JUTE_MAXBUFFER, request),
               &frame);
}

static void send_connect_request(struct access_check *check)
{
    static const char no_password[PASSWORD_BYTES];
    const struct uvzk__connect_request request = {
        .timeout_ms = SESSION_MS,
        .password = uvzk__jute_bytes(no_password, sizeof(no_password))};
    struct uvzk__jute_writer frame;

    uvzk__jute_writer_init(&frame);
    send_frame(check, uvzk__connect_request_write(&frame, UVZK__JUTE_MAXBUFFER, &request),
               &frame);
}

static void send_credentials(struct access_check *check)
{
    const struct connection_credentials *credentials = check->credentials;

    send_request(check,
                 &(struct uvzk__wire_request){
                     .xid = UVZK__XID_AUTH,
                     .opcode = UVZK__OPCODE_AUTH,
                     .scheme = uvzk__jute_text(credentials->scheme),
                     .data = uvzk__jute_bytes(credentials->auth, credentials->length)});
}

/* ZooKeeper 3.8.0 can hold back a reply until another request arrives. */
static void send_ping(struct access_check *check)
{
    send_request(check, &(struct uvzk__wire_request){.xid = UVZK__XID_PING,
                                                     .opcode = UVZK__OPCODE_PING});
}

/* One request is on its way at a time, besides pings and credentials. */
static void ask(struct access_check *check, struct uvzk__wire_request request,
                access_check_cb on_reply)
{
    request.xid = XID;
    check->asked = request.opcode;
    check->on_reply = on_reply;
    send_request(check, &request);
}

/* The path of the child; the caller frees it. NULL: no memory, and the check has ended. */
static char *child_of(struct access_check *check)
{
    const char *parent = strcmp(check->node, "/") == 0 ? "" : check->node;
    size_t size = strlen(parent) + sizeof(CHILD);
    char *path = malloc(size);

    if (path == NULL) {
        end(check, uv_strerror(UV_ENOMEM));
    } else {
        snprintf(path, size, "%s" CHILD, parent);
    }
    return path;
}

/* ------------------------------------------------------------------- replies */

static void end_unknown(struct access_check *check, int32_t error)
{
    char reason[64];

    snprintf(reason, sizeof(reason), "the server answers with error %" PRId32, error);
    end(check, reason);
}

static void on_closed(struct access_check *check, const struct uvzk__wire_reply *reply)
{
    (void)reply;
    end(check, NULL);
}

static void close_session(struct access_check *check)
{
    ask(check, (struct uvzk__wire_request){.opcode = UVZK__OPCODE_CLOSE_SESSION},
        on_closed);
}

static void on_deleted(struct access_check *check, const struct uvzk__wire_reply *reply)
{
    if (reply->err != ERROR_NO_NODE && reply->err != ERROR_BAD_VERSION &&
        reply->err != ERROR_NO_AUTH) {
        end_unknown(check, reply->err);
        return;
    }
    check->may_delete = reply->err != ERROR_NO_AUTH;
    close_session(check);
}

static void try_delete(struct access_check *check)
{
    char *path = child_of(check);

    if (path != NULL) {
        ask(check,
            (struct uvzk__wire_request){.opcode = UVZK__OPCODE_DELETE,
                                        .path = uvzk__jute_text(path),
                                        .version = WRONG_VERSION},
            on_deleted);
        send_ping(check);
    }
    free(path);
}

static void try_create(struct access_check *check);

/* The znode does not exist: nearer to the root. */
static void go_up(struct access_check *check)
{
    char *slash = strrchr(check->node, '/');

    if (strcmp(check->node, "/") == 0) {
        end(check, "there is no root");
        return;
    }
    check->is_path = false;
    slash[slash == check->node] = '\0';
    try_create(check);
}

/* Takes the error of the next operation of a multi; 0: the reply has none. */
static int32_t next_error(struct uvzk__jute_list *results)
{
    struct uvzk__wire_reply result;

    return uvzk__wire_result_next(results, UVZK__OPCODE_MULTI, &result) ? result.body_err
                                                                        : 0;
}

static void on_created(struct access_check *check, const struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_list results = reply->results;
    int32_t of_create = next_error(&results), of_check = next_error(&results);

    if (of_create == ERROR_NO_NODE) {
        go_up(check);
        return;
    }
    if (of_create != ERROR_NO_AUTH && of_create != ERROR_NODE_EXISTS &&
        of_check != ERROR_BAD_VERSION) {
        end_unknown(check, reply->err != 0 ? reply->err : of_create);
        return;
    }
    check->may_create = of_create != ERROR_NO_AUTH;
    if (check->is_path) {
        try_delete(check);
    } else {
        close_session(check);
    }
}

/* Writes the create and the check of a version that the new znode has not. The create's mode
 * is 0, a persistent znode. */
static void add_operations(struct uvzk__jute_writer *operations,
                           const struct uvzk__jute_list *acl, const char *path)
{
    uvzk__wire_op_add(operations, UVZK__OPCODE_MULTI,
                      &(struct uvzk__wire_request){.opcode = UVZK__OPCODE_CREATE,
                                                   .path = uvzk__jute_text(path),
                                                   .data = uvzk__jute_text(""),
                                                   .acl = *acl});
    uvzk__wire_op_add(operations, UVZK__OPCODE_MULTI,
                      &(struct uvzk__wire_request){.opcode = UVZK__OPCODE_CHECK,
                                                   .path = uvzk__jute_text(path),
                                                   .version = WRONG_VERSION});
}

static void try_create(struct access_check *check)
{
    const struct uvzk__wire_acl everyone = {.permissions = UVZK_PERM_ALL,
                                            .scheme = uvzk__jute_text("world"),
                                            .id = uvzk__jute_text("anyone")};
    struct uvzk__wire_request multi = {.opcode = UVZK__OPCODE_MULTI};
    struct uvzk__jute_writer entries, operations;
    struct uvzk__jute_list acl = {0};
    char *path = child_of(check);

    uvzk__jute_writer_init(&entries);
    uvzk__jute_writer_init(&operations);
    if (path != NULL) {
        uvzk__wire_acl_add(&entries, &everyone);
        int status = uvzk__jute_list_of(&entries, 1, &acl);
        add_operations(&operations, &acl, path);
        if (status == 0) {
            status = uvzk__jute_list_of(&operations, 2, &multi.ops);
        }
        if (status < 0) {
            end(check, uv_strerror(status));
        } else {
            ask(check, multi, on_created);
            send_ping(check);
        }
    }
    uvzk__jute_writer_end(&entries);
    uvzk__jute_writer_end(&operations);
    free(path);
}

/* ---------------------------------------------------------------- the frames */

static void take_greeting(struct access_check *check, struct uvzk__jute_bytes frame)
{
    struct uvzk__connect_response response;

    if (uvzk__connect_response_read(frame, &response) < 0) {
        end(check, "the server's reply is malformed");
        return;
    }
    if (check->credentials->scheme != NULL) {
        send_credentials(check);
    }
    try_create(check);
}

/* Takes the reply to what was asked last. Replies to pings and to the credentials say nothing:
 * a server that refuses credentials closes the connection. */
static void take_reply(struct access_check *check, struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_reply reply;
    int status = uvzk__wire_reply_read_header(frame, &reply);

    if (status == 0 && reply.xid != XID) {
        return;
    }
    if (status == 0) {
        status = uvzk__wire_reply_read(frame, check->asked, &reply);
    }
    if (status < 0) {
        end(check, "the server's reply is malformed");
    } else {
        check->on_reply(check, &reply);
    }
}

static void take_frames(struct access_check *check)
{
    struct uvzk__jute_bytes frame;
    int status = 0;

    while (!server_exchange_has_ended(&check->exchange) &&
           (status = uvzk__jute_frame(uvzk__jute_bytes(check->bytes, check->length),
                                      sizeof(check->bytes) - 4, &frame)) == 0) {
        size_t whole = frame.length + 4;
        if (check->on_reply == NULL) {
            take_greeting(check, frame);
        } else {
            take_reply(check, frame);
        }
        memmove(check->bytes, check->bytes + whole, check->length - whole);
        check->length -= whole;
    }
    if (status < 0 && status != UV_EAGAIN) {
        end(check, "the server's reply is too long");
    }
}

static void on_connected(void *asker)
{
    send_connect_request(asker);
}

static void on_received(void *asker, const char *bytes, size_t length)
{
    struct access_check *check = asker;

    while (length > 0 && !server_exchange_has_ended(&check->exchange)) {
        size_t room = sizeof(check->bytes) - check->length;
        size_t taken = length < room ? length : room;
        memcpy(check->bytes + check->length, bytes, taken);
        check->length += taken;
        bytes += taken;
        length -= taken;
        take_frames(check);
    }
}

static void on_failed(void *asker, int status)
{
    struct access_check *check = asker;
    bool closed = check->on_reply == on_closed && status == UV_EOF;

    end(check, closed ? NULL : server_exchange_reason(status));
}

void access_check_begin(struct access_check *check, uv_loop_t *loop,
                        const struct sockaddr *address, const char *path,
                        const struct connection_credentials *credentials)
{
    static const struct server_exchange_calls calls = {
        .connected = on_connected, .received = on_received, .failed = on_failed};

    check->credentials = credentials;
    check->is_path = true;
    check->node = strdup(path);
    server_exchange_begin(&check->exchange, loop, address, &calls, check);
    if (check->node == NULL) {
        end(check, uv_strerror(UV_ENOMEM));
    }
}

void access_check_give_up(struct access_check *check)
{
    end(check, "no answer");
}

void access_check_free(struct access_check *check)
{
    free(check->node);
}
