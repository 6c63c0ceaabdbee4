/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the streams that end a session until the server has closed them, and closed
 * streams until no callback runs (ending_streams.h). native_session.c adds streams;
 * native_connection.c passes on events of the sockets. */
#include "native/ending_streams.h"

#include "base/deadline.h"
#include "native/handshake.h"
#include "uvzk.h"

void uvzk__ending_streams_close(struct uvzk__ending_streams *streams,
                                struct uvzk__stream *stream)
{
    uvzk__stream_close(stream);
    stream->next = streams->closed;
    streams->closed = stream;
}

void uvzk__ending_streams_add(struct uvzk__ending_streams *streams,
                              struct uvzk__stream *stream)
{
    if (uvzk__handshake_write_end(uvzk__stream_out(stream)) < 0) {
        uvzk__ending_streams_close(streams, stream);
        return;
    }
    uvzk__stream_flush(stream);
    stream->deadline = uvzk_now() + UVZK__ENDING_MS;
    stream->next = streams->lingering;
    streams->lingering = stream;
}

/* What the server still sends is ignored. */
static bool is_over(struct uvzk__stream *stream)
{
    struct uvzk__jute_bytes ignored;
    int status = uvzk__stream_ready(stream, true, true);

    while (status == 0) {
        status = uvzk__stream_next(stream, &ignored);
    }
    return status != UV_EAGAIN;
}

void uvzk__ending_streams_ready(struct uvzk__ending_streams *streams, int fd)
{
    struct uvzk__stream **link = &streams->lingering;

    while (*link != NULL && (*link)->fd != fd) {
        link = &(*link)->next;
    }
    struct uvzk__stream *stream = *link;
    if (stream != NULL && is_over(stream)) {
        *link = stream->next;
        uvzk__ending_streams_close(streams, stream);
    }
}

void uvzk__ending_streams_due(struct uvzk__ending_streams *streams, uint64_t now)
{
    struct uvzk__stream **link = &streams->lingering;
    struct uvzk__stream *stream;

    while ((stream = *link) != NULL) {
        if (stream->deadline <= now) {
            *link = stream->next;
            uvzk__ending_streams_close(streams, stream);
        } else {
            link = &stream->next;
        }
    }
}

uint64_t uvzk__ending_streams_next(const struct uvzk__ending_streams *streams)
{
    uint64_t next = UINT64_MAX;

    for (const struct uvzk__stream *at = streams->lingering; at != NULL; at = at->next) {
        next = uvzk__deadline_earlier(next, at->deadline);
    }
    return next;
}

void uvzk__ending_streams_free(struct uvzk__ending_streams *streams)
{
    while (streams->closed != NULL) {
        struct uvzk__stream *stream = streams->closed;
        streams->closed = stream->next;
        uvzk__stream_free(stream);
    }
}
