/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator hook: the only place in src/ and loop/ that calls malloc. Every function
 * that allocates returns NULL when out of memory; the caller owns the result and frees it
 * with uvzk__free. */
#ifndef UVZK_MEMORY_H
#define UVZK_MEMORY_H

#include <stddef.h>

void *uvzk__malloc(size_t size);
void *uvzk__calloc(size_t count, size_t size);
void *uvzk__realloc(void *memory, size_t size);
void uvzk__free(void *memory); /* NULL is allowed */
/* Returns a copy. size 0: the copy is one byte that is not set, so it is not NULL. */
void *uvzk__memdup(const void *bytes, size_t size);
char *uvzk__strdup(const char *text);

#endif
