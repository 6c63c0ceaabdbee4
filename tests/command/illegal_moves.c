/* SPDX-License-Identifier: Apache-2.0 */
/* For the command in a build in which a move can be made illegal (illegal_moves.h): after
 * SIGRTMIN the next move of the machine of the proof requests is illegal. It moves once in
 * a sixth of the session timeout. */
#include "illegal_moves.h"

#include <signal.h>

#include "proof/prover.h"

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
    (void)number;
    asked = 1;
}

__attribute__((constructor)) static void install(void)
{
    (void)signal(SIGRTMIN, on_signal);
}

bool illegal_moves_allows(const struct uvzk__machine *machine, unsigned from, unsigned to)
{
    if (asked != 0 && machine == &uvzk__prover_machine) {
        asked = 0;
        return false;
    }
    return (uvzk__machine_allows)(machine, from, to);
}
