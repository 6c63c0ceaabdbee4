#include "impostor.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 1024

struct impostor_link {
    uv_tcp_t socket;
    struct impostor *impostor;
    struct impostor_link *next, *prev;
};

struct outgoing {
    uv_write_t write;
    char bytes[READ_BYTES];
};

/* As a server's, but for the session that nobody has asked for. */
static const char session[41] = {0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 1, (char)0x90,
                                 1, 2, 3, 4,  5, 6, 7, 8, 0, 0, 0, 16};

static const char session_without_id[41] = {0, 0, 0, 37, 0,          0,        0,
                                            0, 0, 0, 1,  (char)0x90, [23] = 16};

static const char session_without_timeout[41] = {0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 1, 2, 3, 4,  5, 6, 7, 8, 0, 0, 0, 16};

static const char refusal_of_session[41] = {0, 0, 0, 37, [23] = 16};

static void freed(uv_handle_t *handle)
{
    free(handle->data);
}

static void hang_up(struct impostor_link *link)
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
        link->impostor->links = link->next;
    }
    uv_close((uv_handle_t *)&link->socket, freed);
}

static void written(uv_write_t *write, int status)
{
    struct impostor_link *link = write->handle->data;
    free(write);
    if (status < 0) {
        hang_up(link);
    }
}

static void say(struct impostor_link *link, const char *bytes, size_t length)
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

/* Where the request for a session has the id of the one to go on with. */
#define SESSION_AT 20

/* To who asks for a session. */
static void grant_or_refuse(struct impostor_link *link, const char *request)
{
    static const char none[8];
    const char *answer = refusal_of_session;
    bool anew = memcmp(request + SESSION_AT, none, sizeof(none)) == 0;
    if (link->impostor->kind == IMPOSTOR_SESSION) {
        answer = session;
    } else if (link->impostor->kind == IMPOSTOR_NO_ID && anew) {
        answer = session_without_id;
    } else if (link->impostor->kind == IMPOSTOR_NO_TIMEOUT && anew) {
        answer = session_without_timeout;
    }
    say(link, answer, sizeof(session));
}

static void asked(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    static const char refusal[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    struct impostor_link *link = stream->data;
    if (length < 0) {
        hang_up(link);
    } else if (link->impostor->kind == IMPOSTOR_ECHO) {
        say(link, buffer->base, (size_t)length);
    } else if (link->impostor->kind == IMPOSTOR_HTTP) {
        say(link, refusal, sizeof(refusal) - 1);
    } else if (link->impostor->kind >= IMPOSTOR_SESSION && length > 40) {
        grant_or_refuse(link, buffer->base);
    }
}

static void accepted(uv_stream_t *listener, int status)
{
    struct impostor *impostor = listener->data;
    struct impostor_link *link = calloc(1, sizeof(*link));
    if (status < 0 || link == NULL) {
        abort();
    }
    link->impostor = impostor;
    link->next = impostor->links;
    if (link->next != NULL) {
        link->next->prev = link;
    }
    impostor->links = link;
    uv_tcp_init(listener->loop, &link->socket);
    link->socket.data = link;
    uv_accept(listener, (uv_stream_t *)&link->socket);
    uv_read_start((uv_stream_t *)&link->socket, allocate, asked);
    if (impostor->kind == IMPOSTOR_HANGS_UP) {
        hang_up(link);
    } else if (impostor->kind == IMPOSTOR_SSH) {
        say(link, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32);
    } else if (impostor->kind == IMPOSTOR_GARBAGE) {
        char bytes[READ_BYTES];
        uv_random(NULL, NULL, bytes, sizeof(bytes), 0, NULL);
        say(link, bytes, sizeof(bytes));
    }
}

int impostor_open(uv_loop_t *loop, struct impostor *impostor, enum impostor_kind kind)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    memset(impostor, 0, sizeof(*impostor));
    signal(SIGPIPE, SIG_IGN);
    impostor->kind = kind;
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &impostor->listener);
    impostor->listener.data = impostor;
    int status = uv_tcp_bind(&impostor->listener, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)&impostor->listener, 16, accepted);
    }
    uv_tcp_getsockname(&impostor->listener, (struct sockaddr *)&address, &length);
    snprintf(impostor->hosts, sizeof(impostor->hosts), "127.0.0.1:%u",
             (unsigned)ntohs(address.sin_port));
    return status;
}

void impostor_close(struct impostor *impostor)
{
    while (impostor->links != NULL) {
        hang_up(impostor->links);
    }
    uv_close((uv_handle_t *)&impostor->listener, NULL);
}
