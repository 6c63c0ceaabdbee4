/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a server, by TCP or by TLS over TCP, and the frames on it. It does not
 * call back: its owner watches the set of sockets, and tells the stream that its socket
 * is ready. Nothing here blocks.
 *
 * Bytes wait in `out` until the kernel takes them. `taken` says how many bytes the kernel
 * has taken since the connection began, so a request that ends after them has certainly
 * not been executed. With TLS, bytes are encrypted record by record, and those of a
 * record count as taken when the kernel has all of it: a server can do nothing with a
 * part. */
#ifndef UVZK_STREAM_H
#define UVZK_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "discovery/addresses.h"
#include "discovery/sockets.h"
#include "native/jute.h"
#include "native/tls.h"

/* A longer frame from a server closes the connection. A list of a million children has
 * about 50 MB. */
#define UVZK__REPLY_MAX (64U << 20)

struct uvzk__stream {
    struct uvzk__sockets *sockets;
    int fd;                /* -1: closed */
    struct uvzk__tls *tls; /* NULL: plain text */
    bool connecting;       /* the kernel is connecting */
    bool handshaking;      /* TLS begins */
    bool watches_out;      /* the socket is watched for writing */
    struct uvzk__jute_writer out;
    size_t out_taken;   /* bytes at the front of `out` that the kernel has taken */
    size_t record;      /* bytes after them, encrypted and not yet taken */
    uint64_t forgotten; /* bytes that have been removed from `out` */
    unsigned char *in;  /* received: [in_at, in_at + in_length) is not yet read */
    size_t in_at, in_length, in_capacity;
    bool in_filled;            /* the last time, the memory was too small */
    uint64_t received;         /* bytes since the connection began */
    struct uvzk__stream *next; /* the owner's: a list of streams */
    uint64_t deadline;         /* the owner's: when it is closed at the latest */
};

/* Begins to connect. tls: NULL for plain text; the stream frees it, even if it fails.
 * NULL: UV_ENOMEM, or why the connection cannot begin, in *status. */
struct uvzk__stream *uvzk__stream_new(struct uvzk__sockets *sockets,
                                      const struct uvzk__address *address,
                                      struct uvzk__tls *tls, int *status);
/* Closes the socket. What has been received stays readable until uvzk__stream_free. */
void uvzk__stream_close(struct uvzk__stream *stream);
/* Frees a closed stream. */
void uvzk__stream_free(struct uvzk__stream *stream);

static inline bool uvzk__stream_is_open(const struct uvzk__stream *stream)
{
    return stream->fd >= 0 && !stream->connecting && !stream->handshaking;
}

/* Returns true if the TLS handshake is under way. */
static inline bool uvzk__stream_is_handshaking(const struct uvzk__stream *stream)
{
    return stream->handshaking;
}
/* What TLS has against the server, a sentence without its name; NULL: nothing. */
const char *uvzk__stream_failure(const struct uvzk__stream *stream);

/* The socket is ready: finishes the connecting, receives what has come, and sends what
 * waits. 0, or a code of libuv: the connection is lost. UV_EOF: the server has closed it.
 * What has been received before may still be read. */
int uvzk__stream_ready(struct uvzk__stream *stream, bool readable, bool writable);

/* Takes the next frame. 0; UV_EAGAIN: none is complete; UV_EMSGSIZE, UV_EPROTO: the
 * connection is unusable. The frame is valid until the next call of this or of
 * uvzk__stream_ready. */
int uvzk__stream_next(struct uvzk__stream *stream, struct uvzk__jute_bytes *frame);

/* Frames are appended here. */
static inline struct uvzk__jute_writer *uvzk__stream_out(struct uvzk__stream *stream)
{
    return &stream->out;
}
/* Gives the kernel as much as it takes. A failure is not reported here: the socket then
 * becomes readable, and what the server sent before the failure is read first. */
void uvzk__stream_flush(struct uvzk__stream *stream);
/* Bytes that the kernel has not taken yet. */
size_t uvzk__stream_waiting(const struct uvzk__stream *stream);
/* Where the last frame ends, and what the kernel has taken, in bytes since the connection
 * began. */
uint64_t uvzk__stream_end(const struct uvzk__stream *stream);
uint64_t uvzk__stream_taken(const struct uvzk__stream *stream);
/* Frees memory that a stream at rest does not need. */
void uvzk__stream_trim(struct uvzk__stream *stream);

#endif
