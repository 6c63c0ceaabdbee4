/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 512 };

static bool make_room(struct text *text, size_t length)
{
    size_t size = text->size == 0 ? FIRST_SIZE : text->size;

    while (size - text->length <= length) {
        size *= 2;
    }
    if (size != text->size) {
        char *bytes = realloc(text->bytes, size);
        if (bytes == NULL) {
            return false;
        }
        text->bytes = bytes;
        text->size = size;
    }
    return true;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text->failed = text->failed || length < 0 || !make_room(text, (size_t)length);
    if (!text->failed) {
        va_start(arguments, format);
        vsnprintf(text->bytes + text->length, text->size - text->length, format,
                  arguments);
        va_end(arguments);
        text->length += (size_t)length;
    }
}

char *text_room(struct text *text, size_t length)
{
    text->failed = text->failed || !make_room(text, length);
    if (text->failed) {
        return NULL;
    }
    char *room = text->bytes + text->length;
    text->length += length;
    return room;
}

void text_add_quoted(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (; *string != '\0'; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte < 0x20 || byte == 0x7f) {
            text_add(text, "\\u%04x", byte);
        } else {
            text_add(text, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
        }
    }
    text_add(text, "\"");
}

void text_free(struct text *text)
{
    free(text->bytes);
    memset(text, 0, sizeof(*text));
}
