/* SPDX-License-Identifier: Apache-2.0 */
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

/* The state of a machine after a move, whether the table allows it or not. An illegal
 * move is carried out, because the code that makes it goes on and expects the new state.
 * But what has ended stays in its final state: its memory is about to be freed. */
static unsigned machine_after(const struct uvzk__machine *machine, unsigned from,
                              unsigned to)
{
    return from < machine->count && machine->states[from].moves == 0 ? from : to;
}

/* Always false. */
static bool __attribute__((cold, noinline))
illegal(const struct uvzk__machine *machine, uint8_t *at, unsigned to,
        uvzk__move_report report, void *reporter)
{
    char text[UVZK__MACHINE_TEXT];

    uvzk__machine_text(machine, *at, to, text);
    *at = (uint8_t)machine_after(machine, *at, to);
    if (report != NULL) {
        report(reporter, text);
    }
    return false;
}

static bool __attribute__((cold, noinline))
unsound(const struct uvzk__machine *machine, unsigned from, unsigned to,
        uvzk__move_report report, void *reporter)
{
    char text[UVZK__MACHINE_TEXT];

    (void)snprintf(text, sizeof(text),
                   "%s: moved from %s to %s, but what must hold then does not hold",
                   machine->name, uvzk__machine_state(machine, from),
                   uvzk__machine_state(machine, to));
    if (report != NULL) {
        report(reporter, text);
    }
    return false;
}

bool uvzk__machine_enter(const struct uvzk__machine *machine, void *object,
                         unsigned state, uvzk__move_report report, void *reporter)
{
    uint8_t *at = (uint8_t *)object + machine->state_at;
    unsigned from = *at;

    if (!uvzk__machine_allows(machine, from, state)) {
        return illegal(machine, at, state, report, reporter);
    }
    *at = (uint8_t)state;
    return machine->invariant(object) || unsound(machine, from, state, report, reporter);
}

bool uvzk__machine_enter_or_stay(const struct uvzk__machine *machine, void *object,
                                 unsigned state, uvzk__move_report report, void *reporter)
{
    if (uvzk__machine_now(machine, object) != state) {
        return uvzk__machine_enter(machine, object, state, report, reporter);
    }
    return machine->invariant(object) || unsound(machine, state, state, report, reporter);
}
