/* SPDX-License-Identifier: Apache-2.0 */
/* A state machine: the table of its states, each with its name and the moves that are
 * allowed from it; where its state is; and what must hold after each move. All state
 * machines use this form. tests/machines/draw_machines.c draws docs/machines.md from the
 * tables.
 *
 * A move that the table does not allow is an illegal move: a fault of uvzk. So is a move
 * after which the invariant does not hold. Machines of the library are moved by uvzk__move
 * (engine/invariant.h), which closes the client then, those of the port by uvzk__port_move
 * (engine/port.h). */
#ifndef UVZK_MACHINE_H
#define UVZK_MACHINE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__state {
    const char *name;
    unsigned moves; /* UVZK__BIT of each state that may follow */
};

struct uvzk__machine {
    const char *name;
    const struct uvzk__state *states; /* the first one is the initial state */
    size_t count;                     /* of states */
    size_t state_at;                  /* the offset of the state in the object */
    /* What must hold after each move. object: the struct that has the state. */
    bool (*invariant)(const void *object);
};

#define UVZK__BIT(state) (1U << (unsigned)(state))

/* A row of a table, which is indexed by the states: a state, and at most eight states
 * that may follow it. They are named without the prefix of their enum. */
#define UVZK__STATE(prefix, name, ...) \
    [prefix##name] = {#name, UVZK__ANY_OF(prefix, __VA_ARGS__)}
/* A state that is never left. */
#define UVZK__FINAL(prefix, name) [prefix##name] = {#name, 0}

#define UVZK__ANY_OF(prefix, ...) \
    UVZK__NINTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(prefix, __VA_ARGS__)
#define UVZK__NINTH(a, b, c, d, e, f, g, h, count, ...) UVZK__BITS_##count
#define UVZK__BITS_1(prefix, name) UVZK__BIT(prefix##name)
#define UVZK__BITS_2(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_1(prefix, __VA_ARGS__)
#define UVZK__BITS_3(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_2(prefix, __VA_ARGS__)
#define UVZK__BITS_4(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_3(prefix, __VA_ARGS__)
#define UVZK__BITS_5(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_4(prefix, __VA_ARGS__)
#define UVZK__BITS_6(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_5(prefix, __VA_ARGS__)
#define UVZK__BITS_7(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_6(prefix, __VA_ARGS__)
#define UVZK__BITS_8(prefix, name, ...) \
    UVZK__BIT(prefix##name) | UVZK__BITS_7(prefix, __VA_ARGS__)

/* type and field: the struct that has the state, and the state in it, a uint8_t. */
#define UVZK__MACHINE(machine_name, state_table, type, field, holds) \
    {                                                                \
        .name = (machine_name), .states = (state_table),             \
        .count = sizeof(state_table) / sizeof((state_table)[0]),     \
        .state_at = UVZK__BYTE_AT(type, field), .invariant = (holds) \
    }

/* The offset of a field; compiles only if the field has one byte. */
#define UVZK__BYTE_AT(type, field) \
    (offsetof(type, field) +       \
     0 * sizeof(char[sizeof(((const type *)0)->field) == 1 ? 1 : -1]))

/* Returns true if the table allows the move. `from` may be any number. */
static inline bool uvzk__machine_allows(const struct uvzk__machine *machine,
                                        unsigned from, unsigned to)
{
    return from < machine->count && (machine->states[from].moves & UVZK__BIT(to)) != 0;
}

/* The name of a state; "?" if the machine has no such state. */
static inline const char *uvzk__machine_state(const struct uvzk__machine *machine,
                                              unsigned state)
{
    return state < machine->count ? machine->states[state].name : "?";
}

/* Is told what is wrong with a move, in a sentence for the log. */
typedef void (*uvzk__move_report)(void *reporter, const char *text);

/* Moves the object's machine. Only this function and uvzk__machine_move write a state after
 * its struct has been initialized (rules_machines). Returns false if the table does not
 * allow the move, or if the invariant does not hold after it; then it has called `report`,
 * unless that is NULL. An illegal move is made all the same, except out of a final state. */
bool uvzk__machine_enter(const struct uvzk__machine *, void *object, unsigned state,
                         uvzk__move_report report, void *reporter);
/* The same, but the machine may be in this state already: then only the invariant is
 * checked. */
bool uvzk__machine_enter_or_stay(const struct uvzk__machine *, void *object,
                                 unsigned state, uvzk__move_report report,
                                 void *reporter);
/* Writes for the log that the move is illegal. */
#define UVZK__MACHINE_TEXT 200
void uvzk__machine_text(const struct uvzk__machine *, unsigned from, unsigned to,
                        char *text);

/* ------------------------------------------------------------ for this room alone */

/* The state in which the object's machine is. */
static inline unsigned uvzk__machine_now(const struct uvzk__machine *machine,
                                         const void *object)
{
    return *((const uint8_t *)object + machine->state_at);
}

/* For the command: moves its machine, and asserts that the table allows the move and that
 * the invariant holds afterwards. An illegal move ends its process, and the other process
 * then ends CMD. */
static inline void uvzk__machine_move(const struct uvzk__machine *machine, void *object,
                                      unsigned state)
{
    assert(uvzk__machine_allows(machine, uvzk__machine_now(machine, object), state));
    *((uint8_t *)object + machine->state_at) = (uint8_t)state;
    assert(machine->invariant(object));
}

#endif
