/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of a stream of bytes. A line has at most a fixed number of bytes; the memory
 * grows up to that limit, and not with what the sender announces. Pure: no file, no
 * loop. */
#ifndef LINE_BUFFER_H
#define LINE_BUFFER_H

#include <stddef.h>

struct line_buffer {
    char *bytes;     /* owned */
    size_t capacity; /* of bytes */
    size_t begin;    /* where the first line that was not taken begins */
    size_t searched; /* up to here there is no newline after `begin` */
    size_t end;      /* of what was received */
    size_t line_max; /* bytes of a line without its newline */
};

enum line_result {
    LINE_NONE,    /* the rest of the line has not arrived yet */
    LINE_FOUND,   /* a line */
    LINE_TOO_LONG /* more than line_max bytes without a newline */
};

/* Allocates nothing yet. */
void line_buffer_init(struct line_buffer *, size_t line_max);
void line_buffer_free(struct line_buffer *);

/* Returns room for more bytes, and sets *size to at least 1; NULL if there is no memory.
 * Lines that were taken before are overwritten. Call it after line_buffer_next has
 * returned LINE_NONE. */
char *line_buffer_room(struct line_buffer *, size_t *size);
/* `length` bytes were written into the room. */
void line_buffer_add(struct line_buffer *, size_t length);

/* Takes the next line, without its newline. It is valid until the next
 * line_buffer_room. */
enum line_result line_buffer_next(struct line_buffer *, const char **line,
                                  size_t *length);

#endif
