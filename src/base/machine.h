/* One form for all state machines: the names of the states, and a table of the moves that
 * are allowed. docs/machines.md is drawn from these tables (tests/machines/draw_machines.c). */
#ifndef UVZK_MACHINE_H
#define UVZK_MACHINE_H

#include <assert.h>
#include <stddef.h>

struct uvzk__machine {
    const char *name;
    const char *const *states; /* the first is where it begins */
    const unsigned *moves;     /* of each state: the bits of those that may follow */
    size_t count;
};

#define UVZK__BIT(state) (1U << (unsigned)(state))

/* Of two arrays that are indexed by the states. */
#define UVZK__MACHINE(machine_name, state_names, state_moves)                    \
    {                                                                            \
        .name = (machine_name), .states = (state_names), .moves = (state_moves), \
        .count = sizeof(state_moves) / sizeof((state_moves)[0])                  \
    }

/* The state it moves to; there is no other way from one to another. */
static inline unsigned uvzk__machine_move(const struct uvzk__machine *machine,
                                          unsigned from, unsigned to)
{
    assert(machine->moves[from] & UVZK__BIT(to));
    (void)machine;
    (void)from;
    return to;
}

#endif
