/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines in an intrusive pairing heap, which yields the earliest one. The heap
 * allocates nothing, so adding a deadline cannot fail. The heap is not balanced: pop
 * takes O(log n) amortized. No function recurses. */
#ifndef UVZK_DEADLINE_H
#define UVZK_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of the struct that waits for the deadline. All zeros: not armed. Its owner
 * must clear an armed deadline before it frees that struct. */
struct uvzk__deadline {
    uint64_t at_ms;                      /* by the port's clock (uvzk__now) */
    struct uvzk__deadline *child, *next; /* the eldest child; the next sibling */
    /* The next elder sibling. The parent, if there is no elder sibling. The deadline
     * itself, if it is the root of the heap. NULL: not armed. */
    struct uvzk__deadline *prev;
};

struct uvzk__deadlines {
    struct uvzk__deadline *first; /* the earliest, the root of the heap; NULL: none */
};

static inline bool uvzk__deadline_is_armed(const struct uvzk__deadline *deadline)
{
    return deadline->prev != NULL;
}

/* Returns the earlier of two moments; UINT64_MAX: never. */
static inline uint64_t uvzk__deadline_earlier(uint64_t one_ms, uint64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

/* Arms the deadline, or moves it if it is armed already. */
void uvzk__deadline_set(struct uvzk__deadlines *, struct uvzk__deadline *,
                        uint64_t at_ms);
/* Removes the deadline from the heap. Does nothing if it is not armed. */
void uvzk__deadline_clear(struct uvzk__deadlines *, struct uvzk__deadline *);
/* Returns the moment of the earliest deadline; UINT64_MAX: none is armed. */
uint64_t uvzk__deadline_next(const struct uvzk__deadlines *);
/* Removes the earliest deadline and returns it if it is due (at_ms <= now_ms). Otherwise
 * returns NULL. */
struct uvzk__deadline *uvzk__deadline_pop(struct uvzk__deadlines *, uint64_t now_ms);

#endif
