/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of libjansson, for the lines that `uvzk serve` reads and sends.
 *
 * Functions that add a field to an answer do not tell that there was no memory for it. So
 * that is noted here, and no line is made of the answer.
 *
 * libjansson 2.14 also ignores it when the buffer of a text that it reads cannot grow. It
 * leaves out a byte then; if that is the quote at the end, it reads and writes beyond the
 * buffer. So a reserve lets this buffer grow, and the request is not carried out. */
#ifndef SERVED_MEMORY_H
#define SERVED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Call it once, before libjansson is used. line_max: the bytes of the longest line that is
 * read. Returns false if there is no memory for the reserve. */
bool served_memory_begin(size_t line_max);

/* A line is about to be read: what was read before has been freed, and while it is read
 * the reserve may be used. */
void served_memory_read_begin(void);
/* Returns false if there was no memory while the line was read. */
bool served_memory_read_end(void);

/* Returns true if there was no memory since the last call of this function. */
bool served_memory_was_short(void);

#endif
