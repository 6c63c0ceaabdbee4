/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows. After an allocation has failed, nothing more is added, and
 * `failed` is true. It is enough to check it once, at the end. */
#ifndef STOCK_TEXT_H
#define STOCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text { /* must be all zeros before its first use */
    char *bytes;
    size_t length, size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format,
                                                    ...);
/* Adds `length` bytes, which the caller must fill at once, and a NUL behind them. Returns
 * NULL if there is not enough memory. */
char *text_room(struct text *text, size_t length);
/* Adds a JSON string, with its quotes. */
void text_add_quoted(struct text *text, const char *string);
void text_free(struct text *text);

#endif
