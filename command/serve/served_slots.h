/* SPDX-License-Identifier: Apache-2.0 */
/* The memory from which the parent of a `uvzk serve` reads how long its holds are valid, at
 * any moment and without a request: after its loop was blocked, before it has read a line.
 * validity_file.h hands it over. docs/guide/serve.md has the layout.
 *
 * Each hold has a slot, and a slot has one hold after the other. `hold` changes only while
 * the two ends are 0, so whoever reads an end before the hold does not take one hold's end
 * for the end of another.
 *
 * Pure but for the clocks: the memory is an argument. */
#ifndef SERVED_SLOTS_H
#define SERVED_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVED_SLOTS 20000U
#define SERVED_SLOTS_VERSION 1U
#define SERVED_NO_SLOT (-1)

/* Each word is written at once. */
struct served_slot {
    _Atomic uint64_t hold;            /* its number; 0: none */
    _Atomic uint64_t valid_until;     /* CLOCK_BOOTTIME, ms; 0: it is over */
    _Atomic uint64_t monotonic_until; /* the same on CLOCK_MONOTONIC, or earlier */
    uint64_t reserved;
};

struct served_slots_memory {
    char magic[8];
    uint32_t version;
    uint32_t begin;     /* where the first slot begins, in bytes */
    uint32_t slot_size; /* in bytes */
    uint32_t count;     /* of the slots */
    uint64_t reserved[5];
    struct served_slot slots[SERVED_SLOTS];
};

struct served_slots {
    struct served_slots_memory *memory; /* NULL: there is none */
    size_t used;                        /* the first ones, which were taken before */
    size_t free_count;
    uint32_t free[SERVED_SLOTS]; /* of the used ones */
};

/* The memory consists of zeros. */
void served_slots_init(struct served_slots *, struct served_slots_memory *);

/* Returns the slot of this hold from now on; SERVED_NO_SLOT: all are taken, or there is no
 * memory. */
int64_t served_slots_take(struct served_slots *, int64_t hold);
/* Shows until when the hold of this slot is valid (CLOCK_BOOTTIME, ms). Does nothing if the
 * slot is SERVED_NO_SLOT; nor does served_slots_leave. */
void served_slots_tell(struct served_slots *, int64_t slot, uint64_t valid_until);
/* The hold is over. */
void served_slots_leave(struct served_slots *, int64_t slot);

/* Returns true if a hold has a slot. */
bool served_slots_are_used(const struct served_slots *);

#endif
