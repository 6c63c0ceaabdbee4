/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the slots (served_slots.h). served_hold.c takes and leaves them. */
#include "served_slots.h"

#include <string.h>

#include "served_validity.h"

#define NS_PER_MS 1000000U

static const char magic[8] = {'u', 'v', 'z', 'k', 'h', 'o', 'l', 'd'};

void served_slots_init(struct served_slots *slots, struct served_slots_memory *memory)
{
    slots->memory = memory;
    slots->used = slots->free_count = 0;
    memcpy(memory->magic, magic, sizeof(magic));
    memory->version = SERVED_SLOTS_VERSION;
    memory->begin = offsetof(struct served_slots_memory, slots);
    memory->slot_size = sizeof(struct served_slot);
    memory->count = SERVED_SLOTS;
}

/* In the order of the calls, for every reader. */
static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

int64_t served_slots_take(struct served_slots *slots, int64_t hold)
{
    int64_t slot;

    if (slots->memory == NULL ||
        (slots->free_count == 0 && slots->used == SERVED_SLOTS)) {
        return SERVED_NO_SLOT;
    }
    slot =
        slots->free_count > 0 ? slots->free[--slots->free_count] : (int64_t)slots->used++;
    put(&slots->memory->slots[slot].hold, (uint64_t)hold);
    return slot;
}

/* The same moment on CLOCK_MONOTONIC, or an earlier one; 0: it has passed. */
static uint64_t monotonic_of(uint64_t valid_until)
{
    struct served_now now = served_validity_now();
    uint64_t valid_for = served_validity_for(valid_until, now.monotonic, &now);

    return valid_for == 0 ? 0 : now.monotonic / NS_PER_MS + valid_for;
}

void served_slots_tell(struct served_slots *slots, int64_t slot, uint64_t valid_until)
{
    if (slot == SERVED_NO_SLOT) {
        return;
    }
    struct served_slot *of = &slots->memory->slots[slot];
    if (atomic_load_explicit(&of->valid_until, memory_order_relaxed) != valid_until) {
        put(&of->valid_until, valid_until);
        put(&of->monotonic_until, monotonic_of(valid_until));
    }
}

void served_slots_leave(struct served_slots *slots, int64_t slot)
{
    if (slot == SERVED_NO_SLOT) {
        return;
    }
    struct served_slot *of = &slots->memory->slots[slot];
    put(&of->valid_until, 0);
    put(&of->monotonic_until, 0);
    put(&of->hold, 0);
    slots->free[slots->free_count++] = (uint32_t)slot;
}

bool served_slots_are_used(const struct served_slots *slots)
{
    return slots->used > slots->free_count;
}
