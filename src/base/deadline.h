/* Moments to come, earliest first: an intrusive pairing heap, so that adding
 * one can never fail. Not balanced: pop is O(log n) amortised. No recursion. */
#ifndef UVZK_DEADLINE_H
#define UVZK_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__deadline {
    uint64_t at_ms;
    struct uvzk__deadline *child, *next;
    struct uvzk__deadline *prev; /* elder sibling, or parent, or itself: the earliest of
                                    all; NULL: not armed */
};

struct uvzk__deadlines {
    struct uvzk__deadline *first; /* earliest, or NULL */
};

static inline bool uvzk__deadline_is_armed(const struct uvzk__deadline *deadline)
{
    return deadline->prev != NULL;
}

/* When, if it is armed. */
static inline uint64_t uvzk__deadline_at(const struct uvzk__deadline *deadline)
{
    return deadline->at_ms;
}

/* Arms it, or moves it if it was armed. */
void uvzk__deadline_set(struct uvzk__deadlines *, struct uvzk__deadline *,
                        uint64_t at_ms);
/* Nothing if it is not armed. */
void uvzk__deadline_clear(struct uvzk__deadlines *, struct uvzk__deadline *);
/* UINT64_MAX when none is armed. */
uint64_t uvzk__deadline_next(const struct uvzk__deadlines *);
/* Takes the earliest one off if it is due (at_ms <= now_ms), else NULL. */
struct uvzk__deadline *uvzk__deadline_pop(struct uvzk__deadlines *, uint64_t now_ms);

#endif
