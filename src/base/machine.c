/* Moves a machine, checks the move and the invariant, and describes what is wrong
 * (machine.h). Callers decide what a fault means: engine/invariant.c closes the
 * client. */
#include "base/machine.h"

#include <stdio.h>

void uvzk__machine_text(const struct uvzk__machine *machine, unsigned from, unsigned to,
                        char *text)
{
    (void)snprintf(text, UVZK__MACHINE_TEXT, "%s: illegal move from %s to %s",
                   machine->name, uvzk__machine_state(machine, from),
                   uvzk__machine_state(machine, to));
}

static void say_unsound(const struct uvzk__machine *machine, unsigned from, unsigned to,
                        char *text)
{
    (void)snprintf(text, UVZK__MACHINE_TEXT,
                   "%s: moved from %s to %s, but what must hold then does not hold",
                   machine->name, uvzk__machine_state(machine, from),
                   uvzk__machine_state(machine, to));
}

/* The state of a machine after a move, whether the table allows it or not. An illegal
 * move is carried out, because the code that makes it goes on and expects the new state.
 * But what has ended stays in its final state: its memory is about to be freed. */
static unsigned after(const struct uvzk__machine *machine, unsigned from, unsigned to)
{
    return from < machine->count && machine->states[from].moves == 0 ? from : to;
}

bool uvzk__machine_enter(const struct uvzk__machine *machine, void *object,
                         unsigned state, char *text)
{
    uint8_t *at = (uint8_t *)object + machine->state_at;
    unsigned from = *at;

    if (!uvzk__machine_allows(machine, from, state)) {
        *at = (uint8_t)after(machine, from, state);
        if (text != NULL) {
            uvzk__machine_text(machine, from, state, text);
        }
        return false;
    }
    *at = (uint8_t)state;
    bool holds = machine->invariant(object);
    if (!holds && text != NULL) {
        say_unsound(machine, from, state, text);
    }
    return holds;
}

bool uvzk__machine_enter_or_stay(const struct uvzk__machine *machine, void *object,
                                 unsigned state, char *text)
{
    if (uvzk__machine_now(machine, object) != state) {
        return uvzk__machine_enter(machine, object, state, text);
    }
    bool holds = machine->invariant(object);
    if (!holds) {
        say_unsound(machine, state, state, text);
    }
    return holds;
}
