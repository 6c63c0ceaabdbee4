/* One form for all state machines: a table of the states, each with its name and the moves
 * that are allowed. docs/machines.md is drawn from these tables
 * (tests/machines/draw_machines.c). */
#ifndef UVZK_MACHINE_H
#define UVZK_MACHINE_H

#include <assert.h>
#include <stddef.h>

struct uvzk__state {
    const char *name;
    unsigned moves; /* the bits of those that may follow */
};

struct uvzk__machine {
    const char *name;
    const struct uvzk__state *states; /* the first is where it begins */
    size_t count;
};

#define UVZK__BIT(state) (1U << (unsigned)(state))

/* Of an array that is indexed by the states. */
#define UVZK__MACHINE(machine_name, state_table)                \
    {                                                           \
        .name = (machine_name), .states = (state_table),        \
        .count = sizeof(state_table) / sizeof((state_table)[0]) \
    }

/* The state it moves to; there is no other way from one to another. */
static inline unsigned uvzk__machine_move(const struct uvzk__machine *machine,
                                          unsigned from, unsigned to)
{
    assert(machine->states[from].moves & UVZK__BIT(to));
    (void)machine;
    (void)from;
    return to;
}

#endif
