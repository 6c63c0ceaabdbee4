#include "native/stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* The memory for what is received. It is doubled while what comes at once fills it, and
 * beyond IN_BUSY only for a frame that is longer. */
#define IN_MIN 4096U
#define IN_BUSY 65536U
/* Sent bytes are removed from the front of `out` when there are so many of them, or when
 * nothing waits behind them. */
#define FORGET_AT 65536U

static int connect_to(struct uvzk__stream *stream, const struct uvzk__address *address)
{
    const int on = 1;

    stream->fd = socket(address->socket.any.sa_family,
                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (stream->fd < 0) {
        return uv_translate_sys_error(errno);
    }
    (void)setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(stream->fd, &address->socket.any, address->length) < 0 &&
        errno != EINPROGRESS) {
        return uv_translate_sys_error(errno);
    }
    stream->connecting = true;
    stream->watches_out = true;
    return uvzk__sockets_watch(stream->sockets, stream->fd, false, true);
}

struct uvzk__stream *uvzk__stream_new(struct uvzk__sockets *sockets,
                                      const struct uvzk__address *address, int *status)
{
    struct uvzk__stream *stream = uvzk__calloc(1, sizeof(*stream));

    *status = UV_ENOMEM;
    if (stream == NULL) {
        return NULL;
    }
    stream->sockets = sockets;
    uvzk__jute_writer_init(&stream->out);
    *status = connect_to(stream, address);
    if (*status < 0) {
        uvzk__stream_close(stream);
        uvzk__stream_free(stream);
        return NULL;
    }
    return stream;
}

void uvzk__stream_close(struct uvzk__stream *stream)
{
    if (stream->fd >= 0) {
        uvzk__sockets_forget(stream->sockets, stream->fd);
        close(stream->fd);
        stream->fd = -1;
    }
}

void uvzk__stream_free(struct uvzk__stream *stream)
{
    uvzk__jute_writer_end(&stream->out);
    uvzk__free(stream->in);
    uvzk__free(stream);
}

/* -------------------------------------------------------------------------- receiving */

/* Makes room behind what has been received. False: out of memory. */
static bool make_room(struct uvzk__stream *stream)
{
    bool is_small = stream->in_filled && stream->in_capacity < IN_BUSY;

    if (stream->in_length == 0) {
        stream->in_at = 0;
    }
    if (stream->in_at + stream->in_length < stream->in_capacity && !is_small) {
        return true;
    }
    if (!is_small && stream->in_at >= stream->in_capacity / 2 && stream->in_at > 0) {
        memmove(stream->in, stream->in + stream->in_at, stream->in_length);
        stream->in_at = 0;
        return true;
    }
    size_t capacity = stream->in_capacity == 0 ? IN_MIN : 2 * stream->in_capacity;
    unsigned char *in = uvzk__realloc(stream->in, capacity);
    if (in == NULL) {
        return false;
    }
    stream->in = in;
    stream->in_capacity = capacity;
    return true;
}

/* Receives once. The kernel reports the rest again. */
static int receive(struct uvzk__stream *stream)
{
    if (!make_room(stream)) {
        return UV_ENOMEM;
    }
    size_t begin = stream->in_at + stream->in_length;
    ssize_t got =
        recv(stream->fd, stream->in + begin, stream->in_capacity - begin, MSG_DONTWAIT);
    if (got > 0) {
        stream->in_filled = (size_t)got == stream->in_capacity - begin;
        stream->in_length += (size_t)got;
        stream->received += (size_t)got;
        return 0;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return got == 0 ? UV_EOF : uv_translate_sys_error(errno);
}

/* The memory grows with what has come, not with what a length says. */
int uvzk__stream_next(struct uvzk__stream *stream, struct uvzk__jute_bytes *frame)
{
    int status =
        uvzk__jute_frame(uvzk__jute_bytes(stream->in + stream->in_at, stream->in_length),
                         UVZK__REPLY_MAX, frame);
    if (status == 0) {
        size_t whole = frame->length + 4;
        stream->in_at += whole;
        stream->in_length -= whole;
    }
    return status;
}

/* ---------------------------------------------------------------------------- sending */

static void watch(struct uvzk__stream *stream, bool writable)
{
    if (stream->watches_out != writable) {
        stream->watches_out = writable;
        /* Changing what a watched socket is watched for needs no memory. */
        (void)uvzk__sockets_watch(stream->sockets, stream->fd, true, writable);
    }
}

static void forget_taken(struct uvzk__stream *stream)
{
    if (stream->out_taken == stream->out.length || stream->out_taken >= FORGET_AT) {
        stream->forgotten += stream->out_taken;
        uvzk__jute_writer_drop(&stream->out, stream->out_taken);
        stream->out_taken = 0;
    }
}

void uvzk__stream_flush(struct uvzk__stream *stream)
{
    if (!uvzk__stream_is_open(stream)) {
        return;
    }
    while (uvzk__stream_waiting(stream) > 0) {
        ssize_t taken = send(stream->fd, stream->out.bytes + stream->out_taken,
                             uvzk__stream_waiting(stream), MSG_NOSIGNAL);
        if (taken < 0 && errno == EINTR) {
            continue;
        }
        if (taken < 0) {
            watch(stream, errno == EAGAIN);
            return;
        }
        stream->out_taken += (size_t)taken;
        forget_taken(stream);
    }
    watch(stream, false);
}

size_t uvzk__stream_waiting(const struct uvzk__stream *stream)
{
    return stream->out.length - stream->out_taken;
}

uint64_t uvzk__stream_end(const struct uvzk__stream *stream)
{
    return stream->forgotten + stream->out.length;
}

uint64_t uvzk__stream_taken(const struct uvzk__stream *stream)
{
    return stream->forgotten + stream->out_taken;
}

void uvzk__stream_trim(struct uvzk__stream *stream)
{
    if (stream->out.length == 0) {
        uvzk__jute_writer_end(&stream->out);
    }
    if (stream->in_length == 0) {
        uvzk__free(stream->in);
        stream->in = NULL;
        stream->in_at = stream->in_capacity = 0;
    }
}

/* -------------------------------------------------------------------------- readiness */

static int finish_connecting(struct uvzk__stream *stream)
{
    int error = 0;
    socklen_t size = sizeof(error);

    (void)getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        return uv_translate_sys_error(error);
    }
    stream->connecting = false;
    watch(stream, false);
    return 0;
}

int uvzk__stream_ready(struct uvzk__stream *stream, bool readable, bool writable)
{
    if (stream->connecting) {
        return writable ? finish_connecting(stream) : 0;
    }
    if (writable) {
        uvzk__stream_flush(stream);
    }
    return readable ? receive(stream) : 0;
}
