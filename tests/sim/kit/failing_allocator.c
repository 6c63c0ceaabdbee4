/* SPDX-License-Identifier: Apache-2.0 */
#include "failing_allocator.h"

#include <stdbool.h>
#include <stdlib.h>

#include "uvzk.h"

static struct {
    /* All since failing_allocator_arm, except `live`. */
    uint64_t asked;
    uint64_t fail_first, fail_count;
    uint64_t failed, failing_since_ms;
    int64_t live;
} allocator;

/* Counts the call. Returns whether this allocation must fail. */
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

static void *failing_allocator_malloc(size_t size)
{
    return fails() ? NULL : counted(malloc(size));
}

static void *failing_allocator_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(calloc(count, size));
}

static void *failing_allocator_realloc(void *memory, size_t size)
{
    /* An allocation of a new block, which counts in `live`. */
    if (memory == NULL) {
        return failing_allocator_malloc(size);
    }
    return fails() ? NULL : realloc(memory, size);
}

static void failing_allocator_free(void *memory)
{
    allocator.live--;
    free(memory);
}

int failing_allocator_install(void)
{
    return uvzk_replace_allocator(failing_allocator_malloc, failing_allocator_realloc,
                                  failing_allocator_calloc, failing_allocator_free);
}

void failing_allocator_arm(uint64_t first, uint64_t count)
{
    allocator.asked = 0;
    allocator.failed = 0;
    allocator.failing_since_ms = 0;
    allocator.fail_first = first;
    allocator.fail_count = count;
}

void failing_allocator_stop(void)
{
    allocator.fail_first = 0;
}

void failing_allocator_stop_after(uint64_t ms, uint64_t now_ms)
{
    if (allocator.failed > 0 && allocator.failing_since_ms == 0) {
        allocator.failing_since_ms = now_ms;
    } else if (allocator.failed > 0 && now_ms - allocator.failing_since_ms > ms) {
        failing_allocator_stop();
    }
}

uint64_t failing_allocator_calls(void)
{
    return allocator.asked;
}

uint64_t failing_allocator_failures(void)
{
    return allocator.failed;
}

int64_t failing_allocator_live_blocks(void)
{
    return allocator.live;
}
