#include "scarce.h"

#include <stdbool.h>
#include <stdlib.h>

#include "uvzk.h"

static struct {
    uint64_t asked;
    uint64_t fail_first, fail_count;
    uint64_t failed, failing_since_ms;
    int64_t live;
} allocator;

static bool fails(void)
{
    uint64_t number = ++allocator.asked;

    if (allocator.fail_first == 0 || number < allocator.fail_first ||
        number - allocator.fail_first >= allocator.fail_count) {
        return false;
    }
    allocator.failed++;
    return true;
}

static void *counted(void *memory)
{
    allocator.live += memory != NULL;
    return memory;
}

static void *scarce_malloc(size_t size)
{
    return fails() ? NULL : counted(malloc(size));
}

static void *scarce_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(calloc(count, size));
}

static void *scarce_realloc(void *memory, size_t size)
{
    if (memory == NULL) {
        return scarce_malloc(size);
    }
    return fails() ? NULL : realloc(memory, size);
}

static void scarce_free(void *memory)
{
    allocator.live--;
    free(memory);
}

int scarce_install(void)
{
    return uvzk_replace_allocator(scarce_malloc, scarce_realloc, scarce_calloc,
                                  scarce_free);
}

void scarce_arm(uint64_t first, uint64_t count)
{
    allocator.asked = 0;
    allocator.failed = 0;
    allocator.failing_since_ms = 0;
    allocator.fail_first = first;
    allocator.fail_count = count;
}

void scarce_stop(void)
{
    allocator.fail_first = 0;
}

void scarce_stop_after(uint64_t ms, uint64_t now_ms)
{
    if (allocator.failed > 0 && allocator.failing_since_ms == 0) {
        allocator.failing_since_ms = now_ms;
    } else if (allocator.failed > 0 && now_ms - allocator.failing_since_ms > ms) {
        scarce_stop();
    }
}

uint64_t scarce_asked(void)
{
    return allocator.asked;
}

uint64_t scarce_failed(void)
{
    return allocator.failed;
}

int64_t scarce_live(void)
{
    return allocator.live;
}
