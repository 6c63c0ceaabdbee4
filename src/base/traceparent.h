/* SPDX-License-Identifier: Apache-2.0 */
/* The traceparent of a W3C trace context in the data of a contender's znode, so that a
 * client that waits for the contender can tell which trace it belongs to. It is the last
 * line of the data, "traceparent: VERSION-TRACE-PARENT-FLAGS", without a newline. */
#ifndef UVZK_TRACEPARENT_H
#define UVZK_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>

#include "uvzk.h"

/* Returns true if the text has the form of version 00 of the standard: 55 characters,
 * with lower-case digits, and neither the trace nor the parent is all zeros. Later
 * versions are accepted in that form, but not version ff, which is not valid. */
bool uvzk__traceparent_is_valid(const char *text);

/* The most bytes that the traceparent adds to the data. */
#define UVZK__TRACEPARENT_LINE_MAX (1 + 13 + 55)

/* The first function returns the length of the data with the traceparent after it. The
 * second one writes that data. `out` has room for it. */
size_t uvzk__traceparent_length_behind(size_t length);
void uvzk__traceparent_append(char *out, const void *data, size_t length,
                              const char *traceparent);

#endif
