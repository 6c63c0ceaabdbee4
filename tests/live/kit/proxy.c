/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy between the clients and the server of a live test. Tests and world.c call
 * it; all of it runs on the test's loop.
 *
 * The one idea: each direction of a link collects bytes, cuts them into frames (a length
 * of four bytes, then that many bytes), and passes on only whole frames. So a fault
 * affects whole requests and replies. The first frame of a direction is the connect
 * request or its answer. Later frames begin with the xid; those of the client continue
 * with the type of the request. */
#include "proxy.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_EPHEMERAL_SEQUENTIAL 3
#define READ_SIZE 65536
#define PING_XID (-2)

struct lane {
    struct proxy_link *link;
    uv_tcp_t socket; /* what this lane reads from */
    char *bytes;     /* read, and not passed on yet */
    size_t length, capacity;
    bool greeted; /* the connect request or its answer has passed */
};

struct proxy_link {
    struct proxy *proxy;
    struct proxy_link *next, *prev;
    struct lane requests, replies; /* from the client; from the server */
    uv_connect_t connect;
    bool connected, closing;
    int open_sockets;
    bool dropping; /* the reply to drop_xid will be dropped */
    int32_t drop_xid;
};

struct outgoing {
    uv_write_t write;
    char bytes[];
};

static void no_memory(void)
{
    fprintf(stderr, "proxy: out of memory\n");
    abort();
}

static int32_t read_int32(const char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return (int32_t)ntohl(value);
}

static int64_t read_int64(const char *bytes)
{
    uint64_t high = (uint32_t)read_int32(bytes);
    return (int64_t)(high << 32 | (uint32_t)read_int32(bytes + 4));
}

/* ------------------------------------------------------------------- links */

static void link_socket_closed(uv_handle_t *handle)
{
    struct lane *lane = handle->data;
    struct proxy_link *link = lane->link;
    free(lane->bytes);
    lane->bytes = NULL;
    if (--link->open_sockets == 0) {
        free(link);
    }
}

/* Returns false if the link is not in the proxy's list any more. */
static bool link_remove(struct proxy_link *link)
{
    struct proxy *proxy = link->proxy;
    if (link->closing) {
        return false;
    }
    link->closing = true;
    if (link->prev != NULL) {
        link->prev->next = link->next;
    } else {
        proxy->links = link->next;
    }
    if (link->next != NULL) {
        link->next->prev = link->prev;
    }
    return true;
}

/* What has been written still arrives. */
static void link_close(struct proxy_link *link)
{
    if (link_remove(link)) {
        uv_close((uv_handle_t *)&link->requests.socket, link_socket_closed);
        uv_close((uv_handle_t *)&link->replies.socket, link_socket_closed);
    }
}

static void link_reset(struct proxy_link *link)
{
    if (!link_remove(link)) {
        return;
    }
    /* A reset, as when a machine has failed. uv_tcp_close_reset fails on a socket that is
     * not connected. */
    if (uv_tcp_close_reset(&link->requests.socket, link_socket_closed) != 0) {
        uv_close((uv_handle_t *)&link->requests.socket, link_socket_closed);
    }
    uv_close((uv_handle_t *)&link->replies.socket, link_socket_closed);
}

static void written(uv_write_t *write, int status)
{
    struct lane *lane = write->data;
    if (status < 0 && status != UV_ECANCELED) {
        link_reset(lane->link);
    }
    free(write); /* `write` is the first member of struct outgoing */
}

static void send_frame(struct lane *to, const char *bytes, size_t length)
{
    struct outgoing *outgoing = malloc(sizeof(*outgoing) + length);
    if (outgoing == NULL) {
        no_memory();
    }
    memcpy(outgoing->bytes, bytes, length);
    outgoing->write.data = to;
    uv_buf_t buffer = uv_buf_init(outgoing->bytes, (unsigned)length);
    if (uv_write(&outgoing->write, (uv_stream_t *)&to->socket, &buffer, 1, written) !=
        0) {
        free(outgoing);
        link_reset(to->link);
    }
}

/* ------------------------------------------------------------------ frames */

/* Returns -1 for a type that is not counted. */
static int type_of(const char *frame, size_t length)
{
    int32_t type = length < 12 ? -1 : read_int32(frame + 8);
    return type < PROXY_TYPES ? type : -1;
}

static bool is_contender_create(const char *frame, size_t length)
{
    int type = type_of(frame, length);
    return (type == PROXY_CREATE || type == PROXY_CREATE2) && length >= 16 &&
           read_int32(frame + length - 4) == FLAGS_EPHEMERAL_SEQUENTIAL;
}

static void count_request(struct proxy *proxy, const char *frame, size_t length)
{
    int type = type_of(frame, length);
    if (type >= 0) {
        proxy->requests[type]++;
    }
}

/* In the connect request: length, protocol version, last zxid seen, timeout, session id,
 * password with its length. */
static void count_resumption(struct proxy *proxy, const char *frame, size_t length)
{
    if (length >= 28 && proxy->session_id != 0 &&
        read_int64(frame + 20) == proxy->session_id) {
        proxy->resumptions++;
    }
}

static bool is_unknown(const struct proxy *proxy, const char *frame, size_t length)
{
    int type = type_of(frame, length);
    if (type == PROXY_ADD_WATCH) {
        return proxy->dialect.unknown != 0;
    }
    return type >= 0 && type < 32 && (proxy->dialect.unknown & 1U << type) != 0;
}

/* An answer without a zxid: the length, the xid, 8 bytes of zxid, UNIMPLEMENTED. The
 * socket takes it at once, before it is closed. */
static void hang_up(struct proxy_link *link, const char *frame)
{
    unsigned char answer[20] = {0, 0, 0, 16, [16] = 0xff, 0xff, 0xff, 0xfa};
    struct proxy *proxy = link->proxy;
    uv_buf_t buffer = uv_buf_init((char *)answer, sizeof(answer));
    proxy->hang_ups++;
    if (proxy->dialect.answers) {
        memcpy(answer + 4, frame + 4, 4);
        (void)uv_try_write((uv_stream_t *)&link->requests.socket, &buffer, 1);
    }
    link_close(link);
}

/* Clears the session id and the password of a connect request. */
static void forget_session(char *frame, size_t length)
{
    if (length >= 48) {
        memset(frame + 20, 0, 8);
        memset(frame + 32, 0, 16);
    }
}

static void pass_request(struct proxy_link *link, char *frame, size_t length)
{
    struct proxy *proxy = link->proxy;
    if (!link->requests.greeted) {
        link->requests.greeted = true;
        count_resumption(proxy, frame, length);
        if (proxy->dialect.forgets_sessions) {
            forget_session(frame, length);
        }
        send_frame(&link->replies, frame, length);
        return;
    }
    if (proxy->drop_armed && is_contender_create(frame, length)) {
        proxy->drop_armed = false;
        link->dropping = true;
        link->drop_xid = read_int32(frame + 4);
    } else if (proxy->lose_listing && type_of(frame, length) == PROXY_CHILDREN) {
        /* proxy_refuse resets this link; the frame is not passed on. */
        proxy->lose_listing = false;
        proxy->lost_listings++;
        proxy_refuse(proxy);
        return;
    }
    if (is_unknown(proxy, frame, length)) {
        hang_up(link, frame);
        return;
    }
    count_request(proxy, frame, length);
    send_frame(&link->replies, frame, length);
}

/* In the answer to the connect request: length, protocol version, timeout, session id,
 * password with its length. Session id 0: the session was refused. */
static bool grants_session(const char *frame, size_t length)
{
    return length >= 40 && read_int64(frame + 12) != 0;
}

static void note_session(struct proxy *proxy, const char *frame, size_t length)
{
    if (grants_session(frame, length)) {
        proxy->session_id = read_int64(frame + 12);
        memcpy(proxy->session_password, frame + 24, 16);
    }
}

static bool is_dropped(const struct proxy *proxy, const char *frame, size_t length)
{
    return proxy->pings_alone && (length < 8 || read_int32(frame + 4) != PING_XID);
}

/* The answer to a connect request. */
static void pass_greeting(struct proxy_link *link, const char *frame, size_t length)
{
    static const char of_no_length[4] = "\xff\xff\xff\xff";
    struct proxy *proxy = link->proxy;
    link->replies.greeted = true;
    note_session(proxy, frame, length);
    send_frame(&link->requests, frame, length);
    if (proxy->breaks && grants_session(frame, length)) {
        send_frame(&link->requests, of_no_length, sizeof(of_no_length));
    }
}

/* In a reply: length, xid, zxid. */
static void pass_last_reply(struct proxy_link *link, char *frame, size_t length)
{
    struct proxy *proxy = link->proxy;
    if (proxy->event_zxid != 0) {
        uint32_t halves[] = {htonl((uint32_t)(proxy->event_zxid >> 32)),
                             htonl((uint32_t)proxy->event_zxid)};
        memcpy(frame + 8, halves, sizeof(halves));
    }
    proxy->cut_behind = 0;
    proxy->cuts++;
    send_frame(&link->requests, frame, length);
    link_close(link);
}

static void pass_reply(struct proxy_link *link, char *frame, size_t length)
{
    struct proxy *proxy = link->proxy;
    if (!link->replies.greeted) {
        pass_greeting(link, frame, length);
        return;
    }
    if (is_dropped(proxy, frame, length)) {
        return;
    }
    if (link->dropping && length >= 8 && read_int32(frame + 4) == link->drop_xid) {
        proxy->dropped++;
        if (proxy->refuse_after_drop) {
            proxy_refuse(proxy);
        } else {
            link_reset(link);
        }
        return;
    } else if (length >= 16 && proxy->cut_behind != 0 &&
               read_int32(frame + 4) == proxy->cut_behind) {
        pass_last_reply(link, frame, length);
        return;
    }
    send_frame(&link->requests, frame, length);
}

/* Requests also wait until the proxy is connected to the server. With hold_answers, the
 * answer to the connect request still passes. */
static bool is_held(const struct lane *lane)
{
    const struct proxy_link *link = lane->link;
    if (lane == &link->requests) {
        return link->proxy->hold_requests || !link->connected;
    }
    return link->proxy->hold_replies || (link->proxy->hold_answers && lane->greeted);
}

static void pass_frames(struct lane *lane)
{
    struct proxy_link *link = lane->link;
    size_t passed = 0;
    /* Passing a frame may reset the link or begin to hold it. */
    while (!link->closing && !is_held(lane) && lane->length - passed >= 4) {
        char *frame = lane->bytes + passed;
        size_t length = 4 + (size_t)(uint32_t)read_int32(frame);
        if (lane->length - passed < length) {
            break;
        }
        if (lane == &link->requests) {
            pass_request(link, frame, length);
        } else {
            pass_reply(link, frame, length);
        }
        passed += length;
    }
    if (passed > 0) {
        lane->length -= passed;
        memmove(lane->bytes, lane->bytes + passed, lane->length);
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct lane *lane = handle->data;
    (void)suggested;
    if (lane->capacity - lane->length < READ_SIZE) {
        size_t capacity = lane->capacity * 2 + READ_SIZE;
        char *bytes = realloc(lane->bytes, capacity);
        if (bytes == NULL) {
            no_memory();
        }
        lane->bytes = bytes;
        lane->capacity = capacity;
    }
    *buffer = uv_buf_init(lane->bytes + lane->length, READ_SIZE);
}

static void received(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct lane *lane = stream->data;
    (void)buffer;
    if (got < 0) {
        link_reset(lane->link);
        return;
    }
    lane->length += (size_t)got;
    pass_frames(lane);
}

/* ------------------------------------------------------------- connections */

static struct sockaddr_in loopback(const char *host, uint16_t port)
{
    struct sockaddr_in address;
    uv_ip4_addr(host, port, &address);
    return address;
}

static void connected(uv_connect_t *connect, int status)
{
    struct proxy_link *link = connect->data;
    if (status == UV_ECANCELED || link->closing) {
        return;
    }
    if (status < 0) {
        link_reset(link);
        return;
    }
    link->connected = true;
    uv_read_start((uv_stream_t *)&link->replies.socket, allocate, received);
    pass_frames(&link->requests);
}

static void lane_init(struct proxy_link *link, struct lane *lane)
{
    lane->link = link;
    uv_tcp_init(link->proxy->loop, &lane->socket);
    lane->socket.data = lane;
    link->open_sockets++;
}

static void accept_link(uv_stream_t *listener, int status)
{
    struct proxy *proxy = listener->data;
    struct proxy_link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        no_memory();
    }
    link->proxy = proxy;
    link->next = proxy->links;
    if (link->next != NULL) {
        link->next->prev = link;
    }
    proxy->links = link;
    lane_init(link, &link->requests);
    lane_init(link, &link->replies);
    link->connect.data = link;
    if (status != 0 || uv_accept(listener, (uv_stream_t *)&link->requests.socket) != 0) {
        link_reset(link);
        return;
    }
    proxy->accepted++;
    uv_tcp_nodelay(&link->requests.socket, 1);
    uv_tcp_nodelay(&link->replies.socket, 1);
    uv_read_start((uv_stream_t *)&link->requests.socket, allocate, received);
    if (uv_tcp_connect(&link->connect, &link->replies.socket,
                       (const struct sockaddr *)&proxy->server, connected) != 0) {
        link_reset(link);
    }
}

static void free_listener(uv_handle_t *handle)
{
    free(handle);
}

static void stop_listening(struct proxy *proxy)
{
    if (proxy->listener != NULL) {
        uv_close((uv_handle_t *)proxy->listener, free_listener);
        proxy->listener = NULL;
    }
}

static int start_listening(struct proxy *proxy)
{
    struct sockaddr_in address = loopback(proxy->host, proxy->port);
    uv_tcp_t *listener = malloc(sizeof(*listener));
    if (listener == NULL) {
        no_memory();
    }
    uv_tcp_init(proxy->loop, listener);
    listener->data = proxy;
    proxy->listener = listener;
    int status = uv_tcp_bind(listener, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)listener, 128, accept_link);
    }
    if (status != 0) {
        stop_listening(proxy);
    }
    return status;
}

/* ---------------------------------------------------------------- commands */

static void init(uv_loop_t *loop, struct proxy *proxy, const char *host,
                 struct sockaddr_in server)
{
    memset(proxy, 0, sizeof(*proxy));
    signal(SIGPIPE, SIG_IGN); /* the peer may have closed its socket */
    proxy->loop = loop;
    proxy->server = server;
    snprintf(proxy->host, sizeof(proxy->host), "%s", host);
}

static int open_to(uv_loop_t *loop, struct proxy *proxy, struct sockaddr_in server)
{
    int status = UV_EADDRINUSE;
    init(loop, proxy, "127.0.0.1", server);
    /* Ports below the range of outgoing connections: no other process takes the port
     * while the proxy refuses connections. */
    for (int attempt = 0; attempt < 100 && status == UV_EADDRINUSE; attempt++) {
        uint16_t random = 0;
        uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
        proxy->port = (uint16_t)(20000 + random % 12000);
        status = start_listening(proxy);
    }
    snprintf(proxy->hosts, sizeof(proxy->hosts), "%s:%u", proxy->host, proxy->port);
    return status;
}

int proxy_open(uv_loop_t *loop, struct proxy *proxy, uint16_t server_port)
{
    return open_to(loop, proxy, loopback("127.0.0.1", server_port));
}

int proxy_open_to(uv_loop_t *loop, struct proxy *proxy, const char *server)
{
    char host[32];
    struct sockaddr_in address;
    const char *colon = strchr(server, ':');
    snprintf(host, sizeof(host), "%.*s", (int)(colon - server), server);
    int status = uv_ip4_addr(host, (int)strtol(colon + 1, NULL, 10), &address);
    return status != 0 ? status : open_to(loop, proxy, address);
}

int proxy_open_at(uv_loop_t *loop, struct proxy *proxy, const char *host, uint16_t port,
                  uint16_t server_port)
{
    init(loop, proxy, host, loopback("127.0.0.1", server_port));
    proxy->port = port;
    snprintf(proxy->hosts, sizeof(proxy->hosts), "%s:%u", proxy->host, proxy->port);
    return start_listening(proxy);
}

void proxy_close(struct proxy *proxy)
{
    proxy_cut(proxy);
    stop_listening(proxy);
}

void proxy_cut(struct proxy *proxy)
{
    while (proxy->links != NULL) {
        link_reset(proxy->links);
    }
}

void proxy_refuse(struct proxy *proxy)
{
    stop_listening(proxy);
    proxy_cut(proxy);
}

void proxy_pass(struct proxy *proxy)
{
    proxy->hold_requests = false;
    proxy->hold_replies = false;
    proxy->hold_answers = false;
    proxy->drop_armed = false;
    for (struct proxy_link *link = proxy->links, *next; link != NULL; link = next) {
        /* Passing a frame may reset the link, which takes it out of the list. */
        next = link->next;
        pass_frames(&link->requests);
        pass_frames(&link->replies);
    }
    if (proxy->listener == NULL && start_listening(proxy) != 0) {
        fprintf(stderr, "proxy: port %u is taken\n", proxy->port);
        abort();
    }
}

void proxy_hold_requests(struct proxy *proxy)
{
    proxy->hold_requests = true;
}

void proxy_hold_replies(struct proxy *proxy)
{
    proxy->hold_replies = true;
}

void proxy_hold_answers(struct proxy *proxy)
{
    proxy->hold_answers = true;
}

void proxy_lose_listing(struct proxy *proxy)
{
    proxy->lose_listing = true;
}

void proxy_drop_reply(struct proxy *proxy, bool then_refuse)
{
    proxy->drop_armed = true;
    proxy->refuse_after_drop = then_refuse;
}

void proxy_cut_behind(struct proxy *proxy, int32_t xid)
{
    proxy->cut_behind = xid;
}
