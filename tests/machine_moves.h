/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that make a machine's moves: whether they were those of its table. */
#ifndef UVZK_MACHINE_MOVES_H
#define UVZK_MACHINE_MOVES_H

#include "cmocka_test.h"

#include "base/machine.h"

/* met: a row for each state, with the states that followed it. Fails for a move that the
 * table does not allow, and for one that it allows and that was not made. */
static inline void assert_moves_met(const struct uvzk__machine *machine, const bool *met)
{
    for (size_t from = 0; from < machine->count; from++) {
        for (size_t to = 0; to < machine->count; to++) {
            bool allowed = (machine->states[from].moves & UVZK__BIT(to)) != 0;

            if (met[from * machine->count + to] != allowed) {
                fail_msg("%s -> %s", machine->states[from].name,
                         machine->states[to].name);
            }
        }
    }
}

#endif
