/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHAOS_WALL_CLOCK_H
#define CHAOS_WALL_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/* Sets the wall clock of this process `ms` ahead of the machine's clock; if negative,
 * behind. */
void wall_clock_set_ahead(int64_t ms);

/* From now on the clock is so many ms ahead as this says, which another process may change.
 * Call it before the first thread begins. */
void wall_clock_follow(const _Atomic int64_t *ms);

#endif
