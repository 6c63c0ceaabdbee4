/* SPDX-License-Identifier: Apache-2.0 */
/* The streams that a native session no longer uses.
 *
 * A session ends at the server by a request that follows all others. Its connection then
 * lingers until the server has closed it, or for UVZK__ENDING_MS.
 *
 * A stream may be closed while a callback still reads what it has received. Its memory is
 * therefore freed later, when no callback runs. */
#ifndef UVZK_ENDING_STREAMS_H
#define UVZK_ENDING_STREAMS_H

#include <stdint.h>

#include "native/stream.h"

#define UVZK__ENDING_MS 500U

struct uvzk__ending_streams {
    struct uvzk__stream *lingering; /* NULL: none */
    struct uvzk__stream *closed;    /* to be freed */
};

/* Ends the session of this connection at the server, after what has been written. */
void uvzk__ending_streams_add(struct uvzk__ending_streams *streams,
                              struct uvzk__stream *stream);
/* Closes the stream at once. */
void uvzk__ending_streams_close(struct uvzk__ending_streams *streams,
                                struct uvzk__stream *stream);
/* The socket is ready. Does nothing if none of the streams has it. */
void uvzk__ending_streams_ready(struct uvzk__ending_streams *streams, int fd);
/* Closes the streams whose time is over. now: UINT64_MAX closes all. */
void uvzk__ending_streams_due(struct uvzk__ending_streams *streams, uint64_t now);
/* When to call uvzk__ending_streams_due; UINT64_MAX: never. */
uint64_t uvzk__ending_streams_next(const struct uvzk__ending_streams *streams);
/* Frees the closed streams. No callback may run. */
void uvzk__ending_streams_free(struct uvzk__ending_streams *streams);

#endif
