/* The allocator hook: the only place of src/ and loop/ that knows malloc. */
#ifndef UVZK_MEMORY_H
#define UVZK_MEMORY_H

#include <stddef.h>

void *uvzk__malloc(size_t size);
void *uvzk__calloc(size_t count, size_t size);
void *uvzk__realloc(void *memory, size_t size);
void uvzk__free(void *memory);                      /* NULL is fine */
void *uvzk__memdup(const void *bytes, size_t size); /* size 0: one byte is made */
char *uvzk__strdup(const char *text);

#endif
