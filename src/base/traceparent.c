/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a traceparent, appends it to a znode's data and finds it there (traceparent.h).
 * Pure functions. */
#include "base/traceparent.h"

#include <string.h>

#define LENGTH (UVZK_TRACEPARENT_SIZE - 1)
#define KEY "traceparent: "
#define KEY_LENGTH (sizeof(KEY) - 1)

/* "VERSION-TRACE-PARENT-FLAGS": where the last three begin, and how long they are. */
enum { TRACE = 3, TRACE_LENGTH = 32, PARENT = 36, PARENT_LENGTH = 16, FLAGS = 53 };

static bool is_digit(char character)
{
    return (character >= '0' && character <= '9') ||
           (character >= 'a' && character <= 'f');
}

static bool are_zeros(const char *text, size_t length)
{
    while (length > 0 && *text == '0') {
        text++;
        length--;
    }
    return length == 0;
}

/* text: LENGTH characters. */
static bool has_the_form(const char *text)
{
    for (size_t i = 0; i < LENGTH; i++) {
        bool dash = i == TRACE - 1 || i == PARENT - 1 || i == FLAGS - 1;
        if (dash ? text[i] != '-' : !is_digit(text[i])) {
            return false;
        }
    }
    return memcmp(text, "ff", 2) != 0 && !are_zeros(text + TRACE, TRACE_LENGTH) &&
           !are_zeros(text + PARENT, PARENT_LENGTH);
}

bool uvzk__traceparent_is_valid(const char *text)
{
    return strnlen(text, LENGTH + 1) == LENGTH && has_the_form(text);
}

size_t uvzk__traceparent_length_behind(size_t length)
{
    return length + (length > 0 ? 1 : 0) + KEY_LENGTH + LENGTH;
}

void uvzk__traceparent_append(char *out, const void *data, size_t length,
                              const char *traceparent)
{
    if (length > 0) {
        memcpy(out, data, length);
        out[length++] = '\n';
    }
    memcpy(out + length, KEY, KEY_LENGTH);
    memcpy(out + length + KEY_LENGTH, traceparent, LENGTH);
}

int uvzk_traceparent_of(const void *data, size_t length, char *text)
{
    const char *end = data;

    if (data == NULL || text == NULL || length < KEY_LENGTH + LENGTH) {
        return 0;
    }
    end += length;
    const char *line = end - LENGTH - KEY_LENGTH;
    if ((line != (const char *)data && line[-1] != '\n') ||
        memcmp(line, KEY, KEY_LENGTH) != 0 || !has_the_form(end - LENGTH)) {
        return 0;
    }
    memcpy(text, end - LENGTH, LENGTH);
    text[LENGTH] = '\0';
    return 1;
}
