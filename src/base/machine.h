/* The table of a state machine: its states, each with its name and the moves that are
 * allowed from it. All state machines use this form. tests/machines/draw_machines.c draws
 * docs/machines.md from the tables.
 *
 * A move that the table does not allow is an illegal move: a fault of uvzk. The library
 * checks moves with uvzk__move (engine/invariant.h), which closes the client. */
#ifndef UVZK_MACHINE_H
#define UVZK_MACHINE_H

#include <assert.h>
#include <stdbool.h>
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

/* Whether the table allows the move. `from` may be any number. */
static inline bool uvzk__machine_allows(const struct uvzk__machine *machine,
                                        unsigned from, unsigned to)
{
    return from < machine->count && (machine->states[from].moves & UVZK__BIT(to)) != 0;
}

/* The state of a machine after a move, whether the table allows it or not. An illegal
 * move is carried out, because the code that makes it goes on and expects the new state.
 * But what has ended stays in its final state: its memory is about to be freed. */
static inline unsigned uvzk__machine_after(const struct uvzk__machine *machine,
                                           unsigned from, unsigned to)
{
    return from < machine->count && machine->states[from].moves == 0 ? from : to;
}

/* The name of a state; "?" if the machine has no such state. */
static inline const char *uvzk__machine_state(const struct uvzk__machine *machine,
                                              unsigned state)
{
    return state < machine->count ? machine->states[state].name : "?";
}

/* Writes for the log that the move is illegal: that the table does not allow it, or that
 * what must hold after it does not hold. text: room for UVZK__MACHINE_TEXT bytes. */
#define UVZK__MACHINE_TEXT 200
void uvzk__machine_text(const struct uvzk__machine *, unsigned from, unsigned to,
                        char *text);

/* ------------------------------------------------------------ for this room alone */

/* Returns `to`, and asserts that the table allows the move. For the command: an illegal
 * move ends its process, and the other process then ends CMD. A state is written only
 * with the result of this function or of uvzk__move, or when its struct is initialized
 * (rules_machines). */
static inline unsigned uvzk__machine_move(const struct uvzk__machine *machine,
                                          unsigned from, unsigned to)
{
    assert(uvzk__machine_allows(machine, from, to));
    (void)machine;
    (void)from;
    return to;
}

#endif
