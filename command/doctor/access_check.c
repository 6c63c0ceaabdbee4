/* One session, without the library: connect, credentials, the multi, the delete, close
 * (access_check.h). Where the path does not exist the multi is tried one level higher, up to
 * the root. */
#include "doctor/access_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#define SESSION_MS 10000
#define PASSWORD_BYTES 16

/* ZooKeeper's numbers: of requests, of special requests' xids, of errors. */
#define TYPE_CREATE 1
#define TYPE_DELETE 2
#define TYPE_PING 11
#define TYPE_CHECK 13
#define TYPE_MULTI 14
#define TYPE_AUTH 100
#define TYPE_CLOSE (-11)
#define TYPE_OF_AN_ERROR (-1)
#define XID_PING (-2)
#define XID_AUTH (-4)
#define XID 1
#define ERROR_NO_NODE (-101)
#define ERROR_NO_AUTH (-102)
#define ERROR_BAD_VERSION (-103)
#define ERROR_NODE_EXISTS (-110)
#define WRONG_VERSION INT32_MAX /* of no znode */

#define REPLY_HEADER 16            /* xid, zxid, error */
#define CHILD "/uvzk-doctor-tries" /* no other program's */

/* A write, with its bytes behind it. */
struct sending {
    uv_write_t request;
    char bytes[];
};

static void end(struct access_check *check, const char *reason)
{
    if (uv_is_closing((uv_handle_t *)&check->socket)) {
        return;
    }
    check->known = reason == NULL;
    snprintf(check->reason, sizeof(check->reason), "%s", reason == NULL ? "" : reason);
    uv_close((uv_handle_t *)&check->socket, NULL);
}

/* ----------------------------------------------------------------- requests */

/* Big-endian, as everything of the protocol. */
static void put_number(FILE *out, int64_t number, unsigned bytes)
{
    for (unsigned i = bytes; i > 0; i--) {
        fputc((int)((uint64_t)number >> (8 * (i - 1)) & 0xff), out);
    }
}

static void put_int(FILE *out, int32_t number)
{
    put_number(out, number, 4);
}

static void put_bytes(FILE *out, const void *bytes, size_t length)
{
    put_int(out, (int32_t)length);
    fwrite(bytes, 1, length, out);
}

static void put_text(FILE *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_child(FILE *out, const struct access_check *check)
{
    bool root = strcmp(check->node, "/") == 0;

    put_int(out, (int32_t)(strlen(check->node) - root + strlen(CHILD)));
    fprintf(out, "%s" CHILD, root ? "" : check->node);
}

/* Between the operations of a multi, and at its end. */
static void put_multi_header(FILE *out, int32_t type)
{
    put_int(out, type);
    fputc(type == TYPE_OF_AN_ERROR, out); /* the end */
    put_int(out, -1);
}

static void put_multi(FILE *out, const struct access_check *check)
{
    put_int(out, XID);
    put_int(out, TYPE_MULTI);
    put_multi_header(out, TYPE_CREATE);
    put_child(out, check);
    put_bytes(out, "", 0);
    put_int(out, 1); /* entry of the ACL */
    put_int(out, UVZK_PERM_ALL);
    put_text(out, "world");
    put_text(out, "anyone");
    put_int(out, 0); /* persistent */
    put_multi_header(out, TYPE_CHECK);
    put_child(out, check);
    put_int(out, WRONG_VERSION);
    put_multi_header(out, TYPE_OF_AN_ERROR);
}

static void put_delete(FILE *out, const struct access_check *check)
{
    put_int(out, XID);
    put_int(out, TYPE_DELETE);
    put_child(out, check);
    put_int(out, WRONG_VERSION);
}

static void put_hello(FILE *out, const struct access_check *check)
{
    static const char no_password[PASSWORD_BYTES];

    (void)check;
    put_int(out, 0);       /* version of the protocol */
    put_number(out, 0, 8); /* the last zxid seen */
    put_int(out, SESSION_MS);
    put_number(out, 0, 8); /* a new session */
    put_bytes(out, no_password, sizeof(no_password));
}

static void put_credentials(FILE *out, const struct access_check *check)
{
    put_int(out, XID_AUTH);
    put_int(out, TYPE_AUTH);
    put_int(out, 0);
    put_text(out, check->credentials->scheme);
    put_bytes(out, check->credentials->auth, check->credentials->length);
}

/* ZooKeeper 3.8.0 can hold back a reply until another request arrives. */
static void put_ping(FILE *out, const struct access_check *check)
{
    (void)check;
    put_int(out, XID_PING);
    put_int(out, TYPE_PING);
}

static void put_close(FILE *out, const struct access_check *check)
{
    (void)check;
    put_int(out, XID);
    put_int(out, TYPE_CLOSE);
}

static void on_written(uv_write_t *request, int status)
{
    struct access_check *check = request->data;

    free(request); /* the first member of struct sending */
    if (status < 0) {
        end(check, uv_strerror(status));
    }
}

/* Returns the bytes of a request; NULL: no memory. */
static char *make_request(void (*put)(FILE *, const struct access_check *),
                          const struct access_check *check, size_t *length)
{
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, length);

    if (out == NULL) {
        return NULL;
    }
    put(out, check);
    if (fclose(out) != 0) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Sends a request, with its length before it. */
static void send_request(struct access_check *check,
                         void (*put)(FILE *, const struct access_check *))
{
    size_t length = 0;
    char *bytes = make_request(put, check, &length);
    struct sending *sending =
        bytes == NULL ? NULL : malloc(sizeof(*sending) + 4 + length);
    int status = UV_ENOMEM;

    if (sending != NULL) {
        for (unsigned i = 0; i < 4; i++) {
            sending->bytes[i] = (char)(length >> (8 * (3 - i)) & 0xff);
        }
        memcpy(sending->bytes + 4, bytes, length);
        uv_buf_t buffer = uv_buf_init(sending->bytes, (unsigned)(4 + length));
        sending->request.data = check;
        status = uv_write(&sending->request, (uv_stream_t *)&check->socket, &buffer, 1,
                          on_written);
    }
    if (status < 0) {
        free(sending);
        end(check, uv_strerror(status));
    }
    free(bytes);
}

/* ------------------------------------------------------------------- replies */

static int32_t number_at(const unsigned char *bytes)
{
    return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                     (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3]);
}

static void end_unknown(struct access_check *check, int32_t error)
{
    char reason[64];

    snprintf(reason, sizeof(reason), "the server answers with error %" PRId32, error);
    end(check, reason);
}

static void on_closed(struct access_check *check, const unsigned char *reply,
                      size_t length)
{
    (void)reply;
    (void)length;
    end(check, NULL);
}

static void close_session(struct access_check *check)
{
    check->on_reply = on_closed;
    send_request(check, put_close);
}

static void on_deleted(struct access_check *check, const unsigned char *reply,
                       size_t length)
{
    int32_t error = number_at(reply + 12);

    (void)length;
    if (error != ERROR_NO_NODE && error != ERROR_BAD_VERSION && error != ERROR_NO_AUTH) {
        end_unknown(check, error);
        return;
    }
    check->may_delete = error != ERROR_NO_AUTH;
    close_session(check);
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

/* The error of an operation of a multi that has failed: each has the header of an error and
 * its code. Returns 0 if the reply has no such operation. */
static int32_t error_of(const unsigned char *reply, size_t length, size_t index)
{
    size_t at = REPLY_HEADER + index * 13;

    return length < at + 13 || number_at(reply + at) != TYPE_OF_AN_ERROR
               ? 0
               : number_at(reply + at + 9);
}

static void on_created(struct access_check *check, const unsigned char *reply,
                       size_t length)
{
    int32_t error = number_at(reply + 12), of_create = error_of(reply, length, 0),
            of_check = error_of(reply, length, 1);

    if (of_create == ERROR_NO_NODE) {
        go_up(check);
        return;
    }
    if (of_create != ERROR_NO_AUTH && of_create != ERROR_NODE_EXISTS &&
        of_check != ERROR_BAD_VERSION) {
        end_unknown(check, error != 0 ? error : of_create);
        return;
    }
    check->may_create = of_create != ERROR_NO_AUTH;
    if (check->is_path) {
        check->on_reply = on_deleted;
        send_request(check, put_delete);
        send_request(check, put_ping);
    } else {
        close_session(check);
    }
}

static void try_create(struct access_check *check)
{
    check->on_reply = on_created;
    send_request(check, put_multi);
    send_request(check, put_ping);
}

static void on_hello(struct access_check *check, const unsigned char *reply,
                     size_t length)
{
    (void)reply;
    (void)length;
    if (check->credentials->scheme != NULL) {
        send_request(check, put_credentials);
    }
    try_create(check);
}

/* Passes on a reply to what was asked last, and none to a ping or to the credentials: a server
 * that refuses them closes the connection. */
static void on_frame(struct access_check *check, const unsigned char *reply,
                     size_t length)
{
    bool greets = check->on_reply == on_hello;

    if (length < REPLY_HEADER) {
        end(check, "the server's reply is too short");
    } else if (greets || number_at(reply) == XID) {
        check->on_reply(check, reply, length);
    }
}

static void take_frames(struct access_check *check)
{
    while (check->length >= 4 && !uv_is_closing((uv_handle_t *)&check->socket)) {
        int32_t length = number_at(check->bytes);
        if (length < 0 || (size_t)length + 4 > sizeof(check->bytes)) {
            end(check, "the server's reply is too long");
            return;
        }
        size_t whole = (size_t)length + 4;
        if (check->length < whole) {
            return;
        }
        on_frame(check, check->bytes + 4, (size_t)length);
        memmove(check->bytes, check->bytes + whole, check->length - whole);
        check->length -= whole;
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct access_check *check = handle->data;

    (void)suggested;
    *buffer = uv_buf_init((char *)check->bytes + check->length,
                          (unsigned)(sizeof(check->bytes) - check->length));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct access_check *check = stream->data;

    (void)buffer;
    if (length < 0) {
        bool closed = check->on_reply == on_closed && length == UV_EOF;
        end(check, closed             ? NULL
                   : length == UV_EOF ? "the server closes the connection"
                                      : uv_strerror((int)length));
        return;
    }
    check->length += (size_t)length;
    take_frames(check);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct access_check *check = connect->data;

    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&check->socket, on_room, on_read);
    }
    if (status < 0) {
        end(check, uv_strerror(status));
        return;
    }
    check->on_reply = on_hello;
    send_request(check, put_hello);
}

void access_check_begin(struct access_check *check, uv_loop_t *loop,
                        const struct sockaddr *address, const char *path,
                        const struct connection_credentials *credentials)
{
    check->credentials = credentials;
    check->is_path = true;
    check->node = strdup(path);
    check->socket.data = check;
    check->connect.data = check;
    uv_tcp_init(loop, &check->socket);
    int status = check->node == NULL ? UV_ENOMEM
                                     : uv_tcp_connect(&check->connect, &check->socket,
                                                      address, on_connected);
    if (status < 0) {
        end(check, uv_strerror(status));
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
