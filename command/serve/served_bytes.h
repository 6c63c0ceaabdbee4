/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on a line of JSON: as text if they are UTF-8, otherwise in base64 (RFC 4648, with
 * padding). Pure: no loop. */
#ifndef SERVED_BYTES_H
#define SERVED_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

bool served_bytes_are_base64(const char *text);

/* Writes the bytes of such a text, fewer than it has itself, and returns the end of what
 * it has written. */
unsigned char *served_bytes_decode(const char *base64, unsigned char *bytes);

/* Adds the bytes to an answer: as `data` if they are UTF-8 without a NUL, otherwise as
 * `base64`. Returns false if there is no memory. */
bool served_bytes_add(json_t *, const void *bytes, size_t length);

#endif
