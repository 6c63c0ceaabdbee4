/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions that uvzk_replace_allocator has set, by default those of libc
 * (memory.h). */
#include "base/memory.h"
#include "base/refusal.h"

#include <stdlib.h>
#include <string.h>

#include "uvzk.h"

/* Of the whole process. Not protected by a lock: uvzk_replace_allocator must be called
 * before any other function of uvzk. */
static struct {
    uvzk_malloc_fn malloc_fn;
    uvzk_realloc_fn realloc_fn;
    uvzk_calloc_fn calloc_fn;
    uvzk_free_fn free_fn;
} allocator = {malloc, realloc, calloc, free};

int uvzk_replace_allocator(uvzk_malloc_fn malloc_fn, uvzk_realloc_fn realloc_fn,
                           uvzk_calloc_fn calloc_fn, uvzk_free_fn free_fn)
{
    if (malloc_fn == NULL || realloc_fn == NULL || calloc_fn == NULL || free_fn == NULL) {
        return uvzk__refuse(UV_EINVAL, "one of the four functions is NULL");
    }
    allocator.malloc_fn = malloc_fn;
    allocator.realloc_fn = realloc_fn;
    allocator.calloc_fn = calloc_fn;
    allocator.free_fn = free_fn;
    return 0;
}

void *uvzk__malloc(size_t size)
{
    return allocator.malloc_fn(size);
}

void *uvzk__calloc(size_t count, size_t size)
{
    return allocator.calloc_fn(count, size);
}

void *uvzk__realloc(void *memory, size_t size)
{
    return allocator.realloc_fn(memory, size);
}

void uvzk__free(void *memory)
{
    /* A replacement of free() need not accept NULL. */
    if (memory != NULL) {
        allocator.free_fn(memory);
    }
}

void *uvzk__memdup(const void *bytes, size_t size)
{
    /* At least one byte, so that NULL always means out of memory. */
    void *copy = uvzk__malloc(size == 0 ? 1 : size);
    if (copy != NULL && size != 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

char *uvzk__strdup(const char *text)
{
    return uvzk__memdup(text, strlen(text) + 1);
}
