/* Writes the values of jute into a buffer that grows. A buffer holds either whole frames,
 * one after the other, or the elements of one list (jute_record.h).
 *
 * The writer keeps the first failure, and writes nothing after it, so a caller may write
 * a whole record and check once. */
#ifndef UVZK_JUTE_WRITER_H
#define UVZK_JUTE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/jute_reader.h"

struct uvzk__jute_writer {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t frame_at; /* where the frame that is being written begins */
    size_t limit;    /* the most bytes from there on */
    int status;      /* the first failure; 0: none */
};

void uvzk__jute_writer_init(struct uvzk__jute_writer *writer);
/* Frees the buffer. */
void uvzk__jute_writer_end(struct uvzk__jute_writer *writer);
/* Forgets what was written, and a failure; keeps the memory. */
void uvzk__jute_writer_clear(struct uvzk__jute_writer *writer);
/* Removes the first bytes. No frame may be begun. */
void uvzk__jute_writer_drop(struct uvzk__jute_writer *writer, size_t length);
/* The caller cannot write what it was about to write. */
void uvzk__jute_writer_fail(struct uvzk__jute_writer *writer, int status);

void uvzk__jute_put_int(struct uvzk__jute_writer *writer, int32_t value);
void uvzk__jute_put_long(struct uvzk__jute_writer *writer, int64_t value);
void uvzk__jute_put_bool(struct uvzk__jute_writer *writer, bool value);
/* With their length before them. bytes must not be in the writer's own buffer. */
void uvzk__jute_put_bytes(struct uvzk__jute_writer *writer,
                          struct uvzk__jute_bytes bytes);
/* Without a length. */
void uvzk__jute_put_raw(struct uvzk__jute_writer *writer, const void *bytes,
                        size_t length);

/* Begins a frame of at most `limit` bytes, its own length not counted. */
void uvzk__jute_frame_begin(struct uvzk__jute_writer *writer, size_t limit);
/* Ends the frame. If anything of it could not be written, the whole frame is taken back,
 * the frames before it stay, and the reason is returned: UV_ENOMEM; UV_EMSGSIZE: longer
 * than the limit; or what the caller has said in uvzk__jute_writer_fail. */
int uvzk__jute_frame_end(struct uvzk__jute_writer *writer);

#endif
