/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP connection, with http_parser on a libuv stream. http.c accepts connections,
 * and the handlers of routes.c answer. The parser pauses after each request, so that only
 * one request of a connection is handled at a time, and answers are in the order of the
 * requests. */
#include "connection.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { BODY_MAX = 65536, BEHIND_MAX = 65536 };

static void move(struct connection *connection, enum connection_state state)
{
    connection->state = state;
    connection->since = uv_now(connection->tcp.loop);
}

/* ----------------------------------------------------------------------- the end */

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = (struct connection *)handle;
    struct http *http = connection->http;

    DL_DELETE(http->connections, connection);
    text_free(&connection->answer);
    free(connection);
    http_left(http);
}

static void end(struct connection *connection)
{
    connection_gone_cb gone_cb = connection->gone_cb;

    /* The state is CLOSING before gone_cb runs, so the callback cannot end it again. */
    if (connection->state != CLOSING) {
        move(connection, CLOSING);
        connection->gone_cb = NULL;
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
        if (gone_cb != NULL) {
            gone_cb(connection);
        }
    }
}

void connection_end_if_idle(struct connection *connection, uint64_t idle_ms)
{
    bool waits = connection->state == READING || connection->state == ANSWERING;

    if (waits && uv_now(connection->tcp.loop) - connection->since >= idle_ms) {
        end(connection);
    }
}

void connection_end_unless_busy(struct connection *connection)
{
    if (connection->state == READING || connection->state == STREAMING) {
        end(connection);
    }
}

/* ---------------------------------------------------------------------- requests */

static int on_message_begin(http_parser *parser)
{
    struct connection *connection = parser->data;

    connection->url_length = connection->body_length = 0;
    return 0;
}

static int on_url(http_parser *parser, const char *at, size_t length)
{
    struct connection *connection = parser->data;

    if (length > URL_MAX - connection->url_length) {
        return 1; /* longer than any valid one */
    }
    memcpy(connection->url + connection->url_length, at, length);
    connection->url_length += length;
    connection->url[connection->url_length] = '\0';
    return 0;
}

static int on_body(http_parser *parser, const char *at, size_t length)
{
    struct connection *connection = parser->data;

    (void)at; /* no request uses its body */
    connection->body_length += length;
    return connection->body_length > BODY_MAX;
}

static int on_message_complete(http_parser *parser)
{
    struct connection *connection = parser->data;

    connection->keep_alive = http_should_keep_alive(parser) && !parser->upgrade;
    http_parser_pause(parser, 1); /* until this request is answered */
    return 0;
}

static const http_parser_settings settings = {.on_message_begin = on_message_begin,
                                              .on_url = on_url,
                                              .on_body = on_body,
                                              .on_message_complete = on_message_complete};

static void refuse(struct connection *connection)
{
    static const char why[] = "{\"reason\": \"this is no request that is understood\"}\n";
    const struct answer answer = {400, NULL, 0, NULL, why, sizeof(why) - 1};

    connection->keep_alive = false;
    move(connection, BUSY);
    connection_answer(connection, &answer);
}

static void parse(struct connection *connection)
{
    size_t parsed = http_parser_execute(&connection->parser, &settings,
                                        connection->unread, connection->unread_length);
    enum http_errno error = HTTP_PARSER_ERRNO(&connection->parser);

    connection->unread_length -= parsed;
    memmove(connection->unread, connection->unread + parsed, connection->unread_length);
    if (error == HPE_PAUSED) {
        http_parser_pause(&connection->parser, 0);
        move(connection, BUSY);
        connection->http->request_cb(connection, connection->http->context);
    } else if (error != HPE_OK) {
        refuse(connection);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct connection *connection = (struct connection *)handle;

    (void)suggested;
    *room = uv_buf_init(connection->unread + connection->unread_length,
                        (unsigned)(UNREAD_MAX - connection->unread_length));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *room)
{
    struct connection *connection = (struct connection *)stream;

    (void)room;
    if (length < 0) {
        end(connection);
        return;
    }
    connection->unread_length += (size_t)length;
    if (connection->state == STREAMING) {
        connection->unread_length = 0; /* a client sends no more requests on a stream */
    } else if (connection->state == READING && connection->unread_length > 0) {
        parse(connection);
    }
    if (connection->state != CLOSING && connection->unread_length == UNREAD_MAX) {
        uv_read_stop(stream); /* until the request before it is answered */
    }
}

bool connection_accept(struct http *http)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    uv_stream_t *stream = (uv_stream_t *)connection;

    if (connection == NULL) {
        return false;
    }
    connection->http = http;
    http_parser_init(&connection->parser, HTTP_REQUEST);
    connection->parser.data = connection;
    uv_tcp_init(http->socket.loop, &connection->tcp);
    DL_APPEND(http->connections, connection);
    move(connection, READING);
    if (uv_accept((uv_stream_t *)&http->socket, stream) < 0 ||
        uv_read_start(stream, on_room, on_read) < 0) {
        end(connection);
        return true;
    }
    uv_tcp_nodelay(&connection->tcp, 1);
    return true;
}

/* --------------------------------------------------------------------- answers */

static void on_answered(uv_write_t *write, int status)
{
    struct connection *connection = write->data;

    text_free(&connection->answer);
    if (connection->state == CLOSING) {
        return;
    }
    if (status < 0 || !connection->keep_alive || connection->http->closing) {
        end(connection);
        return;
    }
    move(connection, READING);
    uv_read_start((uv_stream_t *)&connection->tcp, on_room, on_read);
    if (connection->unread_length > 0) {
        parse(connection);
    }
}

/* Sends the text in connection->answer. */
static bool write_answer(struct connection *connection)
{
    uv_buf_t bytes =
        uv_buf_init(connection->answer.bytes, (unsigned)connection->answer.length);

    connection->write.data = connection;
    return !connection->answer.failed &&
           uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &bytes, 1,
                    on_answered) == 0;
}

void connection_answer(struct connection *connection, const struct answer *answer)
{
    struct text *text = &connection->answer;
    bool last = !connection->keep_alive || connection->http->closing;

    connection->gone_cb = NULL;
    move(connection, ANSWERING);
    text_add(text, "HTTP/1.1 %d %s\r\n", answer->status,
             http_status_str((enum http_status)answer->status));
    text_add(text, "Content-Type: %s\r\nContent-Length: %zu\r\n",
             answer->type != NULL ? answer->type : "application/json", answer->length);
    text_add(text, "Cache-Control: no-store\r\n%s", last ? "Connection: close\r\n" : "");
    if (answer->retry_after_s > 0) {
        text_add(text, "Retry-After: %d\r\n", answer->retry_after_s);
    }
    if (answer->allow != NULL) {
        text_add(text, "Allow: %s\r\n", answer->allow);
    }
    text_add(text, "\r\n%.*s", (int)answer->length,
             answer->body != NULL ? answer->body : "");
    if (!write_answer(connection)) {
        end(connection);
    }
}

/* ------------------------------------------------------------------- event streams */

struct push {
    uv_write_t write;
    char bytes[];
};

static void on_pushed(uv_write_t *write, int status)
{
    struct connection *connection = write->data;

    if (status < 0) {
        end(connection);
    }
    free(write);
}

bool connection_push(struct connection *connection, const char *bytes, size_t length)
{
    uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
    struct push *push;

    if (uv_stream_get_write_queue_size(stream) > BEHIND_MAX ||
        (push = malloc(sizeof(*push) + length)) == NULL) {
        return false;
    }
    uv_buf_t copy = uv_buf_init(memcpy(push->bytes, bytes, length), (unsigned)length);
    push->write.data = connection;
    if (uv_write(&push->write, stream, &copy, 1, on_pushed) < 0) {
        free(push);
        return false;
    }
    return true;
}

void connection_stream(struct connection *connection, const char *page_origin)
{
    struct text head = {0};

    move(connection, STREAMING);
    text_add(&head, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n");
    if (page_origin != NULL) {
        text_add(&head, "Access-Control-Allow-Origin: %s\r\n", page_origin);
    }
    text_add(&head, "\r\n");
    if (head.failed || !connection_push(connection, head.bytes, head.length)) {
        end(connection);
    }
    text_free(&head);
}
