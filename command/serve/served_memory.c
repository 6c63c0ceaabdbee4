/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator that libjansson uses (served_memory.h). served_operations.c says when a
 * line is read, served_answer.c asks before it sends one. */
#include "serve/served_memory.h"

#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

/* The first size to which the buffer of a text grows; each one is twice as long. */
#define FIRST_GROWN 32U

static struct {
    char *reserve;
    size_t size, used; /* of the reserve */
    bool reading, is_short;
} memory;

static bool is_grown(size_t size)
{
    return size >= FIRST_GROWN && (size & (size - 1)) == 0;
}

static void *allocate(size_t size)
{
    void *allocated = malloc(size);

    if (allocated != NULL) {
        return allocated;
    }
    memory.is_short = true;
    /* Without memory for anything else, the reading ends soon. */
    if (!memory.reading || !is_grown(size) || size > memory.size - memory.used) {
        return NULL;
    }
    memory.used += size;
    return memory.reserve + memory.used - size;
}

static void release(void *allocated)
{
    uintptr_t at = (uintptr_t)allocated, reserve = (uintptr_t)memory.reserve;

    if (at < reserve || at >= reserve + memory.size) {
        free(allocated);
    }
}

/* The sizes of a buffer that grows to the length of a line are less than four lines
 * together. Before it grows, other memory of such a size may be taken. */
bool served_memory_begin(size_t line_max)
{
    memory.size = 8 * line_max + 4096;
    memory.reserve = malloc(memory.size);
    json_set_alloc_funcs(allocate, release);
    return memory.reserve != NULL;
}

void served_memory_read_begin(void)
{
    memory.used = 0;
    memory.reading = true;
}

bool served_memory_read_end(void)
{
    memory.reading = false;
    return !memory.is_short;
}

bool served_memory_was_short(void)
{
    bool was_short = memory.is_short;

    memory.is_short = false;
    return was_short;
}
