/* SPDX-License-Identifier: Apache-2.0 */
/* Included at the beginning of each file of the library, in the build of the library that
 * test_broken_client uses. A move that the table allows counts as illegal if the test has
 * armed it. The library itself has no such hook. */
#ifndef UVZK_ILLEGAL_MOVES_H
#define UVZK_ILLEGAL_MOVES_H

#include "base/machine.h"

bool illegal_moves_allows(const struct uvzk__machine *, unsigned from, unsigned to);

#define uvzk__machine_allows(machine, from, to) illegal_moves_allows(machine, from, to)

#endif
