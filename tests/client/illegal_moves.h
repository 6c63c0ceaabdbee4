/* SPDX-License-Identifier: Apache-2.0 */
/* Included at the beginning of the files of the library that are compiled for test_broken_client
 * (CMakeLists.txt). A move that the table allows counts as illegal if the test has armed it. The
 * library itself has no such hook. */
#ifndef UVZK_ILLEGAL_MOVES_H
#define UVZK_ILLEGAL_MOVES_H

#include "base/machine.h"

bool illegal_moves_allows(const struct uvzk__machine *, unsigned from, unsigned to);

#define uvzk__machine_allows(machine, from, to) illegal_moves_allows(machine, from, to)

#endif
