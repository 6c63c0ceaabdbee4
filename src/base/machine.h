/* The table of a state machine: its states, each with its name and the moves that are
 * allowed from it. All state machines use this form. tests/machines/draw_machines.c draws
 * docs/machines.md from the tables. */
#ifndef UVZK_MACHINE_H
#define UVZK_MACHINE_H

#include <assert.h>
#include <stddef.h>

struct uvzk__state {
    const char *name;
    unsigned moves; /* UVZK__BIT of each state that may follow */
};

struct uvzk__machine {
    const char *name;
    const struct uvzk__state *states; /* the first one is the initial state */
    size_t count;                     /* of states */
};

#define UVZK__BIT(state) (1U << (unsigned)(state))

/* Initializes a machine from an array that is indexed by the states. */
#define UVZK__MACHINE(machine_name, state_table)                \
    {                                                           \
        .name = (machine_name), .states = (state_table),        \
        .count = sizeof(state_table) / sizeof((state_table)[0]) \
    }

/* Returns `to`, and asserts that the table allows the move. A state is written only with
 * the result of this function, or when its struct is initialized (rules_machines). */
static inline unsigned uvzk__machine_move(const struct uvzk__machine *machine,
                                          unsigned from, unsigned to)
{
    assert(machine->states[from].moves & UVZK__BIT(to));
    (void)machine;
    (void)from;
    return to;
}

#endif
