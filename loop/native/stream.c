/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a server: received bytes become frames, and written frames become
 * bytes for the kernel (stream.h). With TLS, plain bytes stay in `out` until the kernel
 * has taken the whole record that contains them. native_connection.c and ending_streams.c
 * call it when the socket is ready. */
#include "native/stream.h"

#include <string.h>

#include "base/memory.h"
#include "discovery/sockets.h"

/* The memory for what is received. It is doubled while a single receive fills it, and
 * beyond IN_BUSY only for a longer frame. */
#define IN_MIN 4096U
#define IN_BUSY 65536U
#define IN_KEPT (1U << 20) /* more is freed when nothing is left in it */
/* Sent bytes are removed from the front of `out` when there are this many of them, or
 * when nothing waits after them. */
#define FORGET_AT 65536U

static int connect_to(struct uvzk__stream *stream, const struct uvzk__address *address)
{
    int status = uvzk__socket_connect(address, &stream->fd);
    if (status < 0) {
        return status;
    }
    stream->connecting = true;
    stream->watches_out = true;
    return uvzk__sockets_watch(stream->sockets, stream->fd, false, true);
}

struct uvzk__stream *uvzk__stream_new(struct uvzk__sockets *sockets,
                                      const struct uvzk__address *address,
                                      struct uvzk__tls *tls, int *status)
{
    struct uvzk__stream *stream = uvzk__calloc(1, sizeof(*stream));

    *status = UV_ENOMEM;
    if (stream == NULL) {
        uvzk__tls_free(tls);
        return NULL;
    }
    stream->sockets = sockets;
    stream->tls = tls;
    stream->handshaking = tls != NULL;
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
        uvzk__socket_close(stream->fd);
        stream->fd = -1;
    }
}

void uvzk__stream_free(struct uvzk__stream *stream)
{
    uvzk__jute_writer_end(&stream->out);
    uvzk__tls_free(stream->tls);
    uvzk__free(stream->in);
    uvzk__free(stream);
}

const char *uvzk__stream_failure(const struct uvzk__stream *stream)
{
    return stream->tls == NULL ? NULL : uvzk__tls_failure(stream->tls);
}

/* -------------------------------------------------------------------------- receiving */

static void free_in(struct uvzk__stream *stream)
{
    uvzk__free(stream->in);
    stream->in = NULL;
    stream->in_at = stream->in_capacity = 0;
}

/* Makes room after what has been received. False: out of memory. */
static bool make_room(struct uvzk__stream *stream)
{
    bool is_small = stream->in_filled && stream->in_capacity < IN_BUSY;

    if (stream->in_length == 0 && stream->in_capacity > IN_KEPT) {
        free_in(stream); /* the long frame has been read */
    }
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

static void take_in(struct uvzk__stream *stream, size_t count)
{
    stream->in_length += count;
    stream->received += count;
}

/* Receives once. The kernel reports the rest again. */
static int stream_receive(struct uvzk__stream *stream)
{
    if (!make_room(stream)) {
        return UV_ENOMEM;
    }
    size_t begin = stream->in_at + stream->in_length;
    size_t room = stream->in_capacity - begin;
    ssize_t got = uvzk__socket_receive(stream->fd, stream->in + begin, room);
    if (got > 0) {
        stream->in_filled = (size_t)got == room;
        take_in(stream, (size_t)got);
    }
    return got < 0 ? (int)got : 0;
}

/* The memory grows with the received bytes, not with the announced length. */
int uvzk__stream_next(struct uvzk__stream *stream, struct uvzk__jute_bytes *frame)
{
    /* Before the first byte there is no memory. */
    const unsigned char *at = stream->in == NULL ? NULL : stream->in + stream->in_at;
    int status =
        uvzk__jute_frame(uvzk__jute_bytes(at, stream->in_length), UVZK__REPLY_MAX, frame);
    if (status == 0) {
        size_t whole = frame->length + 4;
        stream->in_at += whole;
        stream->in_length -= whole;
    }
    return status;
}

/* ---------------------------------------------------------------------------- sending */

static void stream_watch(struct uvzk__stream *stream, bool writable)
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

/* Sends until the kernel takes no more. Returns how many it has taken; fewer than
 * `length`: the socket is watched for writing. */
static size_t send_bytes(struct uvzk__stream *stream, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    size_t sent = 0;

    while (sent < length) {
        ssize_t taken = uvzk__socket_send(stream->fd, at + sent, length - sent);
        if (taken <= 0) {
            stream_watch(stream, taken == 0);
            return sent;
        }
        sent += (size_t)taken;
    }
    return sent;
}

/* Sends what TLS has encrypted. False: the kernel has not taken all of it. */
static bool flush_tls(struct uvzk__stream *stream)
{
    struct uvzk__jute_bytes output = uvzk__tls_output(stream->tls);
    size_t sent = send_bytes(stream, output.at, output.length);

    uvzk__tls_sent(stream->tls, sent);
    if (sent < output.length) {
        return false;
    }
    stream->out_taken += stream->record;
    stream->record = 0;
    forget_taken(stream);
    return true;
}

/* Encrypts waiting bytes, at most one record. If the server has begun a new handshake,
 * that continues first, and the waiting bytes are sent after it. */
static bool stream_encrypt(struct uvzk__stream *stream)
{
    size_t length = uvzk__stream_waiting(stream);

    length = length < UVZK__TLS_RECORD_MAX ? length : UVZK__TLS_RECORD_MAX;
    int status =
        uvzk__tls_write(stream->tls, stream->out.bytes + stream->out_taken, length);
    if (status == UV_EAGAIN) {
        stream_watch(stream, false);
        (void)flush_tls(stream);
        return false;
    }
    if (status < 0) {
        /* The owner learns of it as of every failure to send. */
        uvzk__socket_shut_down(stream->fd);
        return false;
    }
    stream->record = length;
    return true;
}

void uvzk__stream_flush(struct uvzk__stream *stream)
{
    bool all =
        uvzk__stream_is_open(stream) && !uvzk__sockets_are_inherited(stream->sockets);

    if (all && stream->tls != NULL) {
        all = flush_tls(stream);
        while (all && uvzk__stream_waiting(stream) > 0) {
            all = stream_encrypt(stream) && flush_tls(stream);
        }
    } else if (all && uvzk__stream_waiting(stream) > 0) {
        stream->out_taken += send_bytes(stream, stream->out.bytes + stream->out_taken,
                                        uvzk__stream_waiting(stream));
        forget_taken(stream);
        all = uvzk__stream_waiting(stream) == 0;
    }
    if (all) {
        stream_watch(stream, false);
    }
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
        free_in(stream);
    }
}

/* -------------------------------------------------------------------------- readiness */

static int finish_connecting(struct uvzk__stream *stream)
{
    int error = uvzk__socket_error(stream->fd);

    if (error < 0) {
        return error;
    }
    stream->connecting = false;
    stream_watch(stream, false);
    return 0;
}

/* Decrypts everything that has come. */
static int stream_decrypt(struct uvzk__stream *stream)
{
    int status = 0;

    while (status == 0) {
        if (!make_room(stream)) {
            return UV_ENOMEM;
        }
        size_t begin = stream->in_at + stream->in_length;
        size_t count = stream->in_capacity - begin;
        status = uvzk__tls_read(stream->tls, stream->in + begin, &count);
        if (status == 0) {
            take_in(stream, count);
        }
    }
    return status == UV_EAGAIN ? 0 : status;
}

/* Continues TLS after bytes have come: the handshake, then the data. */
static int go_on(struct uvzk__stream *stream)
{
    if (stream->handshaking) {
        int status = uvzk__tls_handshake(stream->tls);
        /* Includes the alert that tells the server why it has failed. */
        (void)flush_tls(stream);
        if (status != 0) {
            return status == UV_EAGAIN ? 0 : status;
        }
        stream->handshaking = false;
    }
    int status = stream_decrypt(stream);
    /* In TLS 1.2 the server may begin a new handshake: its messages are sent, and then
     * the bytes that waited for its end. A failure is reported to the server. */
    if (status == 0) {
        uvzk__stream_flush(stream);
    } else {
        (void)flush_tls(stream);
    }
    return status;
}

static int receive_tls(struct uvzk__stream *stream)
{
    unsigned char bytes[UVZK__TLS_RECORD_MAX];
    ssize_t got = uvzk__socket_receive(stream->fd, bytes, sizeof(bytes));
    int status = got > 0 ? uvzk__tls_receive(stream->tls, bytes, (size_t)got) : 0;

    if (status == 0 && got > 0) {
        status = go_on(stream);
    }
    return status != 0 ? status : got < 0 ? (int)got : 0;
}

int uvzk__stream_ready(struct uvzk__stream *stream, bool readable, bool writable)
{
    if (stream->connecting) {
        int status = writable ? finish_connecting(stream) : 0;
        bool begins = status == 0 && !stream->connecting && stream->tls != NULL;
        return begins ? go_on(stream) : status;
    }
    if (writable && stream->handshaking) {
        (void)flush_tls(stream);
    } else if (writable) {
        uvzk__stream_flush(stream);
    }
    if (!readable) {
        return 0;
    }
    return stream->tls != NULL ? receive_tls(stream) : stream_receive(stream);
}
