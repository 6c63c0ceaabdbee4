/* SPDX-License-Identifier: Apache-2.0 */
/* Counts with atomics, because the library also allocates on the C client's threads. */
#include "counting_allocator.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "uvzk.h"

static atomic_size_t live_bytes;
static atomic_size_t peak_bytes;

static void count_in(void *memory)
{
    size_t size = memory == NULL ? 0 : malloc_usable_size(memory);
    size_t now = atomic_fetch_add(&live_bytes, size) + size;
    size_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
    }
}

static void count_out(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(&live_bytes, malloc_usable_size(memory));
    }
}

static void *counted_malloc(size_t size)
{
    void *memory = malloc(size);
    count_in(memory);
    return memory;
}

static void *counted_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    count_in(memory);
    return memory;
}

static void *counted_realloc(void *memory, size_t size)
{
    size_t before = memory == NULL ? 0 : malloc_usable_size(memory);
    void *moved = realloc(memory, size);
    if (moved != NULL || size == 0) {
        atomic_fetch_sub(&live_bytes, before);
        count_in(moved);
    }
    return moved;
}

static void counted_free(void *memory)
{
    count_out(memory);
    free(memory);
}

int counting_allocator_install(void)
{
    return uvzk_replace_allocator(counted_malloc, counted_realloc, counted_calloc,
                                  counted_free);
}

size_t counting_allocator_bytes(void)
{
    return atomic_load(&live_bytes);
}

size_t counting_allocator_peak(void)
{
    return atomic_load(&peak_bytes);
}

void counting_allocator_reset_peak(void)
{
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}
