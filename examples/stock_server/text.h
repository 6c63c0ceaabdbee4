/* A text that grows. After memory has failed once nothing is added any more, and `failed`
 * says so: look at it once, at the end. */
#ifndef STOCK_TEXT_H
#define STOCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text { /* filled with zeros before its first use */
    char *bytes;
    size_t length, size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format,
                                                    ...);
/* So many bytes more, to be filled at once, and a NUL behind them. NULL: no memory. */
char *text_room(struct text *text, size_t length);
/* As a JSON string, with its quotes. */
void text_add_quoted(struct text *text, const char *string);
void text_free(struct text *text);

#endif
