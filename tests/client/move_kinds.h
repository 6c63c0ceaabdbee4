/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the moves of all state machines, notes which different ones there are, and makes
 * one of them illegal (illegal_moves.h). One for the program. */
#ifndef UVZK_MOVE_KINDS_H
#define UVZK_MOVE_KINDS_H

#include <stddef.h>
#include <stdint.h>

#include "illegal_moves.h"

#define MOVE_KINDS_MAX 512

/* One machine's move from one state to another. */
struct move_kind {
    const struct uvzk__machine *machine;
    unsigned from, to;
    uint64_t first, last; /* the numbers of its occurrences */
};

struct move_kinds {
    struct move_kind all[MOVE_KINDS_MAX]; /* in the order in which they first occurred */
    size_t count;
    uint64_t moves; /* so far; the test resets it */
    /* The number of the move that is to be illegal, from 1. 0: none, and the kinds are
     * noted. UINT64_MAX: neither. */
    uint64_t armed;
    struct move_kind illegal;   /* the move that was made illegal */
    void (*when_illegal)(void); /* called at that move; NULL: nothing */
    /* That move is made right before a callback of an acquire or hold, which comes
     * although the client is broken. The test resets it. */
    bool callback_in_progress;
};
extern struct move_kinds move_kinds;

#endif
