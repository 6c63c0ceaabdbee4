/* SPDX-License-Identifier: Apache-2.0 */
/* Splits received bytes into lines within one buffer (line_buffer.h). Lines that were
 * taken are overwritten by later bytes. */
#include "line_buffer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 512U
/* As long as reads fill it, the buffer grows to that also without a long line. */
#define READ_SIZE 16384U

void line_buffer_init(struct line_buffer *buffer, size_t line_max)
{
    *buffer = (struct line_buffer){.line_max = line_max};
}

void line_buffer_free(struct line_buffer *buffer)
{
    free(buffer->bytes);
    line_buffer_init(buffer, buffer->line_max);
}

/* Moves what was not taken to the front. */
static void compact(struct line_buffer *buffer)
{
    size_t left = buffer->end - buffer->begin;

    if (buffer->begin > 0 && left > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, left);
    }
    buffer->searched -= buffer->begin;
    buffer->begin = 0;
    buffer->end = left;
}

/* A line of line_max bytes and its newline are the most that is kept. */
static int grow(struct line_buffer *buffer)
{
    size_t most = buffer->line_max + 1;
    size_t capacity = buffer->capacity == 0 ? FIRST_CAPACITY : buffer->capacity * 2;

    capacity = capacity < most ? capacity : most;
    char *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return -1;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

char *line_buffer_room(struct line_buffer *buffer, size_t *size)
{
    bool was_filled = buffer->end == buffer->capacity && buffer->capacity < READ_SIZE;

    compact(buffer);
    /* Without memory, less is read at once. */
    bool grown = (was_filled || buffer->end == buffer->capacity) && grow(buffer) == 0;
    if (!grown && buffer->end == buffer->capacity) {
        return NULL;
    }
    *size = buffer->capacity - buffer->end;
    return buffer->bytes + buffer->end;
}

void line_buffer_add(struct line_buffer *buffer, size_t length)
{
    buffer->end += length;
}

enum line_result line_buffer_next(struct line_buffer *buffer, const char **line,
                                  size_t *length)
{
    const char *newline = NULL;

    if (buffer->end > buffer->searched) {
        newline = memchr(buffer->bytes + buffer->searched, '\n',
                         buffer->end - buffer->searched);
    }
    if (newline == NULL) {
        buffer->searched = buffer->end;
        return buffer->end - buffer->begin > buffer->line_max ? LINE_TOO_LONG : LINE_NONE;
    }
    *line = buffer->bytes + buffer->begin;
    *length = (size_t)(newline - *line);
    buffer->begin += *length + 1;
    buffer->searched = buffer->begin;
    return LINE_FOUND;
}
