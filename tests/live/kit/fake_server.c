/* SPDX-License-Identifier: Apache-2.0 */
/* A listening port that is not a ZooKeeper server: it accepts connections and answers as
 * its kind says. Tests of a missing connection call it. All of it runs on the test's
 * loop. */
#include "fake_server.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 1024

struct fake_server_connection {
    uv_tcp_t socket;
    struct fake_server *fake_server;
    struct fake_server_connection *next, *prev;
    bool answered; /* its connect request */
};

struct outgoing {
    uv_write_t write;
    char bytes[READ_BYTES];
};

/* Answers to a connect request, as a server sends them: length (37), protocol version,
 * session timeout, session id, length of the password (16), password. This one grants 400
 * ms and a session id that no client has asked for. */
static const char session[41] = {0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 1, (char)0x90,
                                 1, 2, 3, 4,  5, 6, 7, 8, 0, 0, 0, 16};

/* With a timeout of 400 ms. */
static const char session_without_id[41] = {0, 0, 0, 37, 0,          0,        0,
                                            0, 0, 0, 1,  (char)0x90, [23] = 16};

/* With a session id. */
static const char session_without_timeout[41] = {0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 1, 2, 3, 4,  5, 6, 7, 8, 0, 0, 0, 16};

/* A server answers so if the session is unknown or has expired. */
static const char refusal_of_session[41] = {0, 0, 0, 37, [23] = 16};

static void freed(uv_handle_t *handle)
{
    free(handle->data);
}

static void hang_up(struct fake_server_connection *link)
{
    if (uv_is_closing((uv_handle_t *)&link->socket)) {
        return;
    }
    if (link->next != NULL) {
        link->next->prev = link->prev;
    }
    if (link->prev != NULL) {
        link->prev->next = link->next;
    } else {
        link->fake_server->links = link->next;
    }
    uv_close((uv_handle_t *)&link->socket, freed);
}

static void written(uv_write_t *write, int status)
{
    struct fake_server_connection *link = write->handle->data;
    free(write);
    if (status < 0) {
        hang_up(link);
    }
}

/* Sends a copy of the bytes, at most READ_BYTES. */
static void say(struct fake_server_connection *link, const char *bytes, size_t length)
{
    struct outgoing *outgoing = malloc(sizeof(*outgoing));
    if (outgoing == NULL) {
        abort();
    }
    memcpy(outgoing->bytes, bytes, length);
    uv_buf_t buffer = uv_buf_init(outgoing->bytes, (unsigned)length);
    if (uv_write(&outgoing->write, (uv_stream_t *)&link->socket, &buffer, 1, written) <
        0) {
        free(outgoing);
        hang_up(link);
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[READ_BYTES];
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof(bytes));
}

/* The offset of the session id in a connect request; zeros: the client wants a new
 * session. */
#define SESSION_AT 20

/* Answers a connect request. */
static void grant_or_refuse(struct fake_server_connection *link, const char *request)
{
    static const char none[8];
    const char *answer = refusal_of_session;
    bool anew = memcmp(request + SESSION_AT, none, sizeof(none)) == 0;
    if (link->fake_server->kind == FAKE_SERVER_SESSION) {
        answer = session;
    } else if (link->fake_server->kind == FAKE_SERVER_GRANTS_NOTHING) {
        answer = session_without_timeout;
    } else if (link->fake_server->kind == FAKE_SERVER_NO_ID && anew) {
        answer = session_without_id;
    } else if (link->fake_server->kind == FAKE_SERVER_NO_TIMEOUT && anew) {
        answer = session_without_timeout;
    }
    say(link, answer, sizeof(session));
    link->answered = true;
}

/* The C client itself sends pings and the end of the session. */
static bool is_a_question(const char *request, ssize_t length)
{
    static const unsigned char ping[4] = {0, 0, 0, 11}, end[4] = {255, 255, 255, 245};
    const char *type = request + 8;
    return length > 12 || (length == 12 && memcmp(type, ping, sizeof(ping)) != 0 &&
                           memcmp(type, end, sizeof(end)) != 0);
}

static void asked(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    static const char refusal[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    struct fake_server_connection *link = stream->data;
    if (length < 0) {
        hang_up(link);
    } else if (link->fake_server->kind == FAKE_SERVER_ECHO) {
        say(link, buffer->base, (size_t)length);
    } else if (link->fake_server->kind == FAKE_SERVER_HTTP) {
        say(link, refusal, sizeof(refusal) - 1);
    } else if (link->answered) {
        link->fake_server->questions += is_a_question(buffer->base, length);
    } else if (link->fake_server->kind >= FAKE_SERVER_SESSION && length > 40) {
        grant_or_refuse(link, buffer->base);
    }
}

static void accepted(uv_stream_t *listener, int status)
{
    struct fake_server *fake_server = listener->data;
    struct fake_server_connection *link = calloc(1, sizeof(*link));
    if (status < 0 || link == NULL) {
        abort();
    }
    link->fake_server = fake_server;
    link->next = fake_server->links;
    if (link->next != NULL) {
        link->next->prev = link;
    }
    fake_server->links = link;
    uv_tcp_init(listener->loop, &link->socket);
    link->socket.data = link;
    uv_accept(listener, (uv_stream_t *)&link->socket);
    uv_read_start((uv_stream_t *)&link->socket, allocate, asked);
    if (fake_server->kind == FAKE_SERVER_HANGS_UP) {
        hang_up(link);
    } else if (fake_server->kind == FAKE_SERVER_SSH) {
        say(link, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32);
    } else if (fake_server->kind == FAKE_SERVER_GARBAGE) {
        char bytes[READ_BYTES];
        uv_random(NULL, NULL, bytes, sizeof(bytes), 0, NULL);
        say(link, bytes, sizeof(bytes));
    }
}

int fake_server_open(uv_loop_t *loop, struct fake_server *fake_server,
                     enum fake_server_kind kind)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    memset(fake_server, 0, sizeof(*fake_server));
    signal(SIGPIPE, SIG_IGN);
    fake_server->kind = kind;
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &fake_server->listener);
    fake_server->listener.data = fake_server;
    int status =
        uv_tcp_bind(&fake_server->listener, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)&fake_server->listener, 16, accepted);
    }
    uv_tcp_getsockname(&fake_server->listener, (struct sockaddr *)&address, &length);
    snprintf(fake_server->hosts, sizeof(fake_server->hosts), "127.0.0.1:%u",
             (unsigned)ntohs(address.sin_port));
    return status;
}

void fake_server_close(struct fake_server *fake_server)
{
    while (fake_server->links != NULL) {
        hang_up(fake_server->links);
    }
    uv_close((uv_handle_t *)&fake_server->listener, NULL);
}
